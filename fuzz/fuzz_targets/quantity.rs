//! The law in `shared/tests/corpora/quantity.rs`, for any bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../shared/tests/corpora/quantity.rs"]
mod quantity;

fuzz_target!(|text: &[u8]| {
    quantity::holds(text);
});
