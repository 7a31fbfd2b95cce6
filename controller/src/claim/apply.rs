//! Carries out a plan: the only writer of objects. Does I/O; every judgement is the plan's.
//!
//! Each write is safe to be cut off before or after it, and to be made by two controllers at once:
//! POST makes an object once, PUT and DELETE carry the uid and resourceVersion they were decided on.

mod objects;

use std::sync::Arc;

use super::plan::{Applied, Outcome, Plan};
use crate::api_server::{ApiServer, CallError, Place};
use crate::cause::Chain;
use crate::kind::Kind;
use crate::metrics::Metrics;
use crate::watch::Watches;

use objects::name;

/// Writes objects.
#[derive(Clone, Debug)]
pub struct Apply {
    api: ApiServer,
    watches: Arc<Watches>,
    metrics: Metrics,
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
        }
    }

    /// Writes what the plan says in its order, up to the first refusal or conflict.
    pub async fn ensure(&self, plan: &Plan) -> Applied {
        let mut applied = Applied::default();
        for intent in &plan.ensure {
            let outcome = self.carry_out(intent).await;
            let stop = matches!(outcome, Outcome::Refused(_) | Outcome::Conflict);
            if let Outcome::Healed { paths, .. } = &outcome {
                self.metrics.healed(intent.kind.into());
                tracing::warn!(object = %name(intent), ?paths, "a stranger's edit was undone");
            }
            applied.outcomes.push((intent.kind, outcome));
            if stop {
                break;
            }
        }
        applied
    }

    /// Deletes what the plan says.
    pub async fn delete(&self, plan: &Plan) -> Deleted {
        let mut deleted = Deleted::All;
        for deletion in &plan.delete {
            let place =
                Place::namespaced(deletion.kind.into(), &deletion.namespace, &deletion.name);
            let live = &deletion.live;
            let answer = self.api.delete(place, &live.uid, &live.resource_version);
            deleted = deleted.and(place, answer.await);
        }
        for pod in &plan.finished {
            let place = Place::namespaced(Kind::Pod, &pod.namespace, &pod.name);
            deleted = deleted.and(place, self.api.delete_now(place, &pod.uid).await);
        }
        deleted
    }
}
