//! One claim: gather what stands, plan what is to be done, apply it, report it; and the baseline
//! policy of one namespace. Does I/O through its parts; `observed` and `plan` are pure.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinError;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::api_server::ApiServer;
use crate::cause::Chain;
use crate::key::Key;
use crate::leader::{Fence, LeaderError};
use crate::metrics::{Metrics, Reconciled};
use crate::provenance::Provenance;
use crate::queue::Next;
use crate::watch::{Subject, Watches};

mod apply;
mod clock;
mod digest;
mod finding;
pub mod gather;
mod guard;
mod memories;
pub mod mounted;
pub mod observed;
mod pass;
mod places;
pub mod plan;
mod refusal;
mod report;

use apply::Apply;
use gather::{ContentRoot, Gather, GatherError, Volumes};
use memories::Memories;
use pass::Pass;
use places::Places;
use plan::Settings;
use report::{Report, ReportError};

/// How often one reconcile decides anew because the claim changed meanwhile or moved on.
const PASSES: usize = 4;

/// A claim could not be brought where it should be; it is tried again.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// What stands could not be read.
    #[error("failed to gather what stands for the claim")]
    Gather(#[source] GatherError),
    /// Somebody else may lead by now, who does not know whom we admit.
    #[error("failed to make sure of leading before the claim is admitted")]
    Lead(#[source] LeaderError),
    /// What was decided could not be told.
    #[error("failed to report on the claim")]
    Report(#[source] ReportError),
    /// The task that records an admission died.
    #[error("failed to record that the claim is admitted")]
    Stopped(#[source] JoinError),
    /// Something is left to delete.
    #[error("failed to delete all of the claim's objects")]
    Unfinished,
    /// Somebody else writes the claim all the time.
    #[error("failed to decide: the claim changed {PASSES} times in between")]
    Unsteady,
}

/// Looks after claims, baseline policies and places.
#[derive(Debug)]
pub struct Reconciler {
    watches: Arc<Watches>,
    gather: Gather,
    apply: Apply,
    report: Report,
    memories: Memories,
    places: Places,
    fence: Fence,
    under_way: TaskTracker,
    /// Keeps `under_way` from ending.
    _working: TaskTrackerToken,
    settings: Settings,
    metrics: Metrics,
}

impl Reconciler {
    /// A reconciler that signs Events as `instance`. `under_way` has ended once the reconciler is dropped and each
    /// admission it began has an answer: until then, nobody else may lead. It starts without any memory: what
    /// another leader did is in the claims' status.
    pub fn new(
        api: &ApiServer,
        (watches, provenance): (&Arc<Watches>, &Provenance),
        (fence, under_way): (&Fence, &TaskTracker),
        (settings, content): (Settings, Option<ContentRoot>),
        metrics: &Metrics,
        instance: &str,
    ) -> Self {
        Self {
            watches: Arc::clone(watches),
            gather: Gather::new(
                api.clone(),
                Arc::clone(watches),
                provenance.clone(),
                Volumes::new(settings.content.claim_name.clone(), content),
            ),
            apply: Apply::new(api.clone(), Arc::clone(watches), metrics.clone()),
            report: Report::new(api.clone(), Arc::clone(watches), instance),
            memories: Memories::default(),
            places: Places::new(
                Arc::clone(watches),
                fence.clone(),
                settings.claim_policy_grace,
            ),
            fence: fence.clone(),
            under_way: under_way.clone(),
            _working: under_way.token(),
            settings,
            metrics: metrics.clone(),
        }
    }

    /// Brings a subject where it should be; what becomes of it in the queue.
    pub async fn look_after(&self, subject: &Subject) -> Next {
        let next = match subject {
            Subject::Baseline(namespace) => self.guard(namespace).await,
            Subject::Places(runtime) => {
                self.places.wake(runtime, &self.gather.trust());
                Next::Settled
            }
            Subject::Claim(claim) => {
                let taken_up = Instant::now();
                let reconciled = self.reconcile(claim).await;
                self.metrics.reconciled_within(taken_up.elapsed());
                match reconciled {
                    Ok(again) => again.map_or(Next::Settled, Next::After),
                    Err(error) => {
                        let error = Chain(&error);
                        tracing::warn!(%claim, %error, "a claim is tried again");
                        Next::Retry
                    }
                }
            }
        };
        self.metrics.reconciled(match next {
            Next::Retry => Reconciled::Retried,
            Next::Settled | Next::After(_) => Reconciled::Done,
        });
        next
    }

    /// Reads all claims as they stand, once at the beginning: the watch may be behind what the leader before
    /// admitted last.
    ///
    /// # Errors
    /// They could not be read.
    pub async fn catch_up(&self) -> Result<(), ReconcileError> {
        let caught_up = self.gather.all_claims().await;
        caught_up.map_err(ReconcileError::Gather)
    }

    async fn reconcile(&self, claim: &Key) -> Result<Option<Duration>, ReconcileError> {
        for _ in 0..PASSES {
            match self.pass(claim).await {
                Ok(Pass::Done(again)) => return Ok(again),
                Ok(Pass::Again) => {}
                Err(error) => {
                    if let Some(known) = self.watches.index.observed(claim) {
                        self.places.give_up(&known.claim);
                    }
                    return Err(error);
                }
            }
        }
        Err(ReconcileError::Unsteady)
    }
}

#[cfg(test)]
mod tests;
