//! Two objects of one kind, as `{"kind": …, "old": …, "new": …}`: an unchanged spec is always let
//! through, what may not change may not change back either, and what is told stays within bounds.

use std::collections::BTreeSet;

use sandgate_shared::rules::{Attempt, Operation, Phase, Subject, Verdict};
use serde_json::{Value, json};

use crate::review::{RULES, response};

/// The most characters an audit annotation may have.
const LONGEST_ANNOTATION: usize = 256;

/// Asserts the law; whether `text` is such a pair.
pub fn holds(text: &[u8]) -> bool {
    let Ok(case) = serde_json::from_slice::<Value>(text) else {
        return false;
    };
    let subject = case
        .get("kind")
        .and_then(Value::as_str)
        .and_then(Subject::from_kind);
    let (Some(subject), Some(old), Some(new)) = (subject, case.get("old"), case.get("new")) else {
        return false;
    };
    for user in [json!({"username": "alice"}), operator()] {
        let there = update(subject, old, new, &user);
        let back = update(subject, new, old, &user);
        let frozen = [&there, &back].map(frozen);
        // One side may be of a type or size that no rule is run on, or have an item twice: what the
        // schema refuses is never stored, and so never compared with.
        if !frozen[0].is_empty()
            && !frozen[1].is_empty()
            && [&there, &back].into_iter().all(fits_the_schema)
        {
            assert_eq!(frozen[0], frozen[1], "immutable in one direction only");
        }
        let mut labelled = new.clone();
        if let Some(object) = labelled.as_object_mut() {
            object.insert("metadata".to_owned(), json!({"labels": {"a": "b"}}));
        }
        let unchanged = update(subject, new, &labelled, &user);
        assert_eq!(
            unchanged.violations,
            vec![],
            "nothing of the spec has changed"
        );
    }
    annotated(subject, old, new);
    true
}

fn update(subject: Subject, old: &Value, new: &Value, user_info: &Value) -> Verdict {
    RULES.judge(&Attempt {
        subject,
        operation: Operation::Update,
        subresource: None,
        phase: Phase::Validating,
        object: new,
        old_object: Some(old),
        user_info,
    })
}

fn fits_the_schema(verdict: &Verdict) -> bool {
    let mut broken = verdict.violations.iter();
    verdict.faults.is_empty() && broken.all(|broken| !broken.rule.starts_with("schema-"))
}

fn frozen(verdict: &Verdict) -> BTreeSet<&str> {
    let rules = verdict.violations.iter().map(|broken| broken.rule.as_str());
    rules.filter(|rule| rule.ends_with("-immutable")).collect()
}

fn operator() -> Value {
    json!({
        "username": "system:serviceaccount:sandgate-system:sandgate-controller",
        "uid": "u",
        "groups": ["system:serviceaccounts", "system:serviceaccounts:sandgate-system"],
        "extra": {"authentication.kubernetes.io/pod-name": ["p"]},
    })
}

/// What the audit log is told of the update is short, and there if anything changed.
fn annotated(subject: Subject, old: &Value, new: &Value) {
    let whole = |object: &Value| {
        let mut object = object.clone();
        if let Some(fields) = object.as_object_mut() {
            fields.insert("kind".to_owned(), json!(subject.kind()));
        }
        object
    };
    let (old, new) = (whole(old), whole(new));
    let response = response(Phase::Validating, subject, Some(&old), &new);
    let annotations = &response["auditAnnotations"];
    for value in annotations
        .as_object()
        .into_iter()
        .flat_map(|all| all.values())
    {
        let value = value.as_str().expect("an annotation is text");
        assert!(value.chars().count() <= LONGEST_ANNOTATION, "{value}");
        assert!(!value.chars().any(char::is_control), "{value:?}");
    }
    if old == new {
        assert!(annotations["changed-paths"].is_null(), "{annotations}");
    }
}
