//! Digests: has this object changed since we wrote it, and from which intent was it written? Pure.
//!
//! Both are kept across restarts and versions (`status.applied`, the intent annotation). If
//! [`digest`] gave another answer for the same object after an upgrade, every claim would look as if
//! a stranger had edited it; a golden test pins it.

use sandgate_shared::names;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// Labels of object metadata that are ours to set and to heal.
const OUR_LABELS: [&str; 7] = [
    names::LABEL_MANAGED_BY,
    names::LABEL_COMPONENT,
    names::LABEL_AGENT_RUNTIME,
    names::LABEL_SESSION,
    names::LABEL_CLAIM,
    names::LABEL_CLAIM_UID,
    names::LABEL_SANDBOX_POD,
];

/// What of an object is ours as a whole: a spec, or what a `ConfigMap` has instead.
const CONTENT: [&str; 4] = ["spec", "data", "binaryData", "immutable"];

/// Digest (64 hex digits) of what is ours in an object: its content, our labels and all its owner
/// references. Everything else in it may change without anybody having touched what we wrote.
pub(super) fn digest(object: &Value) -> String {
    hash(&ours(object))
}

/// The part of an object that [`digest`] covers.
pub(super) fn ours(object: &Value) -> Value {
    let metadata = object.get("metadata");
    let field = |key: &str| metadata.and_then(|metadata| metadata.get(key));
    let mut labels = Map::new();
    for key in OUR_LABELS {
        if let Some(value) = field("labels").and_then(|labels| labels.get(key)) {
            labels.insert(key.to_owned(), value.clone());
        }
    }
    let owners = field("ownerReferences").cloned();
    let mut kept = Map::new();
    kept.insert("labels".to_owned(), Value::Object(labels));
    kept.insert(
        "ownerReferences".to_owned(),
        owners
            .filter(|owners| !owners.is_null())
            .unwrap_or_else(|| Value::Array(Vec::new())),
    );
    let mut whole = Map::new();
    whole.insert("metadata".to_owned(), Value::Object(kept));
    for part in CONTENT {
        if let Some(content) = object.get(part) {
            whole.insert(part.to_owned(), content.clone());
        }
    }
    Value::Object(whole)
}

/// SHA-256 of a value, independent of the order of its keys.
pub(super) fn hash(value: &Value) -> String {
    let mut hasher = Sha256::new();
    feed(value, &mut hasher);
    let mut text = String::with_capacity(64);
    for byte in hasher.finalize() {
        for nibble in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
        }
    }
    text
}

/// Canonical JSON, so that the text of two different values differs.
fn feed(value: &Value, hasher: &mut Sha256) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            hasher.update(b"{");
            for (key, value) in entries {
                hasher.update(Value::String(key.clone()).to_string());
                hasher.update(b":");
                feed(value, hasher);
                hasher.update(b",");
            }
            hasher.update(b"}");
        }
        Value::Array(items) => {
            hasher.update(b"[");
            for item in items {
                feed(item, hasher);
                hasher.update(b",");
            }
            hasher.update(b"]");
        }
        scalar => hasher.update(scalar.to_string()),
    }
}
