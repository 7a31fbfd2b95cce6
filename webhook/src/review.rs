//! One `AdmissionReview`, bytes in and bytes out. Pure.
//!
//! ```text
//!  bytes ─▶ weight ─▶ parse ─▶ uid::of ─▶ request::read ─▶ judge ─▶ denial::status ─▶ response::encode ─▶ bytes
//!              │        │                                                                   ▲
//!              └────────┴─▶ uid::find, so that every answer can carry the uid ──────────────┘
//! ```
//!
//! The API server calls an answer without the uid, or with an HTTP status that is not 200, a failed
//! call rather than a denial. So every answer that can carry the uid is an `AdmissionReview` in an HTTP
//! 200, and its `status.code` says the rest; only a body without a uid gets a plain HTTP error.

mod audit;
mod changes;
mod denial;
mod note;
mod parse;
mod path;
mod request;
mod response;
mod text;
mod uid;
mod weight;

use sandgate_shared::rules::{Attempt, Phase, Verdict};

use self::denial::{Status, StatusReason};
use self::request::{Asked, Unreadable};
use self::response::Outcome;
pub use self::uid::find as find_uid;

/// The longest warning that clients are sure to show whole, in characters.
const LONGEST_WARNING: usize = 120;

/// Judges one write. Must not block: it runs where connections are served.
pub trait Judge: Send + Sync + 'static {
    /// The verdict on `attempt`.
    fn judge(&self, attempt: &Attempt<'_>) -> Verdict;

    /// Since when these verdicts have been given here, as RFC 3339 says times; told to the audit log.
    fn enforced_since(&self) -> Option<&str> {
        None
    }
}

impl<F> Judge for F
where
    F: Fn(&Attempt<'_>) -> Verdict + Send + Sync + 'static,
{
    fn judge(&self, attempt: &Attempt<'_>) -> Verdict {
        self(attempt)
    }
}

/// What goes back over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// HTTP 200 with an `AdmissionReview`.
    Review(Vec<u8>),
    /// A plain error, for a body that names no uid.
    Text {
        /// The HTTP status code.
        code: u16,
        /// One sentence.
        text: String,
    },
}

/// How a review ended; a label of the metrics, so the list is fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// Admitted as it is.
    Allowed,
    /// Admitted with defaults filled in.
    Patched,
    /// A rule is broken (422).
    Invalid,
    /// The writer may not do this (403).
    Forbidden,
    /// The review cannot be read or is none of ours (400).
    Malformed,
    /// The body is over the limit (413).
    TooLarge,
    /// Our own fault (500).
    Fault,
}

impl Decision {
    /// The label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Patched => "patched",
            Self::Invalid => "invalid",
            Self::Forbidden => "forbidden",
            Self::Malformed => "malformed",
            Self::TooLarge => "too-large",
            Self::Fault => "fault",
        }
    }
}

/// The reply, and what may be logged and counted about it: ids and paths, never values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What goes back.
    pub reply: Reply,
    /// How it ended.
    pub decision: Decision,
    /// Kind, one of ours or `other`.
    pub kind: &'static str,
    /// `CREATE`, `UPDATE` or `other`.
    pub operation: &'static str,
    /// `request.uid`, if there is one.
    pub uid: Option<String>,
    /// Namespace and name, escaped, as `namespace/name`.
    pub object: String,
    /// Ids of the broken rules, or of those that could not be evaluated.
    pub rules: Vec<String>,
    /// Paths of the broken rules.
    pub fields: Vec<String>,
}

impl Answer {
    fn without_request(uid: Option<&str>, api_version: &str, status: Status) -> Self {
        let decision = match status.reason {
            StatusReason::RequestEntityTooLarge => Decision::TooLarge,
            StatusReason::InternalError => Decision::Fault,
            _ => Decision::Malformed,
        };
        let reply = match uid {
            Some(uid) => {
                let outcome = Outcome::Denied(status);
                Reply::Review(response::encode(
                    uid,
                    api_version,
                    &outcome,
                    &[],
                    audit::annotations(decision, &[], None, None),
                ))
            }
            None => Reply::Text {
                code: status.code(),
                text: status.message,
            },
        };
        Self {
            reply,
            decision,
            kind: "other",
            operation: "other",
            uid: uid.map(str::to_owned),
            object: String::new(),
            rules: Vec::new(),
            fields: Vec::new(),
        }
    }
}

