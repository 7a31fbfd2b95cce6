//! Whose the objects of the claim's names are (O-001). Pure.

use sandgate_shared::reason;

use crate::claim::{
    observed::{ObjectKind, Observed},
    plan::{Finding, Whose, connections::Standing, previous_remains},
};

/// Whether the live object of a kind is this claim's own.
pub(in crate::claim::plan) fn owns(observed: &Observed, kind: ObjectKind) -> bool {
    whose(observed, kind) == Some(Whose::Ours)
}

fn whose(observed: &Observed, kind: ObjectKind) -> Option<Whose> {
    let uid = observed.claim.metadata.uid.as_deref().unwrap_or_default();
    let known = observed.memory.applied.get(&kind);
    let known = known.map(|record| record.uid.as_str());
    Some(Whose::of(observed.live(kind)?, uid, known))
}

/// A foreign object of one of our names is never adopted and never touched.
pub(super) fn name_conflict(observed: &Observed) -> Option<Finding> {
    first(observed, Whose::Foreign).map(|kind| conflict(observed, kind))
}

/// What stands of an earlier claim of the name, in the way of a claim of which nothing stands yet. It holds its
/// place while it waits, as one does that waits for its storage. Where something of it stands, that is looked
/// after, and a write tells of what is in its way: a credential is taken away whatever else there is (K-031).
pub(super) fn awaits_previous(observed: &Observed) -> Option<Finding> {
    if ObjectKind::all_owned().any(|kind| owns(observed, kind)) {
        return None;
    }
    let kind = first(observed, Whose::Previous)?;
    let claim = observed.claim.metadata.name.as_deref();
    Some(previous_remains(
        kind.as_str(),
        &kind.name(claim.unwrap_or_default()),
    ))
}

/// The first object of one of our names that is whose. The names of an egress proxy are ours only where the
/// claim is to have one.
fn first(observed: &Observed, of: Whose) -> Option<ObjectKind> {
    let mut kinds = ObjectKind::OWNED
        .iter()
        .chain(ObjectKind::OF_PROXY)
        .copied();
    kinds.find(|kind| {
        whose(observed, *kind) == Some(of) && (!kind.is_of_proxy() || has_hosts(observed))
    })
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
