//! What stands against what was rendered, and what to write to put it right. Pure.
//!
//! Of an object that stands, ours are the entries called as ours and the mark of their rules. Labels,
//! other annotations and other people's entries are theirs; `caBundle` is looked after by
//! [`crate::certificates`].

use std::collections::BTreeSet;
use std::fmt;

use sandgate_shared::names;
use serde_json::{Map, Value};

/// Longest value quoted in a difference, in bytes.
const MAX_VALUE: usize = 120;

/// What stands where a configuration of ours should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing.
    Absent,
    /// What was rendered.
    Sound,
    /// What another version of Sandgate renders, or says it does.
    OtherVersion {
        /// Mark of its rules.
        mark: String,
        /// How it differs from ours.
        differences: Vec<Difference>,
    },
    /// Ours, edited by somebody.
    Altered(Vec<Difference>),
}

/// One field that somebody changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Difference {
    /// Such as `webhooks[validate.sandgate.omnia.altairalabs.ai].failurePolicy`.
    pub(super) path: String,
    /// What stands; `None` if nothing does.
    stands: Option<String>,
    /// What was rendered; `None` if nothing was.
    wanted: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            stands,
            wanted,
        } = self;
        match (stands, wanted) {
            (Some(stands), Some(wanted)) => write!(f, "{path} is {stands}, not {wanted}"),
            (Some(stands), None) => write!(f, "{path} is {stands}, which Sandgate leaves out"),
            (None, Some(wanted)) => write!(f, "{path} is missing, it should be {wanted}"),
            (None, None) => write!(f, "{path}"),
        }
    }
}

/// Compares what stands with `wanted`.
pub(super) fn compare(wanted: &Value, stands: Option<&Value>) -> Standing {
    let Some(stands) = stands else {
        return Standing::Absent;
    };
    let mut differences = Vec::new();
    let marks = (mark(stands), mark(wanted));
    if marks.0 != marks.1 {
        differences.push(Difference {
            path: format!("metadata.annotations[{}]", names::ANNOTATION_WEBHOOK_RULES),
            stands: marks.0.map(|mark| format!("{mark:?}")),
            wanted: marks.1.map(|mark| format!("{mark:?}")),
        });
    }
    for entry in entries(wanted) {
        compare_entry(entry, find(stands, name(entry)), &mut differences);
    }
    match marks {
        (Some(theirs), Some(ours)) if theirs != ours => Standing::OtherVersion {
            mark: theirs.to_owned(),
            differences,
        },
        _ if differences.is_empty() => Standing::Sound,
        _ => Standing::Altered(differences),
    }
}

/// What stands with our entries as they were rendered. Their `caBundle` stays.
pub(super) fn put_right(wanted: &Value, stands: &Value) -> Value {
    let mut next = stands.clone();
    let mut all: Vec<Value> = entries(stands)
        .map(|entry| match find(wanted, name(entry)) {
            Some(ours) => with_bundle_of(entry, ours),
            None => entry.clone(),
        })
        .collect();
    let missing = entries(wanted).filter(|entry| find(stands, name(entry)).is_none());
    all.extend(missing.cloned());
    if let Some(object) = next.as_object_mut() {
        object.insert("webhooks".to_owned(), Value::Array(all));
        if let (Some(ours), Some(annotations)) = (mark(wanted), annotations_mut(object)) {
            annotations.insert(names::ANNOTATION_WEBHOOK_RULES.to_owned(), ours.into());
        }
    }
    next
}

/// The same object without the claims to its fields that `manager` gained by updates; `None` if there
/// is none. Nothing but the record of who owns what changes.
pub(super) fn disowned(stands: &Value, manager: &str) -> Option<Value> {
    let pointer = "/metadata/managedFields";
    let is_claim = |entry: &Value| {
        let text = |field: &str| entry.get(field).and_then(Value::as_str);
        text("manager") == Some(manager) && text("operation") == Some("Update")
    };
    if !stands.pointer(pointer)?.as_array()?.iter().any(is_claim) {
        return None;
    }
    let mut next = stands.clone();
    let claims = next.pointer_mut(pointer)?.as_array_mut()?;
    claims.retain(|entry| !is_claim(entry));
    Some(next)
}

