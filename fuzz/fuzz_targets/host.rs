//! The law in `shared/tests/corpora/host.rs`, for any bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../shared/tests/corpora/host.rs"]
mod host;

fuzz_target!(|text: &[u8]| {
    host::holds(text);
});
