//! One pass over a claim: decide, apply, tell, and see what follows. Does I/O through the parts of
//! the [`Reconciler`].

use std::time::{Duration, Instant};

use k8s_openapi::jiff::Timestamp;
use sandgate_shared::api::outside::AgentRuntimeSpec;
use sandgate_shared::api::{ClaimPhase, SandboxClaim, SandboxClaimStatus};

use super::apply::Deleted;
use super::gather::Haste;
use super::observed::{Lookup, ObjectKind, Observed, Revocation};
use super::plan::{self, Applied, FilesOutcome, Outcome, Plan, StatusDecision, Urgent, Verdict};
use super::report::{ReportError, Reported};
use super::{ReconcileError, Reconciler};
use crate::admission_queue::Admission;
use crate::api_server::ANSWER_WITHIN;
use crate::key::Key;

/// The claim is looked at again once what it comes after has its answer, and if nobody tells, as often as one
/// that waits its turn.
const COMES_AFTER: Pass = Pass::Done(Some(plan::QUEUE_CHECK));

/// What one pass came to.
pub(super) enum Pass {
    /// Nothing more to do until something changes, or until then.
    Done(Option<Duration>),
    /// The claim moved on: decide again.
    Again,
}

impl Reconciler {
    pub(super) async fn pass(&self, claim: &Key) -> Result<Pass, ReconcileError> {
        let Some(mut observed) = self.gather.known(claim) else {
            self.memories.forget(claim);
            self.places.gone(claim);
            return Ok(Pass::Done(None));
        };
        if self.places.is_unsure(&observed.claim) {
            return self.read_anew(&observed.claim).await;
        }
        observed.memory = self.memories.recall(claim, &observed.claim);
        let fixtures = self.gather.fixtures(plan::fixture_services(&self.settings));
        observed.services.extend(fixtures);
        let heard = self.gather.heard();
        // Nobody is taken away by our own clock.
        observed.leaderless = heard.and_then(|_| self.fence.leaderless());
        let now = heard.unwrap_or_else(Timestamp::now);
        let looked = Instant::now();
        // Who runs is looked at again in any case.
        let haste = if plan::ever_bound(&observed.claim) {
            Haste::IfFree
        } else {
            Haste::Needed
        };
        let Some(mut plan) = self.decide(&mut observed, haste, now).await? else {
            return Ok(COMES_AFTER);
        };
        if is_admitted(&plan)
            && let Some(runtime) = self.doubted_runtime(&observed).await?
        {
            self.places.give_up(&observed.claim);
            observed.runtime = runtime;
            observed.admission = Admission::default();
            let decided = self.decide(&mut observed, Haste::Needed, now).await?;
            let Some(decided) = decided else {
                return Ok(COMES_AFTER);
            };
            plan = decided;
        }
        if plan.is_final() || plan.makes_again() {
            let confirmed = Box::pin(self.gather.confirmed(observed)).await;
            let confirmed = confirmed.map_err(ReconcileError::Gather)?;
            let Some(confirmed) = confirmed else {
                self.places.gone(claim);
                return Ok(Pass::Done(None));
            };
            observed = confirmed;
            let decided = self.decide(&mut observed, Haste::Needed, now).await?;
            let Some(decided) = decided else {
                return Ok(COMES_AFTER);
            };
            plan = decided;
        }
        let mut limit = ANSWER_WITHIN;
        if lets_in(&observed, &plan) {
            let left = self.places.time_left(observed.admission).await;
            limit = limit.min(left.map_err(ReconcileError::Lead)?);
            tracing::debug!(%claim, admission = ?observed.admission, "a claim is let in");
        }
        let applied = self.apply.ensure(&plan).await;
        observed.memory.record(&plan, &applied, now);
        self.time_revocation(&mut observed, &plan, looked);
        self.memories
            .keep(claim, &observed.claim, observed.memory.clone());
        let decision = plan::status(&observed, &plan, &applied, &self.settings, now);
        let told = self.tell(&observed, &plan, &decision, limit).await?;
        if told.as_ref().is_err_and(ReportError::is_no) {
            self.places.settle(&observed.claim);
        }
        match told.map_err(ReconcileError::Report)? {
            Reported::Done => {
                let claim = &observed.claim;
                if decision.status.is_some() || !is_admitted(&plan) {
                    self.places.settle(claim);
                }
                let again = self.finish(claim, &plan, &decision, now).await?;
                let again = if gave_address(&applied) {
                    Pass::Again
                } else {
                    again
                };
                match applied.files {
                    Some(FilesOutcome::Refused(_)) => Err(ReconcileError::Unfinished),
                    Some(FilesOutcome::Done | FilesOutcome::LeftOver | FilesOutcome::Conflict)
                    | None => Ok(again),
                }
            }
            Reported::Gone => {
                self.places.settle(&observed.claim);
                Ok(Pass::Done(None))
            }
            Reported::Stale => self.read_anew(&observed.claim).await,
        }
    }

    /// Reads the claim into the index. What became of its admission is known then: who was not admitted asks again,
    /// and the limits may be others by now.
    async fn read_anew(&self, claim: &SandboxClaim) -> Result<Pass, ReconcileError> {
        let exists = self.gather.refreshed(&Key::of(&claim.metadata)).await;
        let exists = exists.map_err(ReconcileError::Gather)?;
        self.places.settle(claim);
        Ok(if exists {
            Pass::Again
        } else {
            Pass::Done(None)
        })
    }

