//! The law in `webhook/tests/corpora/review.rs`, for any bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[expect(dead_code, reason = "what other laws ask of it")]
#[path = "../../webhook/tests/corpora/review.rs"]
mod review;

fuzz_target!(|body: &[u8]| review::holds(body));