/// The answer to `body`, asked on the path of `phase`.
pub fn answer(body: &[u8], phase: Phase, judge: &dyn Judge) -> Answer {
    if !weight::is_bearable(body) {
        let message = "the AdmissionReview holds more values than are read; make the object's lists and \
                       maps smaller (its managedFields count)";
        let status = Status::new(StatusReason::RequestEntityTooLarge, message.to_owned());
        return Answer::without_request(uid::find(body).as_deref(), response::VERSION, status);
    }
    let review = match parse::parse(body) {
        Ok(review) => review,
        Err(error) => {
            let message = format!(
                "the body is not an AdmissionReview: failed to read it as JSON at line {}, column {}; \
                 send one admission.k8s.io/v1 AdmissionReview",
                error.line(),
                error.column()
            );
            let status = Status::new(StatusReason::BadRequest, message);
            return Answer::without_request(uid::find(body).as_deref(), response::VERSION, status);
        }
    };
    let api_version = response::version_of(&review);
    let uid = uid::of(&review);
    match request::read(&review) {
        Ok(asked) => judged(&asked, uid, api_version, phase, judge),
        Err(Unreadable(message)) => {
            let status = Status::new(StatusReason::BadRequest, message);
            Answer::without_request(uid, api_version, status)
        }
    }
}

/// The answer to a body over the limit, of which only `prefix` was kept.
pub fn too_large(prefix: &[u8], limit: usize) -> Answer {
    let message = format!(
        "the AdmissionReview is larger than {limit} bytes, the most that is read; \
         make the object smaller (its managedFields and annotations count)"
    );
    let status = Status::new(StatusReason::RequestEntityTooLarge, message);
    Answer::without_request(uid::find(prefix).as_deref(), response::VERSION, status)
}

/// The answer when the fault is ours: a panic, or no time left. `body` is what was read so far.
pub fn fault(body: &[u8], what: &str) -> Answer {
    let message =
        format!("{what}; the object may be right, so try again, and report it if it happens twice");
    let status = Status::new(StatusReason::InternalError, message);
    Answer::without_request(uid::find(body).as_deref(), response::VERSION, status)
}

fn judged(
    asked: &Asked<'_>,
    uid: Option<&str>,
    api_version: &str,
    phase: Phase,
    judge: &dyn Judge,
) -> Answer {
    let Some(uid) = uid else {
        let message = "request.uid: Required value: a review without a uid cannot be answered";
        let status = Status::new(StatusReason::BadRequest, message.to_owned());
        return Answer::without_request(None, api_version, status);
    };
    let verdict = match asked {
        Asked::Deletion => Verdict::default(),
        Asked::Write(write) => judge.judge(&write.attempt(phase)),
    };
    let (kind, operation, object) = match asked {
        Asked::Deletion => ("other", "other", String::new()),
        Asked::Write(write) => {
            let object = format!(
                "{}/{}",
                text::clean(write.namespace, 64),
                text::clean(write.name, 64)
            );
            (write.subject.kind(), write.operation.as_str(), object)
        }
    };
    let rules: Vec<String> = if verdict.violations.is_empty() {
        verdict
            .faults
            .iter()
            .map(|fault| denial::rule_of(fault))
            .collect()
    } else {
        verdict
            .violations
            .iter()
            .map(|broken| broken.rule.clone())
            .collect()
    };
    let fields = verdict
        .violations
        .iter()
        .map(|broken| text::clean(&broken.field, 128))
        .collect();
    let warnings: Vec<String> = verdict
        .warnings
        .iter()
        .map(|warning| text::clean(warning, LONGEST_WARNING))
        .collect();
    let (outcome, decision) = decide(asked, &verdict, phase);
    Answer {
        reply: Reply::Review(response::encode(
            uid,
            api_version,
            &outcome,
            &warnings,
            audit::annotations(decision, &rules, Some(asked), judge.enforced_since()),
        )),
        decision,
        kind,
        operation,
        uid: Some(uid.to_owned()),
        object,
        rules,
        fields,
    }
}

fn decide(asked: &Asked<'_>, verdict: &Verdict, phase: Phase) -> (Outcome, Decision) {
    if let Some(status) = denial::status(asked, verdict) {
        let decision = match status.reason {
            StatusReason::Forbidden => Decision::Forbidden,
            StatusReason::InternalError => Decision::Fault,
            _ => Decision::Invalid,
        };
        return (Outcome::Denied(status), decision);
    }
    // A patch on the validating path is a failed call, and one of a status has no effect.
    let of_object = matches!(asked, Asked::Write(write) if write.subresource.is_none());
    if !of_object || phase != Phase::Mutating || verdict.patch.is_empty() {
        return (Outcome::Allowed { patch: None }, Decision::Allowed);
    }
    if let Ok(operations) = serde_json::to_vec(&verdict.patch) {
        return (
            Outcome::Allowed {
                patch: Some(operations),
            },
            Decision::Patched,
        );
    }
    let message = "failed to write the defaults as a JSON patch".to_owned();
    (
        Outcome::Denied(Status::new(StatusReason::InternalError, message)),
        Decision::Fault,
    )
}

#[cfg(test)]
mod tests;
