//! Pieces of schema that the derives do not write: quantities as the API server knows them.
//! Data only.

use schemars::{Schema, SchemaGenerator, json_schema};

use super::pattern::QUANTITY;

fn quantity_value() -> serde_json::Value {
    serde_json::json!({
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": true,
        "pattern": QUANTITY,
        "maxLength": 64,
    })
}

/// One quantity: `500m`, `4Gi` or a whole number.
pub(crate) fn quantity(_: &mut SchemaGenerator) -> Schema {
    Schema::try_from(quantity_value()).unwrap_or_default()
}

/// A map from resource name to quantity, as `resources.limits` is.
pub(crate) fn quantities(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 16,
        "additionalProperties": quantity_value(),
    })
}

/// A list that must stay empty: present in the schema only so that a value is refused with a
/// sentence instead of being dropped in silence (T-079).
pub(crate) fn refused_list(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 16,
        "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    })
}
