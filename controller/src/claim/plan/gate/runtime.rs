//! Whether the claim's `AgentRuntime` has sandboxes (C-002, Q13). Pure.

use sandgate_shared::reason;

use crate::claim::{
    observed::{Lookup, Observed},
    plan::Finding,
};

pub(super) fn allows(observed: &Observed) -> Option<Finding> {
    let named = observed.claim.spec.agent_runtime_ref.as_ref();
    let name = named.map(|named| named.name.as_str()).unwrap_or_default();
    match &observed.runtime {
        Lookup::Missing => Some(Finding {
            reason: reason::AGENT_RUNTIME_NOT_FOUND,
            message: format!(
                "AgentRuntime {name:?} does not exist in the claim's namespace; create it there, then make the claim again"
            ),
        }),
        Lookup::Found(runtime) => {
            let sandbox = runtime.sandbox.as_ref();
            let enabled = sandbox.and_then(|sandbox| sandbox.enabled) == Some(true);
            (!enabled).then(|| Finding {
                reason: reason::SANDBOXES_DISABLED,
                message: format!(
                    "AgentRuntime {name:?} has no sandboxes: set its spec.sandbox.enabled to true, then make the claim again"
                ),
            })
        }
    }
}
