//! What stands in the cluster, reduced to what decisions read. Pure: objects in, what they concern
//! out; and one [`Observed`] for each claim, one [`Guarded`] for each namespace.
//!
//! A claim is concerned only by what could change its decision: a status that changes nothing we
//! read, or the echo of our own write, wakes nobody.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kube::core::DynamicObject;
use sandgate_shared::api::outside::WorkspaceSpec;
use serde::de::DeserializeOwned;

use super::{Key, Source, Subject};
use crate::claim::mounted::Neighbour;
use crate::claim::observed::{Guarded, LiveObject, ObjectKind, Observed};

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

    /// Takes in a claim as a status write of our own returned it.
    pub fn wrote_claim(&self, object: DynamicObject) -> Result<(), NotKnown> {
        let key = Key::of(&object.metadata);
        let version = version(&object);
        let claim = read(&key, object)?;
        self.lock().wrote_claim(key, version, claim);
        Ok(())
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

    /// Claims that wait for proof that the operator wrote them.
    pub fn awaiting_proof(&self) -> BTreeSet<Key> {
        self.lock().awaiting_proof()
    }

    /// How many claims there are.
    pub fn claim_count(&self) -> usize {
        self.lock().claim_count()
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
    object
        .metadata
        .resource_version
        .as_deref()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
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
