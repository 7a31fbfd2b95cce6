//! Every edit of one field that can be made to a manifest, generated: what a comparison has to catch.
//! For tests. Pure.

use serde_json::{Value, json};

/// A manifest with one edit in it.
#[derive(Clone, Debug)]
pub struct Edit {
    /// What was done and where, such as `remove spec.failurePolicy`.
    pub name: String,
    /// The manifest after it.
    pub object: Value,
}

/// Every edit below `spec`: each value changed, each field and item removed, one added to each object
/// and list, and each two neighbours of a list exchanged.
pub fn every_edit(manifest: &Value) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut above = vec!["/spec".to_owned()];
    while let Some(pointer) = above.pop() {
        let Some(node) = manifest.pointer(&pointer) else {
            continue;
        };
        for (what, value) in changes(node) {
            edits.extend(edit(manifest, &pointer, what, |place| *place = value));
        }
        for name in children(node) {
            let below = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
            edits.extend(edit(manifest, &below, "remove", |_| {}).map(|edit| Edit {
                object: without(manifest, &pointer, &name),
                ..edit
            }));
            above.push(below);
        }
    }
    edits
}

/// Names of fields, numbers of items.
fn children(node: &Value) -> Vec<String> {
    match node {
        Value::Object(fields) => fields.keys().cloned().collect(),
        Value::Array(items) => (0..items.len()).map(|index| index.to_string()).collect(),
        _ => Vec::new(),
    }
}

/// What one value could be instead.
fn changes(node: &Value) -> Vec<(&'static str, Value)> {
    match node {
        Value::String(text) => vec![
            ("lengthen", json!(format!("{text} "))),
            ("replace", json!(other(text))),
            ("empty", json!("")),
        ],
        Value::Bool(value) => vec![("negate", json!(!value))],
        Value::Number(_) => vec![("replace", json!(7))],
        Value::Null => vec![("replace", json!("x"))],
        Value::Object(fields) => {
            let mut more = fields.clone();
            more.insert("added".into(), json!("x"));
            vec![("add to", Value::Object(more))]
        }
        Value::Array(items) => {
            let mut more = items.clone();
            more.extend(items.first().cloned().or_else(|| Some(json!("x"))));
            let exchanged = (1..items.len()).map(|index| {
                let mut items = items.clone();
                items.swap(index - 1, index);
                ("exchange in", Value::Array(items))
            });
            let mut all: Vec<_> = exchanged
                .filter(|(_, other)| other.as_array() != Some(items))
                .collect();
            all.push(("add to", Value::Array(more)));
            all
        }
    }
}

/// A word that an API server could take where `text` stands.
fn other(text: &str) -> &'static str {
    match text {
        "Fail" => "Ignore",
        "Deny" => "Warn",
        "Equivalent" => "Exact",
        "*" => "Namespaced",
        "CREATE" => "DELETE",
        "Forbidden" => "Invalid",
        _ => "true",
    }
}

fn edit(
    manifest: &Value,
    pointer: &str,
    what: &str,
    change: impl FnOnce(&mut Value),
) -> Option<Edit> {
    let mut object = manifest.clone();
    change(object.pointer_mut(pointer)?);
    let path = pointer.trim_start_matches('/').replace('/', ".");
    Some(Edit {
        name: format!("{what} {path}"),
        object,
    })
}

fn without(manifest: &Value, pointer: &str, name: &str) -> Value {
    let mut object = manifest.clone();
    match object.pointer_mut(pointer) {
        Some(Value::Object(fields)) => {
            fields.remove(name);
        }
        Some(Value::Array(items)) => {
            if let Ok(index) = name.parse::<usize>()
                && index < items.len()
            {
                items.remove(index);
            }
        }
        _ => {}
    }
    object
}
