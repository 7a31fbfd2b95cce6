//! The law in `egress/tests/corpora/client_hello.rs`, for any bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../egress/tests/corpora/client_hello.rs"]
mod client_hello;

fuzz_target!(|bytes: &[u8]| {
    client_hello::holds(bytes);
});
