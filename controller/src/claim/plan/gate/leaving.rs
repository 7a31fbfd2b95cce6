//! Whether there is anything left to decide about a claim (C-028, C-032, R-005). Pure.

use k8s_openapi::jiff::Timestamp;
use sandgate_shared::api::ClaimPhase;

use super::Gate;
use crate::claim::{clock, observed::Observed, plan::Settings};

/// The answer for a claim that is going or that is final.
pub(super) fn judge(observed: &Observed, settings: &Settings, now: Timestamp) -> Option<Gate> {
    let claim = &observed.claim;
    let going = claim.metadata.deletion_timestamp.is_some() || observed.namespace_terminating;
    if going || claim.metadata.uid.is_none() {
        return Some(Gate::LeaveAlone);
    }
    let phase = claim.status.as_ref().and_then(|status| status.phase);
    match phase? {
        // Whether it is over is asked of none that has not failed: the others fail first.
        ClaimPhase::Failed if clock::is_over(observed, settings.default_idle_timeout, now) => {
            Some(Gate::Remove)
        }
        ClaimPhase::Failed | ClaimPhase::Completed => Some(Gate::Over),
        ClaimPhase::Pending | ClaimPhase::Queued | ClaimPhase::Bound => None,
    }
}
