//! The schema's defaults, as RFC 6902 operations on raw JSON. Pure.
//!
//! Defaults only, and only where a field is absent (W-005 to W-008): no parent is made, so a class
//! without `egress` stays without (W-007).

use json_patch::{AddOperation, PatchOperation, jsonptr::PointerBuf};
use serde_json::Value;

/// The operations that fill in what `value` leaves to `schema`'s defaults, below `pointer`.
pub(super) fn missing(schema: &Value, value: &Value, pointer: &PointerBuf) -> Vec<PatchOperation> {
    let mut operations = Vec::new();
    collect(schema, value, pointer, &mut operations);
    operations
}

fn collect(schema: &Value, value: &Value, pointer: &PointerBuf, out: &mut Vec<PatchOperation>) {
    match value {
        Value::Object(fields) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            for (name, child) in properties.into_iter().flatten() {
                let mut here = pointer.clone();
                here.push_back(name.as_str());
                match (fields.get(name), child.get("default")) {
                    (Some(present), _) => collect(child, present, &here, out),
                    (None, Some(default)) => out.push(PatchOperation::Add(AddOperation {
                        path: here,
                        value: default.clone(),
                    })),
                    (None, None) => {}
                }
            }
        }
        Value::Array(items) => {
            if let Some(child) = schema.get("items") {
                for (index, item) in items.iter().enumerate() {
                    let mut here = pointer.clone();
                    here.push_back(index);
                    collect(child, item, &here, out);
                }
            }
        }
        _ => {}
    }
}
