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
//! - `Create`: POST [`Intent::object`]. On 409 `AlreadyExists`, GET: [`Intent::taken`] decides
//!   between `Verify`, [`Outcome::LeftOver`] and [`Outcome::Conflict`].
//! - `Update`: GET, then PUT [`Intent::merged`] over what stands.
//! - `Verify`: GET, PUT [`Intent::merged`] with `dryRun=All`, then [`Intent::judge_dry_run`] says
//!   whether that PUT is made for real (O-040).
//!
//! A claim is admitted by its status, before any of its objects is made.
//!
//! The memory takes in what apply did (`Memory::record`) before `status` is asked.
//!
//! Apply stops at the first intent that is refused or whose name is taken: a Deployment never stands
//! without its policies. It does not where a credential is to be taken away ([`Urgent::Revoke`]): then the
//! Deployment is put first, and one that cannot be put is deleted.

mod applied;
mod baseline;
mod cleaning;
mod connected;
mod connections;
mod content_claim;
mod decision;
mod deployment;
mod egress;
mod events;
mod files;
mod finished;
mod gate;
mod heal;
mod intent;
mod lineage;
mod need;
mod network_policy;
mod objects;
mod order;
mod readiness;
mod remember;
mod service;
mod settings;
mod status;
mod status_patch;
mod strangers;
mod whose;
mod workload;
mod workspace_volume;

use std::time::Duration;

use k8s_openapi::{api::core::v1::PersistentVolumeClaim, jiff::Timestamp};
use sandgate_shared::checks::Dropped;

use super::observed::Observed;

pub use super::finding::Finding;
pub use super::refusal::{Refusal, RefusalClass, refusal_pause};
pub use applied::{Applied, Outcome, Stored};
pub use baseline::{baseline, baseline_intent, guard};
pub use content_claim::ContentOutcome;
pub use decision::{EventDraft, StatusDecision};
pub use egress::{Poke, fixture_services};
pub(crate) use events::note as event_note;
pub use files::{FilesIntent, FilesOutcome};
pub use gate::{
    Record, asks_for_place, awaits_proof, ever_bound, holds_place, lacks_record, may_be_promoted,
    record,
};
pub use heal::DryRun;
pub use network_policy::allowed_services;
pub use order::{Action, Deletion, Intent, LiveRef, PodRef};
pub use settings::{ContentSettings, DnsTarget, EgressSettings, Settings, TestHost, TestHosts};
pub use status::{QUEUE_CHECK, status};
pub use status_patch::status_patch;
pub use workspace_volume::mounted;

use gate::{Gate, Judgement};
use whose::{Whose, previous_remains};

/// What is to be done for a claim now.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Objects to write, in this order. Only what needs a request is in here: an unchanged claim
    /// has none.
    pub ensure: Vec<Intent>,
    /// The PersistentVolumeClaim of the workspace's content, if it is to be made.
    pub content_claim: Option<Box<PersistentVolumeClaim>>,
    /// The claim's directory is to be made before the rest (M-017).
    pub makes_directory: bool,
    /// The Secret with the files that Connections place; only of a claim that binds some.
    pub files: Option<FilesIntent>,
    /// Whether a credential is to be taken from a running sandbox.
    pub urgent: Urgent,
    /// Objects to delete, in this order.
    pub delete: Vec<Deletion>,
    /// The claim itself is to be deleted (R-005).
    pub remove: Option<LiveRef>,
    /// Pods to delete because they have finished (O-038). They get no grace: they never run again.
    pub finished: Vec<PodRef>,
    /// Pods of an egress proxy that is not to be, to delete with hardly any grace, so that no tunnel of
    /// theirs outlives the last Connection (Q21).
    pub cut: Vec<PodRef>,
    /// Pods of an egress proxy whose kubelets are to look at the allowlist now, once that stands.
    pub pokes: Vec<Poke>,
    /// What was decided about the claim; `status` speaks of it.
    pub verdict: Verdict,
    /// The operator is proved to have written the claim, and that is to be recorded with what is told
    /// of it (P-015).
    pub verified: bool,
}

/// Whether something comes before the usual order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Urgent {
    /// Nothing does.
    #[default]
    No,
    /// A Connection, Secret or key that went into the sandbox is gone: the Deployment goes first, and no
    /// refusal keeps it (K-031).
    Revoke,
}

