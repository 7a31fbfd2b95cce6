//! Is the admission policy in force as this version renders it, and since when (P-006 to P-013, P-029,
//! P-030)? Whether claims are to be trusted follows from it. Does I/O; what it means is decided by
//! `sandgate_shared::trust`.
//!
//! ```text
//!   policy, binding ──pair──▶ Stood ────────┐
//!   dry runs as <release>-policy-probe ─────┼─▶ session ──▶ Trust ──▶ every claim that needs proof
//!   ConfigMap <release>-proof-… ────────────┘
//! ```
//!
//! Only the leader tries the policy and tells; the record of its first refusal outlives every leader.

use std::sync::Arc;

use sandgate_shared::render::Installation;
use sandgate_shared::trust::{Expected, Trust};
use tokio::sync::watch;

use crate::api_server::ApiServer;

mod pair;
mod probe;
mod prover;
mod record;
mod session;

pub use prover::Prover;

/// What the leader's [`Prover`] last told, for those who judge claims by it. Clones share it.
#[derive(Clone, Debug)]
pub struct Provenance {
    expected: Arc<Expected>,
    told: watch::Sender<Trust>,
}

impl Provenance {
    /// Of an installation: nothing is known yet.
    pub fn new(installation: &Installation) -> Self {
        Self {
            expected: Arc::new(Expected::of(installation)),
            told: watch::Sender::default(),
        }
    }

    /// What is known now.
    pub fn trust(&self) -> Trust {
        self.told.borrow().clone()
    }

    /// The same, with policy and binding read anew: a watch can be a moment behind, and what is decided
    /// about a claim is final.
    pub async fn confirmed(&self, api: &ApiServer) -> Trust {
        let known = self.trust();
        let live = pair::read(api, &self.expected).await;
        known.confirmed_by(live)
    }

    /// What has to stand.
    fn expected(&self) -> &Expected {
        &self.expected
    }

    /// Tells; whether it is news.
    fn tell(&self, trust: Trust) -> bool {
        self.told.send_if_modified(|known| {
            let news = *known != trust;
            *known = trust;
            news
        })
    }
}

#[cfg(test)]
mod tests;
