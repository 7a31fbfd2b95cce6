//! Whether a claim was admitted: it holds a place under its runtime's ceilings until it is over, and is
//! never sent back to wait (C-012, C-016). Pure.

use sandgate_shared::{
    api::{ClaimPhase, SandboxClaim},
    reason::condition,
};

use super::{ever_bound, holds, names::owns};
use crate::claim::observed::{ObjectKind, Observed};

/// Whether the claim was admitted. An object of its own says so too: earlier versions made objects
/// before they recorded anything.
pub(in crate::claim::plan) fn admitted(observed: &Observed) -> bool {
    recorded(&observed.claim) || ObjectKind::OWNED.iter().any(|kind| owns(observed, *kind))
}

/// Whether the claim's status says so.
fn recorded(claim: &SandboxClaim) -> bool {
    let phase = claim.status.as_ref().and_then(|status| status.phase);
    holds(claim, condition::ADMITTED) || ever_bound(claim) || phase == Some(ClaimPhase::Bound)
}
