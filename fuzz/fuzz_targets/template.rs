//! The law in `shared/tests/corpora/template.rs`, for any bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../shared/tests/corpora/template.rs"]
mod template;

fuzz_target!(|text: &[u8]| {
    template::holds(text);
});
