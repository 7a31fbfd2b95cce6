//! Makes sure of leading before something that only one may do at a time. Does I/O.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::Leaderless;
use super::lease::{LeaderError, StoredLease};

/// Asks whether this replica still leads. A process that was stopped and goes on has not heard yet that
/// its term is over, and a machine that slept does not even know that time went by.
#[derive(Clone, Debug)]
pub struct Fence {
    lease: StoredLease,
    identity: String,
    /// When our own term is over unless it is renewed.
    deadline: Arc<Mutex<Option<Instant>>>,
    leaderless: Arc<Mutex<Option<Leaderless>>>,
}

impl Fence {
    pub(super) fn new(lease: StoredLease, identity: String) -> Self {
        Self {
            lease,
            identity,
            deadline: Arc::default(),
            leaderless: Arc::default(),
        }
    }

    /// How long this replica leads at least: nobody else does before. What is begun then has to be over by
    /// then.
    ///
    /// # Errors
    /// It does not lead any more, or that could not be found out.
    pub async fn left(&self) -> Result<Duration, LeaderError> {
        let standing = self.lease.read().await?;
        let holder = standing.and_then(|(_, record)| record.holder);
        if holder.as_ref() == Some(&self.identity) {
            self.left_by_our_clock()
        } else {
            Err(self.not_held())
        }
    }

    /// The same without asking the API server: a machine that slept may take itself for the leader still.
    ///
    /// # Errors
    /// It does not lead any more.
    pub fn left_by_our_clock(&self) -> Result<Duration, LeaderError> {
        let deadline = *self.deadline.lock().unwrap_or_else(PoisonError::into_inner);
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        left.filter(|left| !left.is_zero())
            .ok_or_else(|| self.not_held())
    }

    fn not_held(&self) -> LeaderError {
        LeaderError::NotHeld {
            name: self.lease.name.clone(),
        }
    }

    /// When nobody led before this term; `None` if that is not known, or there is no term.
    pub fn leaderless(&self) -> Option<Leaderless> {
        let known = self.leaderless.lock();
        known.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets what is known of that.
    pub(crate) fn knows(&self, leaderless: Option<Leaderless>) {
        let mut known = self
            .leaderless
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *known = leaderless;
    }

    /// Sets when the term is over; `None` while there is none.
    pub(crate) fn until(&self, deadline: Option<Instant>) {
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner) = deadline;
    }
}
