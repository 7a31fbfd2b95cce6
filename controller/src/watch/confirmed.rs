//! Which runtimes the index is known to hold as they stand. Pure.
//!
//! A watch is behind by a moment. One that broke is behind by nobody knows how much until it works again, and
//! so is one that goes on from a list which was answered from an old cache; neither says so. How many claims a
//! runtime may have is decided by what the index holds of it, and a claim that is let in stays (C-008, C-012).

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::key::Key;

/// Runtimes that were read beside their watch and were found as the index holds them. The watch tells of what
/// becomes of them from then on, until it breaks or begins with a list again.
#[derive(Debug, Default)]
pub struct Confirmed(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// How often all that was known was doubted.
    doubted: u64,
    /// Whether the watch has told anything since: until then it may be down, and what is read is so at that
    /// moment only.
    tells: bool,
    runtimes: BTreeSet<Key>,
}

/// A doubt about a runtime. What is read for it settles it unless there is another since.
#[derive(Debug)]
pub struct Doubt {
    runtime: Key,
    number: u64,
}

impl Confirmed {
    /// Whether it is in doubt how a runtime stands.
    pub fn doubt(&self, runtime: &Key) -> Option<Doubt> {
        let known = self.lock();
        (!known.runtimes.contains(runtime)).then(|| Doubt {
            runtime: runtime.clone(),
            number: known.doubted,
        })
    }

    /// Takes in that the runtime was read, and found as the index holds it.
    pub fn settle(&self, doubt: Doubt) {
        let mut known = self.lock();
        if known.tells && known.doubted == doubt.number {
            known.runtimes.insert(doubt.runtime);
        }
    }

    /// Everything is in doubt: the watch broke.
    pub(super) fn doubt_all(&self) {
        let mut known = self.lock();
        known.doubted = known.doubted.wrapping_add(1);
        known.tells = false;
        known.runtimes.clear();
    }

    /// The watch told something: it is there, and will tell what becomes of each.
    pub(crate) fn told(&self) {
        self.lock().tells = true;
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        // No code that can panic runs under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
