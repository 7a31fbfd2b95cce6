//! Whose turn it is not yet (C-008 to C-011, C-029). Pure.

use crate::admission_queue::{Admission, Limit};
use crate::claim::{observed::Observed, plan::Finding};

/// What is said of a claim that waits for its turn. Nothing in it changes while it waits: a place in the
/// line would be news to everybody in it with each that goes.
pub(super) fn holds_back(observed: &Observed) -> Option<Finding> {
    let Admission::Held { limit, of } = observed.admission else {
        return None;
    };
    let spec = &observed.claim.spec;
    let named = spec.agent_runtime_ref.as_ref();
    let runtime = named.map(|named| named.name.as_str()).unwrap_or_default();
    let (whose, field) = match limit {
        Limit::Instance => (
            format!("session {:?}", spec.session_id),
            "the claim's spec.maxInstances".to_owned(),
        ),
        Limit::Session => (
            format!("session {:?}", spec.session_id),
            format!("spec.sandbox.maxPerSession of AgentRuntime {runtime:?}"),
        ),
        Limit::Runtime => (
            format!("AgentRuntime {runtime:?}"),
            format!("spec.sandbox.maxConcurrent of AgentRuntime {runtime:?}"),
        ),
    };
    let what = match limit {
        Limit::Instance => "instances of this sandbox",
        Limit::Session | Limit::Runtime => "sandboxes",
    };
    let message = match of {
        None => format!(
            "{field} is not a whole number, so nothing is admitted under it: correct it or take it out"
        ),
        Some(0) => {
            format!("{field} is 0, so nothing is admitted under it: raise it or take it out")
        }
        Some(most) => format!(
            "{whose} has all the {what} that it may have: {field} is {most}. The claim waits its turn, oldest first, for one of them to be deleted or to fail, or for the limit to be raised. No ResourceQuota and no want of room in the cluster is meant"
        ),
    };
    Some(Finding {
        reason: limit.reason(),
        message,
    })
}
