//! The law in `webhook/tests/corpora/compare.rs`, for any bytes.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};

#[path = "../../webhook/tests/corpora/compare.rs"]
mod compare;
#[expect(dead_code, reason = "a law of its own")]
#[path = "../../webhook/tests/corpora/review.rs"]
mod review;

fuzz_target!(|text: &[u8]| -> Corpus {
    if compare::holds(text) {
        Corpus::Keep
    } else {
        Corpus::Reject
    }
});
