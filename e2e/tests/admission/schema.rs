//! What a CRD's schema says of values, and what became of them. Pure.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The paths of all leaves of a schema, as [`Generator::made`] names them.
pub fn leaves(schema: &Value, path: &str, into: &mut BTreeSet<String>) {
    if schema.get("x-kubernetes-int-or-string").is_some() {
        into.insert(path.to_owned());
        return;
    }
    match schema["type"].as_str() {
        Some("object") => {
            for (name, child) in schema["properties"].as_object().into_iter().flatten() {
                leaves(child, &format!("{path}.{name}"), into);
            }
            if schema["additionalProperties"].is_object() {
                leaves(&schema["additionalProperties"], &format!("{path}.*"), into);
            }
            if schema["x-kubernetes-preserve-unknown-fields"] == true {
                into.insert(path.to_owned());
            }
        }
        Some("array") => leaves(&schema["items"], &format!("{path}[]"), into),
        _ => {
            into.insert(path.to_owned());
        }
    }
}

/// `value` with what `schema` fills in, as the API server does it.
pub fn with_defaults(schema: &Value, value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields = fields.clone();
            for (name, child) in schema["properties"].as_object().into_iter().flatten() {
                if let Some(default) = child.get("default") {
                    fields
                        .entry(name.clone())
                        .or_insert_with(|| default.clone());
                }
            }
            for (name, value) in &mut fields {
                let child = schema["properties"].get(name);
                let child = child.unwrap_or(&schema["additionalProperties"]);
                *value = with_defaults(child, value);
            }
            Value::Object(fields)
        }
        Value::Array(items) => {
            let items = items
                .iter()
                .map(|item| with_defaults(&schema["items"], item));
            Value::Array(items.collect())
        }
        other => other.clone(),
    }
}

/// Where two values differ, and how.
pub fn differences(want: &Value, have: &Value, path: &str, into: &mut Vec<String>) {
    match (want, have) {
        (Value::Object(want), Value::Object(have)) => {
            let names: BTreeSet<&String> = want.keys().chain(have.keys()).collect();
            for name in names {
                let of =
                    |fields: &Map<String, Value>| fields.get(name).cloned().unwrap_or_default();
                differences(&of(want), &of(have), &format!("{path}.{name}"), into);
            }
        }
        (Value::Array(want), Value::Array(have)) if want.len() == have.len() => {
            for (index, (want, have)) in want.iter().zip(have).enumerate() {
                differences(want, have, &format!("{path}[{index}]"), into);
            }
        }
        _ if want == have => {}
        _ => into.push(format!("{path}: {want} became {have}")),
    }
}
