//! Carries out a plan: the only writer of objects. Does I/O; every judgement is the plan's.
//!
//! Each write is safe to be cut off before or after it, and to be made by two controllers at once:
//! POST makes an object once, PUT and DELETE carry the uid and resourceVersion they were decided on.

mod content_claim;
mod dry_runs;
mod files;
mod objects;
mod poke;

use std::sync::Arc;

use super::observed::ObjectKind;
use super::plan::{Applied, ContentOutcome, FilesOutcome, Intent, Outcome, Plan, Urgent};
use crate::api_server::{ApiServer, CallError, Place};
use crate::cause::Chain;
use crate::key::Key;
use crate::kind::Kind;
use crate::metrics::Metrics;
use crate::watch::Watches;

use dry_runs::DryRuns;
use objects::name;

/// The grace, in seconds, of a proxy's pod that is to go at once. None at all would take the pod out of the
/// API before its node knows, which then gives it the grace of its spec.
const CUT_WITHIN: u32 = 1;

/// Writes objects.
#[derive(Clone, Debug)]
pub struct Apply {
    api: ApiServer,
    watches: Arc<Watches>,
    metrics: Metrics,
    dry_runs: DryRuns,
}

/// What a plan's deletions came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// All that was to go is going.
    All,
    /// Something changed in between, or the API server did not oblige: look again.
    Unfinished,
}

impl Deleted {
    fn and(self, place: Place<'_>, answer: Result<(), CallError>) -> Self {
        let Err(error) = answer else { return self };
        tracing::info!(
            kind = place.kind.as_str(),
            name = place.name,
            error = %Chain(&error),
            "an object could not be deleted yet"
        );
        Self::Unfinished
    }
}

impl Apply {
    /// A writer; what it wrote is known to `watches` at once.
    pub fn new(api: ApiServer, watches: Arc<Watches>, metrics: Metrics) -> Self {
        Self {
            api,
            watches,
            metrics,
            dry_runs: DryRuns::default(),
        }
    }

    /// Writes what the plan says: in its order, up to the first refusal or name that is taken, or what takes a
    /// credential away first, whatever is refused.
    pub async fn ensure(&self, plan: &Plan) -> Applied {
        let applied = match plan.urgent {
            Urgent::No => self.in_order(plan).await,
            Urgent::Revoke => self.revoke(plan).await,
        };
        self.poke(plan, &applied).await;
        applied
    }

    async fn in_order(&self, plan: &Plan) -> Applied {
        let mut applied = Applied {
            content: self.content_claim(plan).await,
            files: self.files(plan).await,
            ..Applied::default()
        };
        let placed = matches!(applied.files, None | Some(FilesOutcome::Done));
        let mut stopped: Vec<ObjectKind> = Vec::new();
        for intent in &plan.ensure {
            let kind = intent.kind;
            if stopped.iter().any(|refused| kind.comes_behind(*refused)) {
                continue;
            }
            if kind == ObjectKind::Deployment && !placed {
                // Its pod would wait for the files that it is to have.
                continue;
            }
            let outcome = self.carry_out(intent).await;
            if outcome.stops() {
                stopped.push(kind);
            }
            self.note(intent, &outcome);
            applied.outcomes.push((kind, outcome));
        }
        applied
    }

    /// The baseline shuts the pod that comes, so it is still the first; then the Deployment and what its
    /// proxy lets through, then the files, which the old pod may have mounted as long as it runs.
    async fn revoke(&self, plan: &Plan) -> Applied {
        let mut intents: Vec<_> = plan.ensure.iter().collect();
        let rank = |kind: ObjectKind| match kind {
            ObjectKind::Baseline => 0,
            ObjectKind::Deployment => 1,
            ObjectKind::EgressAllowlist => 2,
            _ => 3,
        };
        intents.sort_by_key(|intent| rank(intent.kind));
        let (first, rest): (Vec<_>, Vec<_>) = intents.into_iter().partition(|it| rank(it.kind) < 3);
        let mut applied = Applied::default();
        self.each(first, &mut applied).await;
        applied.files = self.files(plan).await;
        self.each(rest, &mut applied).await;
        applied
    }

    /// Writes each, whatever is refused.
    async fn each(&self, intents: Vec<&Intent>, applied: &mut Applied) {
        for intent in intents {
            let outcome = self.carry_out(intent).await;
            if intent.kind == ObjectKind::Deployment && outcome.is_final_refusal() {
                self.take_down(intent).await;
            }
            self.note(intent, &outcome);
            applied.outcomes.push((intent.kind, outcome));
        }
    }

    async fn content_claim(&self, plan: &Plan) -> Option<ContentOutcome> {
        let claim = plan.content_claim.as_deref()?;
        Some(self.make_content_claim(claim).await)
    }

    async fn files(&self, plan: &Plan) -> Option<FilesOutcome> {
        let intent = plan.files.as_ref()?;
        Some(self.render_files(intent).await)
    }

    fn note(&self, intent: &Intent, outcome: &Outcome) {
        if let Outcome::Healed { paths, .. } = outcome {
            self.metrics.healed(intent.kind.into());
            tracing::warn!(object = %name(intent), ?paths, "a stranger's edit was undone");
        }
    }

    /// Deletes what the plan says of what was made for `claim`, and the claim itself last.
    pub async fn delete(&self, claim: &Key, plan: &Plan) -> Deleted {
        let mut deleted = Deleted::All;
        for deletion in &plan.delete {
            let place =
                Place::namespaced(deletion.kind.into(), &deletion.namespace, &deletion.name);
            let live = &deletion.live;
            let answer = self.api.delete(place, &live.uid, &live.resource_version);
            deleted = deleted.and(place, answer.await);
        }
        let finished = plan.finished.iter().map(|pod| (pod, 0));
        let cut = plan.cut.iter().map(|pod| (pod, CUT_WITHIN));
        for (pod, grace) in finished.chain(cut) {
            let place = Place::namespaced(Kind::Pod, &pod.namespace, &pod.name);
            let answer = self.api.delete_within(place, &pod.uid, grace).await;
            deleted = deleted.and(place, answer);
        }
        if let Some(live) = &plan.remove {
            let place = Place::namespaced(Kind::SandboxClaim, &claim.namespace, &claim.name);
            let answer = self
                .api
                .delete(place, &live.uid, &live.resource_version)
                .await;
            if answer.is_ok() {
                tracing::info!(%claim, "a claim that had failed was deleted, long after its last use");
            }
            deleted = deleted.and(place, answer);
        }
        deleted
    }
}
