//! One claim: gather what stands, plan what is to be done, apply it, report it; and the baseline
//! policy of one namespace. Does I/O through its parts; `observed` and `plan` are pure.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use sandgate_shared::api::{ClaimPhase, SandboxClaim, SandboxClaimStatus};

use crate::api_server::ApiServer;
use crate::cause::Chain;
use crate::metrics::{Metrics, Reconciled};
use crate::provenance::Provenance;
use crate::queue::Next;
use crate::watch::{Key, Subject, Watches};

mod apply;
mod gather;
mod guard;
mod memories;
pub mod observed;
pub mod plan;
mod report;

use apply::{Apply, Deleted};
use gather::{Gather, GatherError};
use memories::Memories;
use plan::{Plan, Settings, StatusDecision, Verdict};
use report::{Report, ReportError, Reported};

/// How often one reconcile decides anew because the claim changed meanwhile or moved on.
const PASSES: usize = 4;

/// A claim could not be brought where it should be; it is tried again.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// What stands could not be read.
    #[error("failed to gather what stands for the claim")]
    Gather(#[source] GatherError),
    /// What was decided could not be told.
    #[error("failed to report on the claim")]
    Report(#[source] ReportError),
    /// Something is left to delete.
    #[error("failed to delete all of the claim's objects")]
    Unfinished,
    /// Somebody else writes the claim all the time.
    #[error("failed to decide: the claim changed {PASSES} times in between")]
    Unsteady,
}

/// What one pass came to.
enum Pass {
    /// Nothing more to do until something changes, or until then.
    Done(Option<Duration>),
    /// The claim moved on: decide again.
    Again,
}

/// Looks after claims and baseline policies.
#[derive(Debug)]
pub struct Reconciler {
    watches: Arc<Watches>,
    gather: Gather,
    apply: Apply,
    report: Report,
    memories: Memories,
    settings: Settings,
    metrics: Metrics,
}

impl Reconciler {
    /// A reconciler that signs Events as `instance`. It starts without any memory: what another
    /// leader did is in the claims' status.
    pub fn new(
        api: &ApiServer,
        (watches, provenance): (&Arc<Watches>, &Provenance),
        settings: Settings,
        metrics: &Metrics,
        instance: &str,
    ) -> Self {
        Self {
            watches: Arc::clone(watches),
            gather: Gather::new(api.clone(), Arc::clone(watches), provenance.clone()),
            apply: Apply::new(api.clone(), Arc::clone(watches), metrics.clone()),
            report: Report::new(api.clone(), Arc::clone(watches), instance),
            memories: Memories::default(),
            settings,
            metrics: metrics.clone(),
        }
    }

    /// Brings a subject where it should be; what becomes of it in the queue.
    pub async fn look_after(&self, subject: &Subject) -> Next {
        let next = match subject {
            Subject::Baseline(namespace) => self.guard(namespace).await,
            Subject::Claim(claim) => match self.reconcile(claim).await {
                Ok(again) => again.map_or(Next::Settled, Next::After),
                Err(error) => {
                    let error = Chain(&error);
                    tracing::warn!(%claim, %error, "a claim is tried again");
                    Next::Retry
                }
            },
        };
        self.metrics.reconciled(match next {
            Next::Retry => Reconciled::Retried,
            Next::Settled | Next::After(_) => Reconciled::Done,
        });
        next
    }

    async fn reconcile(&self, claim: &Key) -> Result<Option<Duration>, ReconcileError> {
        for _ in 0..PASSES {
            if let Pass::Done(again) = self.pass(claim).await? {
                return Ok(again);
            }
        }
        Err(ReconcileError::Unsteady)
    }

    async fn pass(&self, claim: &Key) -> Result<Pass, ReconcileError> {
        let Some(mut observed) = self.gather.known(claim) else {
            self.memories.forget(claim);
            return Ok(Pass::Done(None));
        };
        observed.memory = self.memories.recall(claim, &observed.claim);
        let now = Timestamp::now();
        let mut plan = plan::plan(&observed, &self.settings, now);
        if plan.is_final() || plan.makes_again() {
            let confirmed = Box::pin(self.gather.confirmed(observed)).await;
            let confirmed = confirmed.map_err(ReconcileError::Gather)?;
            let Some(confirmed) = confirmed else {
                return Ok(Pass::Done(None));
            };
            observed = confirmed;
            plan = plan::plan(&observed, &self.settings, now);
        }
        let applied = self.apply.ensure(&plan).await;
        observed.memory.record(&plan, &applied, now);
        self.memories
            .keep(claim, &observed.claim, observed.memory.clone());
        let decision = plan::status(&observed, &plan, &applied, &self.settings, now);
        let told = self.report.tell(&observed.claim, &decision).await;
        match told.map_err(ReconcileError::Report)? {
            Reported::Done => self.finish(&observed.claim, &plan, &decision, now).await,
            Reported::Gone => Ok(Pass::Done(None)),
            Reported::Stale => {
                let exists = self
                    .gather
                    .refreshed(claim)
                    .await
                    .map_err(ReconcileError::Gather)?;
                Ok(if exists {
                    Pass::Again
                } else {
                    Pass::Done(None)
                })
            }
        }
    }

    /// What follows once the status says what was decided.
    async fn finish(
        &self,
        claim: &SandboxClaim,
        plan: &Plan,
        decision: &StatusDecision,
        now: Timestamp,
    ) -> Result<Pass, ReconcileError> {
        let phase = |status: &SandboxClaimStatus| status.phase;
        let wrote = decision.status.as_ref().and_then(phase);
        let stood = claim.status.as_ref().and_then(phase);
        if wrote == Some(ClaimPhase::Bound) && stood != wrote && !bound_before(claim) {
            self.metrics.bound_after(age(claim, now));
        }
        if self.apply.delete(plan).await == Deleted::Unfinished {
            return Err(ReconcileError::Unfinished);
        }
        // A claim that has just failed is looked at once more: now its objects go (C-035). One that was
        // just verified gets its objects now that the record stands.
        let failed = wrote == Some(ClaimPhase::Failed) && stood != wrote;
        if failed || plan.verdict == Verdict::Verify {
            return Ok(Pass::Again);
        }
        Ok(Pass::Done(decision.requeue))
    }
}

fn bound_before(claim: &SandboxClaim) -> bool {
    let conditions = claim
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|found| found.type_ == sandgate_shared::reason::condition::BOUND)
}

fn age(claim: &SandboxClaim, now: Timestamp) -> Duration {
    let created = claim
        .metadata
        .creation_timestamp
        .as_ref()
        .map_or(now, |time| time.0);
    Duration::try_from(now.duration_since(created)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
