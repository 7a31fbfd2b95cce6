//! What one claim needs done, decided from what stands. Pure: no client, no clock, no randomness;
//! the same [`Observed`] at the same `now` gives the same answer.
//!
//! ```text
//!   Observed ──plan──▶ Plan ──(apply: the only writer of objects)──▶ Applied ─┐
//!      └──────────────────────────────┬───────────────────────────────────────┘
//!                                     └─status─▶ StatusDecision (status, events, requeue)
//! ```
//!
//! How apply carries out an [`Intent`], by its [`Action`]; each step that needs judgement is a pure
//! function here:
//! - `Create`: POST [`Intent::object`]. On 409 `AlreadyExists`, GET: [`Intent::is_ours`] decides
//!   between `Verify` and [`Outcome::Conflict`].
//! - `Update`: GET, then PUT [`Intent::merged`] over what stands.
//! - `Verify`: GET, PUT [`Intent::merged`] with `dryRun=All`, then [`Intent::judge_dry_run`] says
//!   whether that PUT is made for real (O-040).
//!
//! The memory takes in what apply did (`Memory::record`) before `status` is asked.
//!
//! Apply stops at the first intent that is refused or in conflict: a Deployment never stands
//! without its policies.

mod baseline;
mod deployment;
mod digest;
mod events;
mod finished;
mod gate;
mod heal;
mod intent;
mod lineage;
mod network_policy;
mod objects;
mod readiness;
mod refusal;
mod service;
mod settings;
mod status;
mod status_patch;
mod strangers;

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use sandgate_shared::api::SandboxClaimStatus;
use serde_json::Value;

use super::observed::{ObjectKind, Observed};

pub use baseline::{baseline, baseline_intent, guard};
pub use digest::digest;
pub(crate) use events::note as event_note;
pub use gate::awaits_proof;
pub use heal::DryRun;
pub use network_policy::allowed_services;
pub use refusal::{Refusal, RefusalClass, refusal_pause};
pub use settings::{DnsTarget, Settings};
pub use status::status;
pub use status_patch::status_patch;
pub(crate) use strangers::strangers;

/// What is to be done for a claim now.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Objects to write, in this order. Only what needs a request is in here: an unchanged claim
    /// has none.
    pub ensure: Vec<Intent>,
    /// Objects to delete, in this order.
    pub delete: Vec<Deletion>,
    /// Pods to delete because they have finished (O-038).
    pub finished: Vec<FinishedPod>,
    /// What was decided about the claim; `status` speaks of it.
    pub verdict: Verdict,
}

/// What was decided about a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Not ours to touch now: the claim or its namespace is being deleted.
    LeaveAlone,
    /// The claim is `Failed` or `Completed` already; only its objects are cleaned up (C-028, C-035).
    Over,
    /// The claim waits and has no object.
    Wait(Finding),
    /// The operator is proved to have written the claim: that is recorded, and nothing else is done
    /// before it is (P-015).
    Verify,
    /// The claim fails now. Its objects are removed once the status says so.
    Fail(Finding),
    /// The claim's objects stand or are being made.
    Build(Build),
}

/// A reason and a message a person understands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// One of `sandgate_shared::reason`.
    pub reason: &'static str,
    /// What is wrong and what to do about it.
    pub message: String,
}

/// What `status` needs to know of a claim whose objects stand or are being made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Build {
    /// Hash of the pod template as the class renders now; `None` when the class is gone.
    pub template_hash: Option<String>,
    /// The same, where the standing Deployment is known to be built from it.
    pub standing_template: Option<String>,
    /// The Deployment is rendered anew from a class that changed since it was first built (C-034).
    pub rerendered: bool,
    /// Allowed Services that open nothing, or less than asked, each in one sentence (O-030).
    pub unresolved: Vec<String>,
    /// A refused write is not tried again before this moment.
    pub paused_until: Option<Timestamp>,
    /// Strangers' edits that stand until this moment (O-040).
    pub held_until: Option<Timestamp>,
}

/// One object as it should be.
#[derive(Clone, Debug, PartialEq)]
pub struct Intent {
    /// Which of the claim's objects.
    pub kind: ObjectKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// UID of the claim it is for; empty for the baseline policy, which nobody owns.
    pub claim_uid: String,
    /// The whole manifest, its intent hash among the annotations, empty lists left out.
    pub object: Value,
    /// Hash of the manifest without that annotation.
    pub hash: String,
    /// What to do.
    pub action: Action,
    /// Paths that came back too often: while a stranger's edit touches only these, it is left
    /// until the moment given (O-040).
    pub resting: std::collections::BTreeMap<String, Timestamp>,
    /// UID this object had when we last wrote it, if we ever did.
    pub known_uid: Option<String>,
}

