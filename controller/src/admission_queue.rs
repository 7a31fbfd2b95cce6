//! Which of a runtime's claims may have a sandbox, and whose turn is next (C-008 to C-016). Pure, but for
//! the lock around what this process has promised.
//!
//! A claim that was admitted keeps its place until it is over. Of those that wait, the oldest that none of
//! its limits holds back is next: nobody overtakes on the limit that he waits for, and whoever waits for
//! his session alone holds up no other session.
//!
//! ```text
//!   claims of a runtime ──Seat──▶ decide ──Admission──▶ Ledger: promised until the cache shows it
//! ```

use k8s_openapi::jiff::Timestamp;
use sandgate_shared::api::SandboxClaim;
use sandgate_shared::api::outside::{AgentRuntimeSpec, Ceiling};
use sandgate_shared::reason;

use crate::key::Key;

mod ledger;
mod order;

pub use ledger::{Basis, Ledger};
pub use order::decide;

/// What holds a claim back. In this order the first that does is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// The claim's own `maxInstances` (C-010).
    Instance,
    /// The runtime's `spec.sandbox.maxPerSession` (C-009).
    Session,
    /// The runtime's `spec.sandbox.maxConcurrent` (C-008).
    Runtime,
}

impl Limit {
    /// Every limit.
    pub const ALL: [Self; 3] = [Self::Instance, Self::Session, Self::Runtime];

    /// What the condition `Ready` of a claim that waits for it says.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Instance => reason::INSTANCE_LIMIT_REACHED,
            Self::Session => reason::SESSION_LIMIT_REACHED,
            Self::Runtime => reason::CEILING_REACHED,
        }
    }
}

/// The limits of a runtime; unset means none (Q28).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ceilings {
    /// Most admitted claims of the runtime.
    pub concurrent: Ceiling,
    /// Most admitted claims of each of its sessions.
    pub per_session: Ceiling,
}

impl Ceilings {
    /// The limits as the runtime says them.
    pub fn of(runtime: &AgentRuntimeSpec) -> Self {
        let sandbox = runtime.sandbox.as_ref();
        sandbox.map_or_else(Self::default, |sandbox| Self {
            concurrent: sandbox.max_concurrent,
            per_session: sandbox.max_per_session,
        })
    }
}

/// A claim of a runtime that is not over, as far as its limits are concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Which claim.
    pub key: Key,
    /// Its UID.
    pub uid: String,
    /// When it was made, to the second; ties are broken by its name (Q29).
    pub created: Timestamp,
    /// The session it serves.
    pub session: String,
    /// First segment of its handle. One without a handle counts for no other's instances (Q8).
    pub sandbox: Option<String>,
    /// How many the session may have of that sandbox; absent means any number (C-013).
    pub max_instances: Option<u32>,
    /// Whether it has its place.
    pub standing: Standing,
}

/// How a claim stands to its runtime's limits. One that is `Failed`, `Completed` or being deleted has no
/// seat at all (Q57).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It has a place.
    Admitted,
    /// It asks for one.
    Waiting,
    /// It neither has one nor asks yet: who wrote it is still being found out, say. It holds nobody up.
    Aside,
}

impl Seat {
    /// The seat of a claim.
    pub fn of(claim: &SandboxClaim, standing: Standing) -> Self {
        let spec = &claim.spec;
        let handle = spec.handle.as_deref();
        let sandbox = handle.and_then(|handle| handle.split('/').next());
        let created = claim.metadata.creation_timestamp.as_ref();
        Self {
            key: Key::of(&claim.metadata),
            uid: claim.metadata.uid.clone().unwrap_or_default(),
            // The API server has given one to every claim that it stores.
            created: created.map_or(Timestamp::MIN, |created| created.0),
            session: spec.session_id.clone(),
            sandbox: sandbox.map(str::to_owned),
            max_instances: spec.max_instances.map(|most| most.max(0).unsigned_abs()),
            standing,
        }
    }

    /// Whether it and this other one are instances of the same sandbox in the same session (C-010).
    pub fn is_instance_beside(&self, other: &Self) -> bool {
        self.sandbox.is_some() && self.sandbox == other.sandbox && self.session == other.session
    }

    /// Whether anything limits it.
    pub fn is_limited(&self, ceilings: &Ceilings) -> bool {
        let own = self.sandbox.is_some() && self.max_instances.is_some();
        own || *ceilings != Ceilings::default()
    }
}

/// Whether a claim may have a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Admission {
    /// Nothing limits it.
    #[default]
    Unlimited,
    /// It is its turn.
    Granted,
    /// It waits.
    Held {
        /// For what.
        limit: Limit,
        /// How many may be admitted; `None` if that cannot be read, and then nobody is.
        of: Option<u32>,
    },
}

#[cfg(test)]
mod tests;
