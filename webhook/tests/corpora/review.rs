//! Any bytes sent to the webhook: it answers within bounds, never panics, and an answer to a review
//! that can be read carries that review's uid.

use std::sync::LazyLock;

use sandgate_shared::render::Installation;
use sandgate_shared::rules::{Attempt, Phase, Rulebook};
use sandgate_webhook::review::{Answer, Reply, answer};
use serde_json::Value;

pub static RULES: LazyLock<Rulebook> = LazyLock::new(|| {
    Rulebook::compile(&Installation::default().identity()).expect("the rules of this build compile")
});

/// More than ten causes of a thousand characters, told twice.
const LONGEST_REPLY: usize = 64 * 1024;

/// The longest uid that is echoed; those of API servers have 36 characters.
const LONGEST_UID: usize = 256;

/// Asserts the law.
pub fn holds(body: &[u8]) {
    for phase in [Phase::Mutating, Phase::Validating] {
        asked(body, phase);
    }
}

/// The answer to `body`, held to what is true of every answer.
pub fn asked(body: &[u8], phase: Phase) -> Answer {
    let answered = answer(body, phase, &|attempt: &Attempt<'_>| RULES.judge(attempt));
    let review: Option<Value> = serde_json::from_slice(body).ok();
    let uid = review
        .as_ref()
        .and_then(|review| review.pointer("/request/uid"))
        .and_then(Value::as_str)
        .filter(|uid| (1..=LONGEST_UID).contains(&uid.len()));
    let is_review = matches!(answered.reply, Reply::Review(_));
    assert!(is_review || uid.is_none(), "a uid that was not echoed");
    if let Reply::Review(reply) = &answered.reply {
        assert!(reply.len() <= LONGEST_REPLY, "{} bytes", reply.len());
        let reply: Value = serde_json::from_slice(reply).expect("a reply is JSON");
        assert_eq!(reply["response"]["uid"].as_str(), answered.uid.as_deref());
        if let Some(uid) = uid {
            assert_eq!(reply["response"]["uid"].as_str(), Some(uid));
        }
        let message = reply["response"]["status"]["message"].as_str();
        assert!(!message.unwrap_or_default().chars().any(char::is_control));
    }
    answered
}
