//! Writes one object, by POST, PUT or a dry run of a PUT. Does I/O; every judgement is the plan's.

use kube::core::DynamicObject;
use serde_json::Value;

use super::Apply;
use crate::api_server::{CallError, Place};
use crate::cause::Chain;
use crate::claim::plan::{Action, DryRun, Intent, Outcome, Refusal, Stored};

/// How often a write is begun anew because somebody else wrote in between.
const ATTEMPTS: usize = 4;

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

    /// Deletes an object of ours that cannot be put as it has to be.
    pub(super) async fn take_down(&self, intent: &Intent) {
        let place = place(intent);
        for _ in 0..ATTEMPTS {
            match self.delete_ours(intent, place).await {
                Ok(()) => return,
                Err(Again::Refused(error)) => {
                    let error = Chain(&error);
                    tracing::warn!(object = %name(intent), %error, "a credential could not be taken away yet");
                    return;
                }
                Err(Again::Changed | Again::Gone) => {}
            }
        }
    }

    async fn delete_ours(&self, intent: &Intent, place: Place<'_>) -> Result<(), Again> {
        let Some(live) = self.api.get(place).await? else {
            return Ok(());
        };
        if intent.taken(&untyped(&live)?).is_none() {
            let uid = live.metadata.uid.as_deref().unwrap_or_default();
            let version = live.metadata.resource_version.as_deref();
            let version = version.unwrap_or_default();
            self.api.delete(place, uid, version).await?;
        }
        Ok(())
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
        if let Some(taken) = intent.taken(&standing) {
            return Ok(taken);
        }
        let merged = typed(&intent.merged(&standing))?;
        if matches!(intent.action, Action::Update(_)) {
            let put = self.api.replace(place, &merged).await?;
            return self.stored(intent, &put).map(Outcome::Updated);
        }
        self.dry_runs.turn().await;
        let would_be = self.api.would_replace(place, &merged).await?;
        match intent.judge_dry_run(&standing, &untyped(&would_be)?) {
            DryRun::Same(stored) => {
                self.watches.index.wrote(intent.kind, &live);
                Ok(Outcome::Unchanged(stored))
            }
            DryRun::HoldBack(held) => {
                self.watches.index.wrote(intent.kind, &live);
                Ok(Outcome::HeldBack(held))
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

pub(super) fn name(intent: &Intent) -> String {
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
pub(super) fn refusal(error: &CallError) -> Refusal {
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
