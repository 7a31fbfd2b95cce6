//! Whose the objects of the claim's names are (O-001). Pure.

use sandgate_shared::reason;

use crate::claim::{
    observed::{ObjectKind, Observed},
    plan::{Finding, connections::Standing, intent::is_ours},
};

/// Whether the live object of a kind is this claim's own.
pub(in crate::claim::plan) fn owns(observed: &Observed, kind: ObjectKind) -> bool {
    let uid = observed.claim.metadata.uid.as_deref().unwrap_or_default();
    let known = observed.memory.applied.get(&kind);
    observed
        .live(kind)
        .is_some_and(|live| is_ours(live, uid, known.map(|record| record.uid.as_str())))
}

/// A foreign object of one of our names is never adopted and never touched. The names of an egress proxy
/// are ours only where the claim is to have one.
pub(super) fn name_conflict(observed: &Observed) -> Option<Finding> {
    let mut kinds = ObjectKind::OWNED
        .iter()
        .chain(ObjectKind::OF_PROXY)
        .copied();
    let foreign = kinds.find(|kind| {
        let foreign = observed.live(*kind).is_some() && !owns(observed, *kind);
        foreign && (!kind.is_of_proxy() || has_hosts(observed))
    });
    foreign.map(|kind| conflict(observed, kind))
}

fn has_hosts(observed: &Observed) -> bool {
    Standing::of(observed).is_some_and(|standing| !standing.hosts().is_empty())
}

/// What is said of a foreign object.
pub(in crate::claim::plan) fn conflict(observed: &Observed, kind: ObjectKind) -> Finding {
    let claim = observed.claim.metadata.name.as_deref().unwrap_or_default();
    Finding {
        reason: reason::NAME_CONFLICT,
        message: format!(
            "{} {} exists and does not belong to this claim; it was left as it is. Delete or rename it, or make the claim again under another name",
            kind.as_str(),
            kind.name(claim),
        ),
    }
}