    /// What is to be done for the claim; `None` if another's admission has to be answered first. Its directory is
    /// looked at, and made where it is to be. Only one that has its place, or gets it, has its Connections looked
    /// at, if the decision hangs on them.
    async fn decide(
        &self,
        observed: &mut Observed,
        haste: Haste,
        now: Timestamp,
    ) -> Result<Option<Plan>, ReconcileError> {
        // One that waits for its turn mounts nothing, however long the line is.
        if plan::holds_place(observed) {
            observed.directory = self.gather.directory(observed, haste).await;
        }
        let mut plan = plan::plan(observed, &self.settings, now);
        let looks = plan.verdict == Verdict::Look;
        if (looks || is_admitted(&plan)) && !plan::holds_place(observed) {
            let Some(admission) = self.places.ask(observed) else {
                return Ok(None);
            };
            observed.admission = admission;
            if matches!(admission, Admission::Held { .. }) {
                return Ok(Some(plan::plan(observed, &self.settings, now)));
            }
        }
        if looks {
            let bindings = self.gather.bindings(&observed.claim).await;
            observed.bindings = Some(bindings.map_err(ReconcileError::Gather)?);
            plan = plan::plan(observed, &self.settings, now);
        }
        if plan.makes_directory {
            observed.directory = self.gather.made_directory(observed).await;
            plan = plan::plan(observed, &self.settings, now);
        }
        Ok(Some(plan))
    }

    /// The claim's runtime where it is another than the index still shows.
    async fn doubted_runtime(
        &self,
        observed: &Observed,
    ) -> Result<Option<Lookup<AgentRuntimeSpec>>, ReconcileError> {
        let read = self.gather.doubted_runtime(&observed.claim).await;
        let read = read.map_err(ReconcileError::Gather)?;
        Ok(read.filter(|runtime| *runtime != observed.runtime))
    }

    /// Tells what was decided. The record of an admission is written even if the worker is cut off meanwhile: nobody
    /// else may lead before it is known what became of it.
    async fn tell(
        &self,
        observed: &Observed,
        plan: &Plan,
        decision: &StatusDecision,
        limit: Duration,
    ) -> Result<Result<Reported, ReportError>, ReconcileError> {
        let claim = &observed.claim;
        if !lets_in(observed, plan) {
            return Ok(self.report.tell(claim, decision, limit).await);
        }
        self.places.write(claim);
        let (report, claim, decided) = (self.report.clone(), claim.clone(), decision.clone());
        let writing = async move { report.write(&claim, &decided, limit).await };
        let writing = tokio::spawn(self.under_way.track_future(writing));
        let written = writing.await.map_err(ReconcileError::Stopped)?;
        if let Ok(Reported::Done) = written {
            self.report.announce(&observed.claim, decision).await;
        }
        Ok(written)
    }

    /// Notes how long a credential that is gone stayed in pods (K-031). This process' clock is good enough:
    /// nothing is decided by it.
    fn time_revocation(&self, observed: &mut Observed, plan: &Plan, looked: Instant) {
        let before = observed.memory.revocation.take();
        observed.memory.revocation = if plan.urgent == Urgent::Revoke {
            Revocation::begun(before, &observed.pods, looked)
        } else {
            before.filter(|revocation| {
                let took = revocation.took(&observed.pods, looked);
                took.inspect(|took| self.metrics.revoked_after(*took))
                    .is_none()
            })
        };
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
        if wrote == Some(ClaimPhase::Bound) && stood != wrote && !plan::ever_bound(claim) {
            self.metrics.bound_after(age(claim, now));
        }
        if is_admitted(plan) && stood == Some(ClaimPhase::Queued) {
            self.metrics.admitted_after(age(claim, now));
        }
        let key = Key::of(&claim.metadata);
        if self.apply.delete(&key, plan).await == Deleted::Unfinished {
            return Err(ReconcileError::Unfinished);
        }
        // A claim that has just failed is looked at once more: now its objects go (C-035). One that was
        // just admitted gets its objects now that the record stands.
        let failed = wrote == Some(ClaimPhase::Failed) && stood != wrote;
        if failed || is_admitted(plan) {
            return Ok(Pass::Again);
        }
        Ok(Pass::Done(decision.requeue))
    }
}

/// Whether the egress proxy's Service has its cluster IP only now: what is told of it follows.
fn gave_address(applied: &Applied) -> bool {
    let mut outcomes = applied.outcomes.iter();
    outcomes.any(|(kind, outcome)| {
        *kind == ObjectKind::EgressService && matches!(outcome, Outcome::Created(_))
    })
}

fn is_admitted(plan: &Plan) -> bool {
    matches!(plan.verdict, Verdict::Admit(_))
}

/// Whether a claim without a place gets one: nobody else may count on it from then on.
fn lets_in(observed: &Observed, plan: &Plan) -> bool {
    is_admitted(plan) && !plan::holds_place(observed)
}

fn age(claim: &SandboxClaim, now: Timestamp) -> Duration {
    let created = claim
        .metadata
        .creation_timestamp
        .as_ref()
        .map_or(now, |time| time.0);
    Duration::try_from(now.duration_since(created)).unwrap_or_default()
}
