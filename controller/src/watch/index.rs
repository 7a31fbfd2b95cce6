//! What stands in the cluster, reduced to what decisions read. Pure: objects in, what they concern
//! out; and one [`Observed`] for each claim, one [`Guarded`] for each namespace.
//!
//! A claim is concerned only by what could change its decision: a status that changes nothing we
//! read, or the echo of our own write, wakes nobody.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kube::core::DynamicObject;
use sandgate_shared::api::SandboxClaim;
use sandgate_shared::api::outside::{AgentRuntimeSpec, WorkspaceSpec};
use serde::de::DeserializeOwned;

use super::{Source, Subject};
use crate::admission_queue::{Limit, Seat};
use crate::claim::mounted::Neighbour;
use crate::claim::observed::{AllowedTarget, Guarded, LiveObject, ObjectKind, Observed};
use crate::key::Key;

mod concern;
mod state;

use state::State;

/// An object that could not be taken in.
#[derive(Debug, thiserror::Error)]
pub enum NotKnown {
    /// It is not what its kind should be.
    #[error("failed to read {key}")]
    Unreadable {
        /// Which object.
        key: Key,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// It carries no UID, which the API server always sets.
    #[error("{0} carries no uid")]
    NoUid(Key),
}

/// Everything watched. Shared between the watches, which write, and gather, which reads.
#[derive(Debug, Default)]
pub struct Index(Mutex<State>);

impl Index {
    /// Takes in an object that a watch delivered; what it concerns.
    ///
    /// # Errors
    /// The object could not be read. What was known under its name is forgotten, as it is no longer
    /// true.
    pub fn observe(
        &self,
        source: Source,
        object: DynamicObject,
    ) -> Result<BTreeSet<Subject>, NotKnown> {
        let key = Key::of(&object.metadata);
        let version = version(&object);
        let observed = self.lock().observe(source, &key, version, object);
        if observed.is_err() {
            self.lock().remove(source, &key, version);
        }
        observed
    }

    /// A watch says that an object is gone; what that concerns.
    pub fn forget(&self, source: Source, object: &DynamicObject) -> BTreeSet<Subject> {
        self.lock()
            .remove(source, &Key::of(&object.metadata), version(object))
    }

    /// A watch begins to list its objects anew.
    pub fn begin_listing(&self, source: Source) {
        self.lock().begin_listing(source);
    }

    /// The listing is whole; what is concerned by all that it no longer shows.
    pub fn end_listing(&self, source: Source) -> BTreeSet<Subject> {
        self.lock().end_listing(source)
    }

    /// Takes in what a write of our own returned, so that the next decision knows it at once.
    pub fn wrote(&self, kind: ObjectKind, object: &DynamicObject) {
        let key = Key::of(&object.metadata);
        let Some(live) = live(object) else { return };
        self.lock().wrote_object(kind, key, version(object), live);
    }

    /// Takes in a claim as a status write of our own returned it; whom that concerns but the claim itself.
    ///
    /// # Errors
    /// It could not be read. The watch will say so, too.
    pub fn wrote_claim(&self, object: DynamicObject) -> Result<BTreeSet<Subject>, NotKnown> {
        let key = Key::of(&object.metadata);
        let version = version(&object);
        let claim = read(&key, object)?;
        Ok(self.lock().wrote_claim(&key, version, claim))
    }

    /// Takes in a claim that was read beside the watch, which may be behind. It concerns nobody: this is
    /// for those who have not begun yet, and will look at all of them.
    ///
    /// # Errors
    /// It could not be read. The watch will say so, too.
    pub fn read_claim(&self, object: DynamicObject) -> Result<(), NotKnown> {
        let key = Key::of(&object.metadata);
        let version = version(&object);
        let claim = read(&key, object)?;
        self.lock().read_claim(&key, version, claim);
        Ok(())
    }

    /// Whether a claim that stood at resourceVersion `at` is not known as it was then, or became since.
    pub fn lacks_claim(&self, claim: &Key, at: &str) -> bool {
        self.lock().lacks_claim(claim, number(at))
    }

    /// Takes out the claims that did not stand any more at resourceVersion `at`, when `all` stood.
    pub fn only_claims(&self, all: &BTreeSet<Key>, at: &str) {
        self.lock().only_claims(all, number(at));
    }

