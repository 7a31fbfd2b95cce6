//! Takes and leaves places under the limits of runtimes. Does I/O: it asks whether this replica leads, and
//! wakes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use sandgate_shared::api::SandboxClaim;
use sandgate_shared::trust::Trust;

use super::observed::Observed;
use super::plan;
use crate::admission_queue::{Admission, Basis, Ceilings, Ledger, Seat, Standing};
use crate::key::Key;
use crate::leader::{Fence, LeaderError};
use crate::watch::{Subject, Watches};

/// The places of all runtimes, as one leader gives them.
#[derive(Debug)]
pub(super) struct Places {
    watches: Arc<Watches>,
    ledger: Ledger,
    fence: Fence,
    /// How long after policy, binding and proof a claim must have been made to be provable.
    grace: Duration,
}

impl Places {
    pub(super) fn new(watches: Arc<Watches>, fence: Fence, grace: Duration) -> Self {
        Self {
            watches,
            ledger: Ledger::default(),
            fence,
            grace,
        }
    }

    /// Whether a claim that asks for a place may have it. A place that it may have is taken until
    /// [`Self::settle`]. `None`: it is looked at again once one that is being admitted has its answer.
    pub(super) fn ask(&self, observed: &Observed) -> Option<Admission> {
        let asks = Seat::of(&observed.claim, Standing::Waiting);
        let (Some(runtime), Some(spec)) =
            (Key::of_runtime(&observed.claim), observed.runtime.found())
        else {
            return Some(Admission::Unlimited);
        };
        let basis = self.basis(&runtime, Ceilings::of(spec), &observed.trust);
        let seats = || self.seats(&runtime, &observed.trust);
        self.ledger.ask(&runtime, &asks, &basis, seats)
    }

    /// How long an admission may take to be written. Another leader does not know of it before. Our own clock is
    /// enough where nothing limits the claim: all that it could exceed is another's limit on instances.
    pub(super) async fn time_left(&self, admission: Admission) -> Result<Duration, LeaderError> {
        match admission {
            Admission::Unlimited => self.fence.left_by_our_clock(),
            Admission::Granted | Admission::Held { .. } => self.fence.left().await,
        }
    }

    /// What was granted to the claim is being written.
    pub(super) fn write(&self, claim: &SandboxClaim) {
        if let Some(runtime) = Key::of_runtime(claim) {
            self.ledger.write(&runtime, uid(claim));
        }
    }

    /// Whether it is unknown what became of the claim's admission: its write had no answer. The claim is to be read
    /// anew, which tells, as the API server ends a request whose client has hung up.
    pub(super) fn is_unsure(&self, claim: &SandboxClaim) -> bool {
        let runtime = Key::of_runtime(claim);
        runtime.is_some_and(|runtime| self.ledger.is_unsure(&runtime, uid(claim)))
    }

    /// A look at the claim failed. What was granted to it is free again if nothing of it was written: its next
    /// look may be a minute away, and the limits others by then.
    pub(super) fn give_up(&self, claim: &SandboxClaim) {
        if let Some(runtime) = Key::of_runtime(claim) {
            self.look_at(self.ledger.give_up(&runtime, uid(claim)));
        }
    }

    /// The fate of what was granted to the claim is known: its status was written, or somebody else wrote it,
    /// or it is gone.
    pub(super) fn settle(&self, claim: &SandboxClaim) {
        if let Some(runtime) = Key::of_runtime(claim) {
            self.look_at(self.ledger.settle(&runtime, uid(claim)));
        }
    }

    /// The claim is gone, and with it whatever was promised to it.
    pub(super) fn gone(&self, claim: &Key) {
        self.look_at(self.ledger.gone(claim));
    }

    fn look_at(&self, claims: BTreeSet<Key>) {
        let claims = claims.into_iter().map(Subject::Claim);
        self.watches.queue.push_all(claims);
    }

    /// Has those claims of a runtime looked at whose turn it is now: as many as there are places (C-014).
    /// Where the runtime has no sandboxes any more, those are all (C-002).
    pub(super) fn wake(&self, runtime: &Key, trust: &Trust) {
        let spec = self.watches.index.runtime(runtime);
        let enabled = spec
            .as_ref()
            .and_then(|spec| spec.sandbox.as_ref()?.enabled)
            == Some(true);
        let ceilings = spec
            .filter(|_| enabled)
            .as_ref()
            .map_or_else(Ceilings::default, Ceilings::of);
        let basis = self.basis(runtime, ceilings, trust);
        let seats = || self.seats(runtime, trust);
        let next = self.ledger.next(runtime, &basis, seats);
        self.look_at(next.into_iter().collect());
    }

    fn basis(&self, runtime: &Key, ceilings: Ceilings, trust: &Trust) -> Basis {
        Basis {
            revision: self.watches.index.revision_of(runtime),
            ceilings,
            trust: trust.clone(),
        }
    }

    fn seats(&self, runtime: &Key, trust: &Trust) -> Vec<Seat> {
        let asks = |claim: &SandboxClaim| plan::asks_for_place(claim, trust, self.grace);
        self.watches.index.seats(runtime, asks)
    }
}

fn uid(claim: &SandboxClaim) -> &str {
    claim.metadata.uid.as_deref().unwrap_or_default()
}
