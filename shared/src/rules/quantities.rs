//! Checks of quantities by value, which CEL cannot compare. Pure.

use serde_json::Value;

use super::{check::Flaw, json_path};
use crate::quantity::{Quantity, QuantityError};

/// Which requests are no quantity, below nothing, or above the limit of the same resource: a pod with
/// them is refused when it is made, long after the class was written.
pub(super) fn requests(spec: &Value, _stored: Option<&Value>) -> Vec<Flaw> {
    let limits = json_path::at(spec, "resources.limits");
    let limit = |name: &str| read(limits?.get(name)?).ok();
    each(spec, "resources.requests", |name, request| {
        match read(request) {
            Ok(request) => {
                let below = limit(name).is_none_or(|limit| request <= limit);
                request >= Quantity::default() && below
            }
            Err(error) => told_by_the_schema(error),
        }
    })
}

/// Which limits are no quantity.
pub(super) fn limits(spec: &Value, _stored: Option<&Value>) -> Vec<Flaw> {
    each(spec, "resources.limits", |_, limit| is_read(limit))
}

/// Whether the size of a scratch volume is no quantity.
pub(super) fn size(volume: &Value, _stored: Option<&Value>) -> Vec<Flaw> {
    let size = json_path::at(volume, "sizeLimit");
    let unread = size.filter(|size| !is_read(size));
    unread.map(|_| Flaw::default()).into_iter().collect()
}

/// Whether the size of a scratch volume is nothing or less.
pub(super) fn nothing(volume: &Value, _stored: Option<&Value>) -> Vec<Flaw> {
    let size = json_path::at(volume, "sizeLimit");
    let size = size.and_then(|size| read(size).ok());
    let too_small = size.filter(|size| *size <= Quantity::default());
    too_small.map(|_| Flaw::default()).into_iter().collect()
}

/// The entries of a map that are not as `right` says.
fn each(spec: &Value, map: &str, right: impl Fn(&str, &Value) -> bool) -> Vec<Flaw> {
    let entries = json_path::at(spec, map).and_then(Value::as_object);
    let entries = entries.into_iter().flatten();
    let wrong = entries.filter(|(name, value)| !right(name, value));
    wrong
        .map(|(name, _)| Flaw {
            field: format!(".{map}[{name}]"),
            detail: None,
        })
        .collect()
}

fn is_read(value: &Value) -> bool {
    read(value).map_or_else(told_by_the_schema, |_| true)
}

/// Whether the schema's pattern, which Kubernetes wrote, refuses the value by itself: it knows nothing
/// of exponents that cannot be read.
fn told_by_the_schema(error: QuantityError) -> bool {
    error != QuantityError::Exponent
}

/// A quantity as JSON has it: a whole number needs no quotes.
fn read(value: &Value) -> Result<Quantity, QuantityError> {
    match value {
        Value::String(text) => text.parse(),
        other => other.to_string().parse(),
    }
}
