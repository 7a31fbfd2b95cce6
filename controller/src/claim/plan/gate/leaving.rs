//! Whether there is anything left to decide about a claim (C-028, C-032). Pure.

use sandgate_shared::api::ClaimPhase;

use super::Gate;
use crate::claim::observed::Observed;

/// The answer for a claim that is going or that is final.
pub(super) fn judge(observed: &Observed) -> Option<Gate> {
    let claim = &observed.claim;
    let going = claim.metadata.deletion_timestamp.is_some() || observed.namespace_terminating;
    if going || claim.metadata.uid.is_none() {
        return Some(Gate::LeaveAlone);
    }
    let phase = claim.status.as_ref().and_then(|status| status.phase);
    matches!(phase, Some(ClaimPhase::Failed | ClaimPhase::Completed)).then_some(Gate::Over)
}
