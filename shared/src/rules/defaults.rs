//! The schema's defaults, as RFC 6902 operations on raw JSON. Pure.
//!
//! Defaults only, and only where a field is absent (W-005 to W-008): no parent is made, so a class
//! without `egress` stays without (W-007).

use json_patch::{AddOperation, PatchOperation, jsonptr::PointerBuf};
use serde_json::Value;

use super::bounds::{Schema, Shape};

/// The operations that fill in what `value` leaves to `schema`'s defaults, below `pointer`.
pub(super) fn missing(schema: &Schema, value: &Value, pointer: &PointerBuf) -> Vec<PatchOperation> {
    let mut walk = Walk {
        pointer,
        steps: Vec::new(),
        operations: Vec::new(),
    };
    walk.collect(schema, value);
    walk.operations
}

/// One step of a pointer.
#[derive(Clone, Copy)]
enum Step<'a> {
    Name(&'a str),
    Index(usize),
}

/// A walk over a value. Pointers are written only for what is missing, which mostly is nothing.
struct Walk<'a> {
    pointer: &'a PointerBuf,
    steps: Vec<Step<'a>>,
    operations: Vec<PatchOperation>,
}

impl<'a> Walk<'a> {
    fn collect(&mut self, schema: &'a Schema, value: &'a Value) {
        if !schema.defaults_below {
            return;
        }
        match (&schema.shape, value) {
            (Shape::Object(object), Value::Object(fields)) => {
                for (name, child) in &object.fields {
                    self.steps.push(Step::Name(name));
                    match (fields.get(name), &child.default) {
                        (Some(present), _) => self.collect(child, present),
                        (None, Some(default)) => self.add(default),
                        (None, None) => {}
                    }
                    self.steps.pop();
                }
            }
            (Shape::List(list), Value::Array(items)) => {
                if let Some(child) = &list.items {
                    for (index, item) in items.iter().enumerate() {
                        self.steps.push(Step::Index(index));
                        self.collect(child, item);
                        self.steps.pop();
                    }
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, default: &Value) {
        let mut path = self.pointer.clone();
        for step in &self.steps {
            match step {
                Step::Name(name) => path.push_back(*name),
                Step::Index(index) => path.push_back(*index),
            }
        }
        self.operations.push(PatchOperation::Add(AddOperation {
            path,
            value: default.clone(),
        }));
    }
}
