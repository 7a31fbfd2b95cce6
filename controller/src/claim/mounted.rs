//! Which claims mount directories of one workspace that lie inside one another (M-022): of two such, the
//! one that is first keeps its own. Pure, except that it is shared.
//!
//! A claim comes here once its directory is recorded in its status. Two workers may look at two claims at
//! one time, and neither may miss the other: who is first is decided under one lock, and by the index,
//! which knows a record as soon as it is written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use k8s_openapi::jiff::Timestamp;
use sandgate_shared::api::{ClaimPhase, SandboxClaim};
use sandgate_shared::mounts::{Relation, SubPath};

use super::plan;

/// A live claim with a recorded directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The claim's name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// When it was made.
    pub created: Timestamp,
    /// Its directory.
    pub path: SubPath,
    /// Whether it was bound once: then it mounts the directory, whoever else comes.
    pub bound: bool,
}

impl Neighbour {
    /// What is read of a claim; `None` of one that is over or leaving, or has no directory on record
    /// (Q57).
    pub fn of(claim: &SandboxClaim) -> Option<Self> {
        let status = claim.status.as_ref()?;
        let over = matches!(
            status.phase,
            Some(ClaimPhase::Failed | ClaimPhase::Completed)
        );
        if over || claim.metadata.deletion_timestamp.is_some() {
            return None;
        }
        let created = claim.metadata.creation_timestamp.as_ref();
        Some(Self {
            name: claim.metadata.name.clone()?,
            uid: claim.metadata.uid.clone()?,
            created: created.map_or(Timestamp::MIN, |time| time.0),
            path: status.volume_sub_path.as_deref()?.parse().ok()?,
            bound: plan::ever_bound(claim),
        })
    }

    fn is_before(&self, other: &Self) -> bool {
        (self.created, &self.name) < (other.created, &other.name)
    }
}

/// The directories that claims were told they may mount, by namespace and UID.
#[derive(Debug, Default)]
pub struct Mounted(Mutex<BTreeMap<String, BTreeSet<String>>>);

impl Mounted {
    /// Takes the directory of `claim`, unless it lies inside or around that of another claim that has its
    /// own already or comes before it; the name of that other one. `others` tells the live claims of the
    /// namespace.
    pub fn take(
        &self,
        namespace: &str,
        claim: &Neighbour,
        others: impl FnOnce() -> Vec<Neighbour>,
    ) -> Option<String> {
        let mut all = self.lock();
        let others = others();
        let taken = all.entry(namespace.to_owned()).or_default();
        let live = |uid: &String| *uid == claim.uid || others.iter().any(|other| other.uid == *uid);
        taken.retain(live);
        let mut nested = others.iter().filter(|other| {
            let relation = claim.path.relation(&other.path);
            other.uid != claim.uid && matches!(relation, Relation::Inside | Relation::Around)
        });
        let before = nested.find(|other| {
            let has_its_own = other.bound || taken.contains(&other.uid);
            has_its_own || (other.is_before(claim) && !taken.contains(&claim.uid))
        });
        if let Some(other) = before {
            return Some(other.name.clone());
        }
        taken.insert(claim.uid.clone());
        None
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, BTreeSet<String>>> {
        // No code that can panic runs under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
