//! A verdict put into words: the `Status` of a denial. Pure.
//!
//! kubectl prints only `<field>: <message>` of each cause when the reason is `Invalid`, and only
//! `message` otherwise; controllers log `message` alone. So both say everything.

use std::fmt::Write as _;

use sandgate_shared::names::GROUP;
use sandgate_shared::rules::{Verdict, Violation};
use serde_json::{Value, json};

use super::note;
use super::path::in_order;
use super::request::Asked;
use super::text::clean;

/// Violations told in one denial; the rest are counted.
const MOST: usize = 10;
/// Longest path, sentence and note before it, in characters.
const LONGEST_FIELD: usize = 256;
const LONGEST_SENTENCE: usize = 1024;
const LONGEST_NOTE: usize = 512;

/// `Status.reason`, with the code that belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatusReason {
    BadRequest,
    Forbidden,
    RequestEntityTooLarge,
    Invalid,
    InternalError,
}

impl StatusReason {
    fn as_str(self) -> &'static str {
        match self {
            Self::BadRequest => "BadRequest",
            Self::Forbidden => "Forbidden",
            Self::RequestEntityTooLarge => "RequestEntityTooLarge",
            Self::Invalid => "Invalid",
            Self::InternalError => "InternalError",
        }
    }
}

/// Why a write is not admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Status {
    pub reason: StatusReason,
    pub message: String,
    details: Option<Value>,
}

impl Status {
    pub fn new(reason: StatusReason, message: String) -> Self {
        Self {
            reason,
            message,
            details: None,
        }
    }

    pub fn code(&self) -> u16 {
        match self.reason {
            StatusReason::BadRequest => 400,
            StatusReason::Forbidden => 403,
            StatusReason::RequestEntityTooLarge => 413,
            StatusReason::Invalid => 422,
            StatusReason::InternalError => 500,
        }
    }

    /// As `metav1.Status`.
    pub fn to_json(&self) -> Value {
        let mut status = json!({
            "status": "Failure",
            "code": self.code(),
            "reason": self.reason.as_str(),
            "message": self.message,
        });
        if let (Some(details), Some(fields)) = (&self.details, status.as_object_mut()) {
            fields.insert("details".to_owned(), details.clone());
        }
        status
    }
}

/// The denial that `verdict` asks for; `None` admits.
pub(super) fn status(asked: &Asked<'_>, verdict: &Verdict) -> Option<Status> {
    if !verdict.violations.is_empty() {
        return Some(refusal(asked, &verdict.violations));
    }
    if verdict.faults.is_empty() {
        return None;
    }
    let rules: Vec<String> = verdict
        .faults
        .iter()
        .take(MOST)
        .map(|fault| rule_of(fault))
        .collect();
    let message = format!(
        "failed to evaluate rule {}; this is a fault of sandgate, not of the object, so nothing was \
         decided: report it with this text",
        rules.join(", ")
    );
    Some(Status::new(StatusReason::InternalError, message))
}

/// The id of the rule that a fault is about. What the engine said behind it may quote the object.
pub(super) fn rule_of(fault: &str) -> String {
    clean(fault.split(':').next().unwrap_or_default(), LONGEST_FIELD)
}

fn refusal(asked: &Asked<'_>, violations: &[Violation]) -> Status {
    let reason = if violations.iter().all(|violation| violation.identity) {
        StatusReason::Forbidden
    } else {
        StatusReason::Invalid
    };
    let mut ordered: Vec<&Violation> = violations.iter().collect();
    ordered.sort_by(|left, right| in_order(&left.field, &right.field));
    let mut told: Vec<(String, &'static str, String)> = ordered
        .into_iter()
        .take(MOST)
        .map(|violation| {
            let note = match asked {
                Asked::Write(write) => note::about(write, violation),
                Asked::Deletion => None,
            };
            let note = note.map(|note| format!("{}: ", clean(&note, LONGEST_NOTE)));
            let sentence = format!(
                "{}: {}{} [{}]",
                kind_words(violation.reason),
                note.unwrap_or_default(),
                clean(&violation.message, LONGEST_SENTENCE),
                clean(&violation.rule, LONGEST_FIELD)
            );
            (
                clean(&violation.field, LONGEST_FIELD),
                violation.reason,
                sentence,
            )
        })
        .collect();
    let untold = violations.len().saturating_sub(MOST);
    if let (Some((_, _, last)), true) = (told.last_mut(), untold > 0) {
        // In the last sentence rather than beside it, since kubectl prints nothing but sentences.
        // Writing to a String cannot fail.
        let _ = write!(last, ", and {untold} more");
    }
    let message: Vec<String> = told
        .iter()
        .map(|(field, _, sentence)| format!("{field}: {sentence}"))
        .collect();
    let causes: Vec<Value> = told
        .iter()
        .map(|(field, reason, sentence)| {
            json!({"reason": reason, "message": sentence, "field": field})
        })
        .collect();
    let (kind, name) = match asked {
        Asked::Write(write) => (write.subject.kind(), clean(write.name, LONGEST_FIELD)),
        Asked::Deletion => ("", String::new()),
    };
    Status {
        reason,
        message: message.join("; "),
        details: Some(json!({"group": GROUP, "kind": kind, "name": name, "causes": causes})),
    }
}

/// The words that Kubernetes prints for a kind of field error.
fn kind_words(reason: &str) -> &'static str {
    match reason {
        "FieldValueRequired" => "Required value",
        "FieldValueForbidden" => "Forbidden",
        "FieldValueNotSupported" => "Unsupported value",
        "FieldValueDuplicate" => "Duplicate value",
        "FieldValueTooLong" => "Too long",
        "FieldValueTooMany" => "Too many",
        _ => "Invalid value",
    }
}
