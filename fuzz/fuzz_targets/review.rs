//! Any bytes sent to the webhook: it answers, never panics, and an answer to a review that can be
//! read carries that review's uid.
//!
//! The golden reviews are the corpus, and each file of it is a test of the webhook crate:
//! `cargo fuzz run review webhook/tests/reviews/{allow,deny,mutate,malformed}`.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use sandgate_shared::{
    render::Installation,
    rules::{Attempt, Phase, Rulebook},
};
use sandgate_webhook::review::{Reply, answer};

static RULEBOOK: LazyLock<Rulebook> = LazyLock::new(|| {
    Rulebook::compile(&Installation::default().identity()).expect("the rules of this build compile")
});

fuzz_target!(|body: &[u8]| {
    for phase in [Phase::Mutating, Phase::Validating] {
        let answer = answer(body, phase, &|attempt: &Attempt<'_>| {
            RULEBOOK.judge(attempt)
        });
        let review: Option<serde_json::Value> = serde_json::from_slice(body).ok();
        let uid = review
            .as_ref()
            .and_then(|review| review.pointer("/request/uid"))
            .and_then(serde_json::Value::as_str)
            .filter(|uid| !uid.is_empty());
        if let (Some(uid), Reply::Review(reply)) = (uid, &answer.reply) {
            let reply: serde_json::Value = serde_json::from_slice(reply).expect("a reply is JSON");
            assert_eq!(reply["response"]["uid"].as_str(), Some(uid));
        }
    }
});
