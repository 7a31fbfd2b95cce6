//! A status write as one JSON merge patch with the claim's resourceVersion. Pure.

use sandgate_shared::api::{SandboxClaim, SandboxClaimStatus};
use serde_json::{Map, Value, json};

/// The merge patch (for the status subresource) that turns the claim's status into `next`: changed
/// fields alone, `null` for what goes, and the resourceVersion the decision was made on, so that a
/// status which moved in between answers 409.
pub fn status_patch(
    claim: &SandboxClaim,
    next: &SandboxClaimStatus,
) -> Result<Value, serde_json::Error> {
    let present = claim
        .status
        .as_ref()
        .map(serde_json::to_value)
        .transpose()?;
    let present = present.unwrap_or_else(|| Value::Object(Map::new()));
    let changes = difference(&present, &serde_json::to_value(next)?);
    Ok(json!({
        "metadata": {"resourceVersion": claim.metadata.resource_version},
        "status": changes.unwrap_or_else(|| Value::Object(Map::new())),
    }))
}

/// What a merge patch has to carry to turn one value into the other; `None` if nothing.
fn difference(from: &Value, to: &Value) -> Option<Value> {
    if from == to {
        return None;
    }
    let (Value::Object(before), Value::Object(after)) = (from, to) else {
        return Some(to.clone());
    };
    let gone = before.keys().filter(|key| !after.contains_key(*key));
    let mut patch: Map<String, Value> = gone.map(|key| (key.clone(), Value::Null)).collect();
    for (key, value) in after {
        let change = match before.get(key) {
            Some(old) => difference(old, value),
            None => Some(value.clone()),
        };
        patch.extend(change.map(|change| (key.clone(), change)));
    }
    Some(Value::Object(patch))
}
