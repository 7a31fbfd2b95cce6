//! What a review asks, read from raw JSON. Pure.

use sandgate_shared::names::{GROUP, VERSION};
use sandgate_shared::rules::{Attempt, Operation, Phase, Subject};
use serde_json::Value;

use super::text::clean;

/// Why a review is not judged, in a sentence that says what would be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unreadable(pub String);

/// What is asked.
#[derive(Debug)]
pub(super) enum Asked<'a> {
    /// A deletion. Never registered and always allowed: an object must be removable whatever it is.
    Deletion,
    /// A write to be judged.
    Write(Write<'a>),
}

/// A write of one of our kinds.
#[derive(Debug)]
pub(super) struct Write<'a> {
    pub subject: Subject,
    pub operation: Operation,
    pub subresource: Option<&'a str>,
    pub namespace: &'a str,
    /// The object's name; its `generateName` while it has none.
    pub name: &'a str,
    object: &'a Value,
    old_object: Option<&'a Value>,
    user_info: &'a Value,
}

impl<'a> Write<'a> {
    /// The object as sent.
    pub fn object(&self) -> &'a Value {
        self.object
    }

    /// The object as stored; present exactly on update.
    pub fn old_object(&self) -> Option<&'a Value> {
        self.old_object
    }

    /// The name the API server authenticated; empty if it tells none.
    pub fn username(&self) -> &'a str {
        text_at(self.user_info, "/username")
    }

    pub fn attempt(&self, phase: Phase) -> Attempt<'a> {
        Attempt {
            subject: self.subject,
            operation: self.operation,
            subresource: self.subresource,
            phase,
            object: self.object,
            old_object: self.old_object,
            user_info: self.user_info,
        }
    }
}

/// Reads `review`; every refusal names the field and the way out.
pub(super) fn read(review: &Value) -> Result<Asked<'_>, Unreadable> {
    let refuse = |sentence: String| Err(Unreadable(sentence));
    let version = text_at(review, "/apiVersion");
    if version != "admission.k8s.io/v1" || text_at(review, "/kind") != "AdmissionReview" {
        return refuse(format!(
            "apiVersion: Unsupported value: \"{} {}\": only AdmissionReview of admission.k8s.io/v1 is \
             answered; set admissionReviewVersions to v1",
            clean(version, 64),
            clean(text_at(review, "/kind"), 64)
        ));
    }
    let Some(request) = review.get("request").filter(|request| request.is_object()) else {
        return refuse("request: Required value: the review asks nothing".to_owned());
    };
    let operation = match text_at(request, "/operation") {
        "CREATE" => Operation::Create,
        "UPDATE" => Operation::Update,
        "DELETE" => return Ok(Asked::Deletion),
        other => {
            return refuse(format!(
                "request.operation: Unsupported value: \"{}\": only CREATE and UPDATE are judged; \
                 take it out of the webhook configuration's rules",
                clean(other, 64)
            ));
        }
    };
    let subject = subject(request)?;
    let subresource = match text_at(request, "/subResource") {
        "" => None,
        "status" => Some("status"),
        other => {
            return refuse(format!(
                "request.subResource: Unsupported value: \"{}\": no rules exist for it, so nothing is \
                 admitted through it; write the object itself or its status",
                clean(other, 64)
            ));
        }
    };
    let Some(user_info) = request.get("userInfo").filter(|who| who.is_object()) else {
        return refuse("request.userInfo: Required value: it is not said who asks".to_owned());
    };
    let object = whole(request, "object", subject)?;
    let standing = request.get("oldObject").filter(|old| !old.is_null());
    let old_object = match (operation, standing) {
        (Operation::Update, _) => Some(whole(request, "oldObject", subject)?),
        (Operation::Create, None) => None,
        (Operation::Create, Some(_)) => {
            return refuse(
                "request.oldObject: Forbidden: a creation has no old object; the review contradicts \
                 itself"
                    .to_owned(),
            );
        }
    };
    let name = ["/metadata/name", "/metadata/generateName"]
        .into_iter()
        .map(|path| text_at(object, path))
        .chain([text_at(request, "/name")])
        .find(|name| !name.is_empty())
        .unwrap_or_default();
    Ok(Asked::Write(Write {
        subject,
        operation,
        subresource,
        namespace: text_at(request, "/namespace"),
        name,
        object,
        old_object,
        user_info,
    }))
}

fn subject(request: &Value) -> Result<Subject, Unreadable> {
    let kind = text_at(request, "/kind/kind");
    let (group, version) = (
        text_at(request, "/kind/group"),
        text_at(request, "/kind/version"),
    );
    let ours = (group, version) == (GROUP, VERSION);
    let named = Subject::from_kind(kind)
        .filter(|subject| ours && text_at(request, "/resource/resource") == subject.plural());
    named.ok_or_else(|| {
        let kinds: Vec<&str> = Subject::ALL.iter().map(|subject| subject.kind()).collect();
        Unreadable(format!(
            "request.kind: Unsupported value: \"{}\": only {} of {GROUP}/{VERSION} are judged; take it \
             out of the webhook configuration's rules",
            clean(&format!("{group}/{version} {kind}"), 128),
            kinds.join(", ")
        ))
    })
}

/// An object of the review that must be there, and of the kind that the review says.
fn whole<'a>(request: &'a Value, field: &str, subject: Subject) -> Result<&'a Value, Unreadable> {
    let refuse = |what: &str| {
        Unreadable(format!(
            "request.{field}: {what}: it must be the whole {}; nothing is compared with less",
            subject.kind()
        ))
    };
    match request.get(field) {
        None | Some(Value::Null) => Err(refuse("Required value")),
        Some(object) if text_at(object, "/kind") == subject.kind() => Ok(object),
        Some(_) => Err(refuse("Invalid value")),
    }
}

/// The string at `pointer`, or nothing.
fn text_at<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