/// How an intent is carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It does not exist: POST.
    Create,
    /// It is ours and our intent changed, or it bears the reserved baseline name: PUT.
    Update(LiveRef),
    /// It is ours and differs from what we last wrote, or we do not know what we last wrote: dry
    /// run, then PUT only if something would change.
    Verify(LiveRef),
}

/// The precondition of a write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveRef {
    /// UID the decision was made on.
    pub uid: String,
    /// resourceVersion the decision was made on.
    pub resource_version: String,
}

/// One object to delete, with propagation `Background` and both preconditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// Which of the claim's objects.
    pub kind: ObjectKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Preconditions.
    pub live: LiveRef,
}

/// A pod that has finished. Its UID alone is the precondition of its deletion, and no grace is given: it
/// never runs again, whatever else of it changes meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedPod {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
}

/// What apply did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Applied {
    /// In order of the plan, up to and including the first refusal or conflict.
    pub outcomes: Vec<(ObjectKind, Outcome)>,
}

/// What became of one intent.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// POST made it.
    Created(Stored),
    /// PUT changed it to a new intent of ours.
    Updated(Stored),
    /// It was as intended already.
    Unchanged(Stored),
    /// A stranger's edit was undone.
    Healed {
        /// What stands now.
        stored: Stored,
        /// What had been changed.
        paths: Vec<String>,
    },
    /// A stranger's edit is left for now, for it came back too often.
    HeldBack {
        /// Digest of the object with the edit in it.
        digest: String,
        /// What is changed.
        paths: Vec<String>,
        /// When it will be looked at again.
        until: Timestamp,
    },
    /// The API server refused the write.
    Refused(Refusal),
    /// An object of the name exists and is not ours.
    Conflict,
}

impl Outcome {
    /// What stands, if the write succeeded or was not needed.
    pub fn stored(&self) -> Option<&Stored> {
        match self {
            Self::Created(stored)
            | Self::Updated(stored)
            | Self::Unchanged(stored)
            | Self::Healed { stored, .. } => Some(stored),
            Self::HeldBack { .. } | Self::Refused(_) | Self::Conflict => None,
        }
    }
}

/// An object as the API server returned it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// Its UID.
    pub uid: String,
    /// Its resourceVersion.
    pub resource_version: String,
    /// Its digest ([`digest`]).
    pub digest: String,
}

/// What to report on a claim.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatusDecision {
    /// The whole status to stand; `None` when the present one says it already. Written with
    /// [`status_patch`].
    pub status: Option<SandboxClaimStatus>,
    /// Events to publish, once each, after the status is written.
    pub events: Vec<EventDraft>,
    /// When to look again though nothing may have happened; `None` leaves it to the watches.
    pub requeue: Option<Duration>,
}

/// An Event on the claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventDraft {
    /// `Warning` rather than `Normal`.
    pub warning: bool,
    /// One of `sandgate_shared::reason`.
    pub reason: &'static str,
    /// What the controller was doing, such as `Create`.
    pub action: &'static str,
    /// At most 1,000 bytes.
    pub note: String,
}

/// Decides what the claim needs.
pub fn plan(observed: &Observed, settings: &Settings, now: Timestamp) -> Plan {
    match gate::judge(observed, settings) {
        gate::Gate::LeaveAlone => Plan::nothing(Verdict::LeaveAlone),
        gate::Gate::Over => objects::clean_up(observed),
        gate::Gate::Verify => Plan::nothing(Verdict::Verify),
        gate::Gate::Wait(finding) => Plan::nothing(Verdict::Wait(finding)),
        gate::Gate::Fail(finding) => Plan::nothing(Verdict::Fail(finding)),
        gate::Gate::Build => objects::build(observed, settings, now),
    }
}

impl Plan {
    /// Whether it decides what is never decided again.
    pub fn is_final(&self) -> bool {
        matches!(self.verdict, Verdict::Fail(_) | Verdict::Verify)
    }

    /// Whether it makes an object anew that we had made before. The claim may be what took it away:
    /// garbage collection and the watch of claims are not in step.
    pub fn makes_again(&self) -> bool {
        let mut intents = self.ensure.iter();
        intents.any(|intent| intent.action == Action::Create && intent.known_uid.is_some())
    }

    fn nothing(verdict: Verdict) -> Self {
        Self {
            ensure: Vec::new(),
            delete: Vec::new(),
            finished: Vec::new(),
            verdict,
        }
    }
}

#[cfg(test)]
mod tests;