/// What was decided about a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Not ours to touch now: the claim or its namespace is being deleted.
    LeaveAlone,
    /// The claim is `Failed` or `Completed` already; only its objects are cleaned up (C-028, C-035).
    Over,
    /// It hangs on the claim's Connections, which have not been looked at.
    Look,
    /// The claim waits and has no object.
    Wait(Finding),
    /// The claim waits for its turn under its runtime's limits and has no object (C-008 to C-011).
    Queue(Finding),
    /// The claim is admitted now, with what is to be built. The status says so before anything is made:
    /// a controller that dies in between leaves a record without objects, never objects that no
    /// ceiling counts (C-012, C-025).
    Admit(Build),
    /// The claim fails now. Its objects are removed once the status says so.
    Fail(Finding),
    /// The claim's objects stand or are being made.
    Build(Build),
}

/// What `status` needs to know of a claim whose objects stand or are being made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Build {
    /// The directory of the workspace that the claim mounts, if it does (C-025).
    pub sub_path: Option<String>,
    /// Hash of the pod template as the class renders now; `None` when the class is gone.
    pub template_hash: Option<String>,
    /// The same, where the standing Deployment is known to be built from it.
    pub standing_template: Option<String>,
    /// The Deployment is rendered anew from a class that changed since it was first built (C-034).
    pub rerendered: bool,
    /// Connections that are not placed any more; `None` where the claim binds none.
    pub dropped: Option<Vec<Dropped>>,
    /// Allowed Services that open nothing, or less than asked, each in one sentence (O-030).
    pub unresolved: Vec<String>,
    /// A refused write is not tried again before this moment.
    pub paused_until: Option<Timestamp>,
    /// Strangers' edits that stand until this moment (O-040).
    pub held_until: Option<Timestamp>,
    /// The egress proxy, if the claim has one.
    pub proxy: Option<ProxyBuild>,
}

/// What `status` needs to know of the egress proxy of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyBuild {
    /// None of its pods is ready.
    pub down: bool,
    /// Why, if more is known than that it is on its way.
    pub trouble: Option<Finding>,
    /// The sandbox is started anew, since it was told of this address and the proxy has that one.
    pub moved: Option<(String, String)>,
    /// What is to be said of test hosts: a reason and a message (E-036).
    pub test_hosts: Option<Finding>,
    /// When it is to be looked at again though nothing may happen.
    pub again: Option<Duration>,
}

/// Decides what the claim needs.
pub fn plan(observed: &Observed, settings: &Settings, now: Timestamp) -> Plan {
    let Judgement { gate, verified } = gate::judge(observed, settings, now);
    let plan = match gate {
        Gate::LeaveAlone => Plan::nothing(Verdict::LeaveAlone),
        Gate::Over => cleaning::clean_up(observed),
        Gate::Remove => Plan {
            remove: LiveRef::of_claim(&observed.claim),
            ..cleaning::clean_up(observed)
        },
        Gate::Look => Plan::nothing(Verdict::Look),
        Gate::Wait(finding) => Plan::nothing(Verdict::Wait(finding)),
        Gate::AwaitStorage(finding) => objects::await_storage(observed, settings, finding),
        Gate::Queue(finding) => Plan::nothing(Verdict::Queue(finding)),
        Gate::Fail(finding) => Plan::nothing(Verdict::Fail(finding)),
        Gate::Admit => objects::admit(observed, settings),
        Gate::Build { makes_directory } => Plan {
            makes_directory,
            ..objects::build(observed, settings, now)
        },
    };
    Plan { verified, ..plan }
}

impl Plan {
    /// Whether it decides what is never decided again.
    pub fn is_final(&self) -> bool {
        self.verified || self.remove.is_some() || matches!(self.verdict, Verdict::Fail(_))
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
            content_claim: None,
            makes_directory: false,
            files: None,
            urgent: Urgent::No,
            delete: Vec::new(),
            remove: None,
            finished: Vec::new(),
            cut: Vec::new(),
            pokes: Vec::new(),
            verdict,
            verified: false,
        }
    }
}

#[cfg(test)]
mod tests;