/// Who wrote last, as far as the API server was told, other than the field managers `ours`.
pub(crate) fn last_writer<'a>(stands: &'a Value, ours: &[&str]) -> Option<&'a str> {
    let claims = stands.pointer("/metadata/managedFields")?.as_array()?;
    let text = |entry: &'a Value, field: &str| entry.get(field).and_then(Value::as_str);
    claims
        .iter()
        .filter_map(|entry| Some((text(entry, "time")?, text(entry, "manager")?)))
        .filter(|(_, manager)| !ours.contains(manager))
        // Of the same second, the API server lists appliers first.
        .max_by(|one, other| one.0.cmp(other.0))
        .map(|(_, manager)| manager)
}

/// The entries of a configuration.
pub(super) fn entries(configuration: &Value) -> impl Iterator<Item = &Value> {
    let entries = configuration.get("webhooks").and_then(Value::as_array);
    entries.into_iter().flatten()
}

/// What an entry is called.
pub(super) fn name(entry: &Value) -> &str {
    entry
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn find<'a>(configuration: &'a Value, wanted: &str) -> Option<&'a Value> {
    entries(configuration).find(|entry| name(entry) == wanted)
}

fn mark(configuration: &Value) -> Option<&str> {
    let annotations = configuration.get("metadata")?.get("annotations")?;
    annotations.get(names::ANNOTATION_WEBHOOK_RULES)?.as_str()
}

fn annotations_mut(object: &mut Map<String, Value>) -> Option<&mut Map<String, Value>> {
    let metadata = object.get_mut("metadata")?.as_object_mut()?;
    let annotations = metadata
        .entry("annotations")
        .or_insert_with(|| Map::new().into());
    annotations.as_object_mut()
}

fn compare_entry(wanted: &Value, stands: Option<&Value>, differences: &mut Vec<Difference>) {
    let path = format!("webhooks[{}]", name(wanted));
    let Some(stands) = stands else {
        differences.push(Difference {
            path,
            stands: None,
            wanted: Some("as the chart has it".to_owned()),
        });
        return;
    };
    let (wanted, stands) = (without_bundle(wanted), without_bundle(stands));
    let fields: BTreeSet<&String> = [&wanted, &stands]
        .into_iter()
        .flat_map(|entry| entry.as_object().into_iter().flat_map(Map::keys))
        .collect();
    for field in fields {
        let (wanted, stands) = (said(&wanted, field), said(&stands, field));
        if wanted != stands {
            differences.push(Difference {
                path: format!("{path}.{field}"),
                stands: stands.map(quoted),
                wanted: wanted.map(quoted),
            });
        }
    }
}

fn without_bundle(entry: &Value) -> Value {
    let mut entry = entry.clone();
    if let Some(client) = entry.get_mut("clientConfig").and_then(Value::as_object_mut) {
        client.remove("caBundle");
    }
    entry
}

fn with_bundle_of(stands: &Value, wanted: &Value) -> Value {
    let mut next = wanted.clone();
    let bundle = stands.pointer("/clientConfig/caBundle");
    let client = next.get_mut("clientConfig").and_then(Value::as_object_mut);
    if let (Some(bundle), Some(client)) = (bundle, client) {
        client.insert("caBundle".to_owned(), bundle.clone());
    }
    next
}

/// What an entry says in a field: an empty selector or list says what its absence says.
fn said<'a>(entry: &'a Value, field: &str) -> Option<&'a Value> {
    entry.get(field).filter(|value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    })
}

/// As JSON, which escapes control characters, cut to a length that people read.
fn quoted(value: &Value) -> String {
    let text = value.to_string();
    match text.get(..text.floor_char_boundary(MAX_VALUE)) {
        Some(start) if start.len() < text.len() => format!("{start}…"),
        _ => text,
    }
}

#[cfg(test)]
mod tests;
