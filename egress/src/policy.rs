//! The allowlist in force, which a reload replaces as a whole. In memory.

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::allowlist::Allowlist;

/// One allowlist with its number.
#[derive(Debug, Default)]
pub struct Policy {
    /// Counts the lists there were, from 1.
    pub generation: u64,
    /// The list.
    pub allowlist: Allowlist,
}

/// The policy in force. Read by every request without a lock.
#[derive(Debug)]
pub struct Policies(ArcSwap<Policy>);

impl Policies {
    /// Begins with `allowlist`, as generation 1.
    pub fn new(allowlist: Allowlist) -> Self {
        let generation = 1;
        Self(ArcSwap::from_pointee(Policy {
            generation,
            allowlist,
        }))
    }

    /// The one in force.
    pub fn current(&self) -> Arc<Policy> {
        self.0.load_full()
    }

    /// Puts `allowlist` in force; its generation. Called by one task alone.
    pub fn replace(&self, allowlist: Allowlist) -> u64 {
        let generation = self.0.load().generation + 1;
        self.0.store(Arc::new(Policy {
            generation,
            allowlist,
        }));
        generation
    }
}
