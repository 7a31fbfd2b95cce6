//! Whose pods were ready when. Pure.

use std::collections::BTreeMap;

use sandgate_shared::names::{COMPONENT_EGRESS, COMPONENT_SANDBOX};
use serde_json::Value;

use super::of_kind;
use super::seat::{STALE, claim_of, component_of};
use crate::chaos::history::{Change, Kind};

fn is_ready(pod: &Change) -> bool {
    let conditions = pod.object.pointer("/status/conditions");
    let mut conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    let ready = |it: &Value| {
        it.get("type") == Some(&"Ready".into()) && it.get("status") == Some(&"True".into())
    };
    !pod.gone && conditions.any(ready)
}

/// Whether a pod is neither over nor on its way out.
pub fn stays(pod: &Change) -> bool {
    let leaves = pod.object.pointer("/metadata/deletionTimestamp").is_some();
    !leaves && !["Failed", "Succeeded"].contains(&pod.text("/status/phase"))
}

/// Whether a pod of this part of the claim was ready when `written` was, or so shortly before that whoever
/// wrote it may not have known better.
pub fn one_was_ready(history: &[Change], written: &Change, claim: &str, part: &str) -> bool {
    let mut last: BTreeMap<&str, bool> = BTreeMap::new();
    let since = written.at.saturating_sub(STALE);
    let pods =
        of_kind(history, Kind::Pod).filter(|it| claim_of(it) == claim && part_of(it) == part);
    for pod in pods.filter(|it| it.version < written.version) {
        let was = last.insert(pod.uid(), is_ready(pod));
        // It was, until a moment ago.
        if was == Some(true) && pod.at > since {
            return true;
        }
    }
    last.values().any(|ready| *ready)
}

fn part_of(pod: &Change) -> &str {
    match component_of(pod) {
        COMPONENT_EGRESS => COMPONENT_EGRESS,
        _ => COMPONENT_SANDBOX,
    }
}
