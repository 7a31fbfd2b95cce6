//! Edits of objects at random places, each within the types of the schema. Pure, the same for the
//! same generator.

use std::collections::{BTreeMap, BTreeSet};

use json_patch::jsonptr::PointerBuf;
use serde_json::{Value, json};

use crate::generated::Generator;

/// A kind's schema of `spec`, and the values that the corpus has at each of its paths.
pub struct Kind {
    schema: Value,
    seen: BTreeMap<String, Vec<Value>>,
}

/// A place in an object that can be edited.
#[derive(Clone)]
struct Place<'a> {
    /// The object or list it is in.
    parent: PointerBuf,
    token: String,
    /// As [`Generator::made`] names it.
    path: String,
    schema: &'a Value,
    /// What is there now.
    value: Option<Value>,
}

impl Kind {
    /// The kind with this schema, having seen these specs.
    pub fn new<'a>(schema: Value, specs: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for spec in specs {
            let mut places = Vec::new();
            places_of(&schema, spec, "spec", &PointerBuf::new(), &mut places);
            for place in places {
                let values = seen.entry(place.path).or_default();
                values.extend(place.value.map(|value| value.to_string()));
            }
        }
        let parsed = |text: &String| serde_json::from_str(text).unwrap();
        let seen = seen
            .iter()
            .map(|(path, texts)| (path.clone(), texts.iter().map(parsed).collect()))
            .collect();
        Self { schema, seen }
    }

    /// The schema of `spec`.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Changes `spec` at one place.
    pub fn edit(&self, make: &mut Generator, spec: &mut Value) {
        let mut places = Vec::new();
        places_of(&self.schema, spec, "spec", &PointerBuf::new(), &mut places);
        if places.is_empty() {
            return;
        }
        let place = make.one_of(&places).clone();
        let is_field = !place.path.ends_with("[]") && !place.path.ends_with('*');
        let value = match make.number(0, 9) {
            0 | 1 => None,
            2 if is_field => Some(Value::Null),
            3 => empty(place.schema),
            4 | 5 => Some(make.value(place.schema, &place.path)),
            6 => rearranged(make, place.value.as_ref()),
            _ => match self.seen.get(&place.path) {
                Some(values) if !values.is_empty() => Some(make.one_of(values).clone()),
                _ => Some(make.value(place.schema, &place.path)),
            },
        };
        put(spec, &place.parent, &place.token, value);
    }
}

/// The value that most resembles none.
fn empty(schema: &Value) -> Option<Value> {
    match schema["type"].as_str() {
        Some("object") => Some(json!({})),
        Some("array") => Some(json!([])),
        Some("string") => Some(json!("")),
        Some("boolean") => Some(json!(false)),
        _ => None,
    }
}

/// A list in another order, or with an item twice.
fn rearranged(make: &mut Generator, value: Option<&Value>) -> Option<Value> {
    let mut items = match value {
        Some(Value::Array(items)) if !items.is_empty() => items.clone(),
        other => return other.cloned(),
    };
    if make.perhaps(50) {
        items.reverse();
    } else {
        let twice = make.one_of(&items).clone();
        items.push(twice);
    }
    Some(Value::Array(items))
}

/// Every place of `value`, and the fields it could have beside.
fn places_of<'a>(
    schema: &'a Value,
    value: &Value,
    path: &str,
    pointer: &PointerBuf,
    into: &mut Vec<Place<'a>>,
) {
    let mut add = |token: String, path: String, schema: &'a Value, child: Option<&Value>| {
        let place = Place {
            parent: pointer.clone(),
            token,
            path,
            schema,
            value: child.cloned(),
        };
        let mut below = pointer.clone();
        below.push_back(place.token.as_str());
        let path = place.path.clone();
        into.push(place);
        if let Some(child) = child {
            places_of(schema, child, &path, &below, into);
        }
    };
    match value {
        Value::Object(fields) => {
            for (name, child) in schema["properties"].as_object().into_iter().flatten() {
                add(
                    name.clone(),
                    format!("{path}.{name}"),
                    child,
                    fields.get(name),
                );
            }
            if schema["additionalProperties"].is_object() {
                for (name, child) in fields {
                    let schema = &schema["additionalProperties"];
                    add(name.clone(), format!("{path}.*"), schema, Some(child));
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let path = format!("{path}[]");
                add(index.to_string(), path, &schema["items"], Some(item));
            }
        }
        _ => {}
    }
}

/// Puts a value at a place, or takes it away.
pub fn put(root: &mut Value, parent: &PointerBuf, token: &str, value: Option<Value>) {
    match (root.pointer_mut(parent.as_str()), value) {
        (Some(Value::Object(fields)), Some(value)) => drop(fields.insert(token.to_owned(), value)),
        (Some(Value::Object(fields)), None) => drop(fields.remove(token)),
        (Some(Value::Array(items)), value) => {
            let index: usize = token.parse().unwrap();
            match value {
                Some(value) if index < items.len() => items[index] = value,
                None if index < items.len() => drop(items.remove(index)),
                _ => {}
            }
        }
        _ => {}
    }
}