    /// What is known of a runtime.
    pub fn runtime(&self, runtime: &Key) -> Option<AgentRuntimeSpec> {
        self.lock().runtime(runtime)
    }

    /// Whether a runtime that was read beside the watch is known as it `stands`, or as it became since.
    pub fn holds_runtime(&self, runtime: &Key, stands: Option<&DynamicObject>) -> bool {
        let known = self.lock().version_of(runtime);
        match stands {
            // One that is known may stand again since; the watch will tell.
            None => known.is_none(),
            Some(stands) => known >= Some(version(stands)),
        }
    }

    /// The seats of a runtime's claims. `asks`: whether a claim without a place asks for one.
    pub fn seats(&self, runtime: &Key, asks: impl Fn(&SandboxClaim) -> bool) -> Vec<Seat> {
        self.lock().seats(runtime, asks)
    }

    /// A number that changes with the runtime's seats.
    pub fn revision_of(&self, runtime: &Key) -> u64 {
        self.lock().revision_of(runtime)
    }

    /// How many claims wait for a limit.
    pub fn held_back_by(&self, limit: Limit) -> usize {
        self.lock().held_back_by(limit)
    }

    /// Everything that stands for a claim, trust and memory left empty. `None` if there is no such claim.
    pub fn observed(&self, claim: &Key) -> Option<Observed> {
        self.lock().observed(claim)
    }

    /// The baseline policy of a namespace, if anything in it needs one: a claim, or a sandbox's pod,
    /// which its claim may leave behind.
    pub fn guarded(&self, namespace: &str) -> Option<Guarded> {
        self.lock().guarded(namespace)
    }

    /// All that somebody who begins has to look at.
    pub fn subjects(&self) -> BTreeSet<Subject> {
        self.lock().subjects()
    }

    /// What is known of a Service that a claim is let through to.
    pub fn target(&self, service: &Key) -> Option<AllowedTarget> {
        self.lock().target(service)
    }

    /// The claims of a namespace.
    pub fn claims_in(&self, namespace: &str) -> BTreeSet<Key> {
        self.lock().claims_in(namespace)
    }

    /// The workspaces that name a namespace, by their names.
    pub fn workspaces_of(&self, namespace: &str) -> Vec<(String, WorkspaceSpec)> {
        self.lock().workspaces_of(namespace)
    }

    /// Whether a PersistentVolumeClaim stands and is not being deleted.
    pub fn has_content_claim(&self, claim: &Key) -> bool {
        self.lock().has_content_claim(claim)
    }

    /// The live claims of a namespace that have a directory on record.
    pub fn neighbours(&self, namespace: &str) -> Vec<Neighbour> {
        self.lock().neighbours(namespace)
    }

    /// Claims of which it is not recorded who wrote them, and may be once more is known of the policy.
    pub fn lacking_record(&self) -> BTreeSet<Key> {
        self.lock().lacking_record()
    }

    /// How many claims there are.
    pub fn claim_count(&self) -> usize {
        self.lock().claim_count()
    }

    #[cfg(test)]
    fn opening_count(&self) -> usize {
        self.lock().opening_count()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under the lock, so a poisoned one holds a whole state.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is kept of an object we built.
fn live(object: &DynamicObject) -> Option<LiveObject> {
    serde_json::to_value(object)
        .ok()
        .as_ref()
        .and_then(LiveObject::read)
}

/// The resourceVersion as the growing number that it is; 0 where it is something else, which makes
/// whatever came last the newest.
fn version(object: &DynamicObject) -> u64 {
    let version = object.metadata.resource_version.as_deref();
    number(version.unwrap_or_default())
}

fn number(version: &str) -> u64 {
    version.parse().unwrap_or(0)
}

/// Reads a typed object, without the record of who manages which field.
fn read<K: DeserializeOwned>(key: &Key, mut object: DynamicObject) -> Result<K, NotKnown> {
    object.metadata.managed_fields = None;
    serde_json::to_value(object)
        .and_then(serde_json::from_value)
        .map_err(|source| NotKnown::Unreadable {
            key: key.clone(),
            source,
        })
}

#[cfg(test)]
mod tests;
