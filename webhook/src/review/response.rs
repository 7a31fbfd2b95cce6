//! The `AdmissionReview` that goes back. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::denial::Status;

/// The version spoken when the question names none.
pub(super) const VERSION: &str = "admission.k8s.io/v1";

/// What was decided.
#[derive(Debug)]
pub(super) enum Outcome {
    /// With RFC 6902 operations as JSON, if the object is to be changed.
    Allowed {
        patch: Option<Vec<u8>>,
    },
    Denied(Status),
}

/// The version to answer in: a reply in another one than the question's is a failed call.
pub(super) fn version_of(review: &Value) -> &str {
    review
        .get("apiVersion")
        .and_then(Value::as_str)
        .filter(|version| version.starts_with("admission.k8s.io/") && version.len() <= 64)
        .unwrap_or(VERSION)
}

/// The reply to the review with this uid.
pub(super) fn encode(
    uid: &str,
    api_version: &str,
    outcome: &Outcome,
    warnings: &[String],
    annotations: Value,
) -> Vec<u8> {
    let mut response = json!({"uid": uid, "allowed": matches!(outcome, Outcome::Allowed { .. })});
    if let Some(fields) = response.as_object_mut() {
        fields.insert("auditAnnotations".to_owned(), annotations);
        match outcome {
            Outcome::Allowed {
                patch: Some(operations),
            } => {
                fields.insert("patchType".to_owned(), json!("JSONPatch"));
                fields.insert("patch".to_owned(), json!(STANDARD.encode(operations)));
            }
            Outcome::Allowed { patch: None } => {}
            Outcome::Denied(status) => {
                fields.insert("status".to_owned(), status.to_json());
            }
        }
        if !warnings.is_empty() {
            fields.insert("warnings".to_owned(), json!(warnings));
        }
    }
    json!({"apiVersion": api_version, "kind": "AdmissionReview", "response": response})
        .to_string()
        .into_bytes()
}
