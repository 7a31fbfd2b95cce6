//! The law in `egress/tests/corpora/head.rs`, for any bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../egress/tests/corpora/head.rs"]
mod head;

fuzz_target!(|bytes: &[u8]| {
    head::holds(bytes);
});
