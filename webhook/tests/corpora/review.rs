//! Any bytes sent to the webhook: it answers within bounds, never panics, and an answer to a review
//! that can be read carries that review's uid.

use std::sync::LazyLock;

use sandgate_shared::render::Installation;
use sandgate_shared::rules::{Attempt, Phase, Rulebook, Subject};
use sandgate_webhook::review::{Answer, Reply, answer};
use serde_json::{Value, json};

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

/// The `response` to a write of `object`, over `old` if there is one.
pub fn response(phase: Phase, subject: Subject, old: Option<&Value>, object: &Value) -> Value {
    let operation = if old.is_some() { "UPDATE" } else { "CREATE" };
    let review = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u",
            "kind": {"group": "omnia.altairalabs.ai", "version": "v1alpha1", "kind": subject.kind()},
            "resource": {"resource": subject.plural()},
            "operation": operation,
            "userInfo": {"username": "alice"},
            "object": object,
            "oldObject": old,
        },
    });
    let answered = asked(review.to_string().as_bytes(), phase);
    let Reply::Review(reply) = &answered.reply else {
        panic!("a review with a uid gets a review back");
    };
    let mut reply: Value = serde_json::from_slice(reply).expect("a reply is JSON");
    reply["response"].take()
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
