//! Carries out a plan: the only writer of objects. Does I/O; every judgement is the plan's.
//!
//! Each write is safe to be cut off before or after it, and to be made by two controllers at once:
//! POST makes an object once, PUT and DELETE carry the uid and resourceVersion they were decided on.

use std::sync::Arc;

use kube::core::DynamicObject;
use serde_json::Value;

use super::plan::{Action, Applied, DryRun, Intent, Outcome, Plan, Refusal, Stored};
use crate::api_server::{ApiServer, CallError, Place};
use crate::cause::Chain;
use crate::kind::Kind;
use crate::metrics::Metrics;
use crate::watch::Watches;

/// How often a write is begun anew because somebody else wrote in between.
const ATTEMPTS: usize = 4;

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

/// Why an attempt at a write did not end in an outcome.
enum Again {
    /// The object is there, contrary to what was assumed, or changed under our hands.
    Changed,
    /// The object is not there.
    Gone,
    /// The API server refused or did not answer.
    Refused(CallError),
}

impl From<CallError> for Again {
    fn from(error: CallError) -> Self {
        if error.is_already_exists() || error.is_conflict() {
            Self::Changed
        } else {
            Self::Refused(error)
        }
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

    /// Writes one object.
    pub async fn carry_out(&self, intent: &Intent) -> Outcome {
        let mut exists = intent.action != Action::Create;
        for _ in 0..ATTEMPTS {
            let attempt = if exists {
                self.put(intent).await
            } else {
                self.post(intent).await
            };
            match attempt {
                Ok(outcome) => return outcome,
                Err(Again::Changed) => exists = true,
                Err(Again::Gone) => exists = false,
                Err(Again::Refused(error)) => return Outcome::Refused(refusal(&error)),
            }
        }
        Outcome::Refused(Refusal {
            code: 409,
            reason: "Conflict".to_owned(),
            message: format!(
                "{} is written by somebody else at the same time",
                name(intent)
            ),
            causes: Vec::new(),
        })
    }

    async fn post(&self, intent: &Intent) -> Result<Outcome, Again> {
        let object = typed(&intent.object)?;
        let made = self
            .api
            .create(intent.kind.into(), Some(&intent.namespace), &object)
            .await?;
        self.stored(intent, &made).map(Outcome::Created)
    }

    /// PUTs our intent over what stands. Unless it is known to be a change of ours, a dry run says
    /// first whether there is anything to put right (O-040).
    async fn put(&self, intent: &Intent) -> Result<Outcome, Again> {
        let place = place(intent);
        let live = self.api.get(place).await?.ok_or(Again::Gone)?;
        let standing = untyped(&live)?;
        if !intent.is_ours(&standing) {
            return Ok(Outcome::Conflict);
        }
        let merged = typed(&intent.merged(&standing))?;
        if matches!(intent.action, Action::Update(_)) {
            let put = self.api.replace(place, &merged).await?;
            return self.stored(intent, &put).map(Outcome::Updated);
        }
        let would_be = self.api.would_replace(place, &merged).await?;
        match intent.judge_dry_run(&standing, &untyped(&would_be)?) {
            DryRun::Same(stored) => {
                self.watches.index.wrote(intent.kind, &live);
                Ok(Outcome::Unchanged(stored))
            }
            DryRun::HoldBack {
                digest,
                paths,
                until,
            } => {
                self.watches.index.wrote(intent.kind, &live);
                Ok(Outcome::HeldBack {
                    digest,
                    paths,
                    until,
                })
            }
            DryRun::Heal(paths) => {
                let put = self.api.replace(place, &merged).await?;
                self.stored(intent, &put)
                    .map(|stored| Outcome::Healed { stored, paths })
            }
        }
    }

    /// Notes what a write returned, here and in the index.
    fn stored(&self, intent: &Intent, object: &DynamicObject) -> Result<Stored, Again> {
        self.watches.index.wrote(intent.kind, object);
        Stored::read(&untyped(object)?).ok_or(Again::Gone)
    }
}

fn place(intent: &Intent) -> Place<'_> {
    Place::namespaced(intent.kind.into(), &intent.namespace, &intent.name)
}

fn name(intent: &Intent) -> String {
    format!(
        "{} {}/{}",
        intent.kind.as_str(),
        intent.namespace,
        intent.name
    )
}

fn typed(object: &Value) -> Result<DynamicObject, Again> {
    serde_json::from_value(object.clone()).map_err(unreadable)
}

fn untyped(object: &DynamicObject) -> Result<Value, Again> {
    serde_json::to_value(object).map_err(unreadable)
}

fn unreadable(error: serde_json::Error) -> Again {
    Again::Refused(CallError::Lost(kube::Error::SerdeError(error)))
}

/// A failed call as the plan reads it: code 0 where there was no answer.
fn refusal(error: &CallError) -> Refusal {
    match error {
        CallError::Refused(status) => Refusal {
            code: status.code,
            reason: status.reason.clone(),
            message: status.message.clone(),
            causes: status
                .details
                .iter()
                .flat_map(|details| &details.causes)
                .map(|cause| cause.reason.clone())
                .collect(),
        },
        CallError::TimedOut(_) | CallError::Lost(_) => Refusal {
            message: Chain(error).to_string(),
            ..Refusal::default()
        },
    }
}
