//! What this process remembers of each claim between two reconciles. Pure, except that it is shared.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sandgate_shared::api::SandboxClaim;

use super::observed::Memory;
use crate::key::Key;

/// Memories of claims, each of one UID: a claim made again under an old name starts without.
#[derive(Debug, Default)]
pub(super) struct Memories(Mutex<HashMap<Key, Remembered>>);

#[derive(Debug)]
struct Remembered {
    uid: Option<String>,
    memory: Box<Memory>,
}

impl Memories {
    /// What is remembered of a claim, and what its status says of the rest.
    pub(super) fn recall(&self, key: &Key, claim: &SandboxClaim) -> Memory {
        let remembered = self.lock();
        match remembered
            .get(key)
            .filter(|known| known.uid == claim.metadata.uid)
        {
            Some(known) => Memory::clone(&known.memory).completed_from(claim.status.as_ref()),
            None => Memory::recall(claim.status.as_ref()),
        }
    }

    /// Remembers.
    pub(super) fn keep(&self, key: &Key, claim: &SandboxClaim, memory: Memory) {
        let uid = claim.metadata.uid.clone();
        let memory = Box::new(memory);
        self.lock().insert(key.clone(), Remembered { uid, memory });
    }

    /// Forgets a claim that is gone.
    pub(super) fn forget(&self, key: &Key) {
        self.lock().remove(key);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Remembered>> {
        // No code that can panic runs under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
