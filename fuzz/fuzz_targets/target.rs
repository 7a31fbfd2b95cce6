//! The law in `egress/tests/corpora/target.rs`, for any bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../egress/tests/corpora/target.rs"]
mod target;

fuzz_target!(|bytes: &[u8]| {
    target::holds(bytes);
});
