//! Whether a claim was admitted: it holds a place under its runtime's ceilings until it is over, and is
//! never sent back to wait (C-012, C-016). Pure.

use sandgate_shared::{
    api::{ClaimPhase, SandboxClaim},
    reason::condition,
};

use super::{ever_bound, holds, names::owns};
use crate::claim::observed::{ObjectKind, Observed};

/// How a claim stands to its runtime's limits, by what its own status says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// It is `Failed`, `Completed` or being deleted, and holds no place, though a pod of it may still
    /// run (C-016, Q57).
    Over,
    /// It was admitted.
    Admitted,
    /// It waits for its turn, hence has no object.
    Queued,
    /// Nothing is recorded.
    Nothing,
}

/// Whether the claim was admitted. An object of its own says so too: earlier versions made objects
/// before they recorded anything.
pub fn holds_place(observed: &Observed) -> bool {
    record(&observed.claim) == Record::Admitted
        || ObjectKind::OWNED.iter().any(|kind| owns(observed, *kind))
}

/// What the claim's status says.
pub fn record(claim: &SandboxClaim) -> Record {
    let phase = claim.status.as_ref().and_then(|status| status.phase);
    let over = matches!(phase, Some(ClaimPhase::Failed | ClaimPhase::Completed));
    if over || claim.metadata.deletion_timestamp.is_some() {
        Record::Over
    } else if holds(claim, condition::ADMITTED)
        || ever_bound(claim)
        || phase == Some(ClaimPhase::Bound)
    {
        Record::Admitted
    } else if phase == Some(ClaimPhase::Queued) {
        Record::Queued
    } else {
        Record::Nothing
    }
}
