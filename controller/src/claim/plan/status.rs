//! What the claim says of itself: phase, addresses, conditions (C-018 to C-029, C-032, C-033).
//! Pure.
//!
//! To be called after `Memory::record`: the digests and pauses reported are those of the memory.

mod conditions;
mod notes;
mod requeue;
mod standing;
mod widened;

use std::time::Duration;

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};
use kube::ResourceExt;
use sandgate_shared::{
    api::{ClaimPhase, SandboxClaimStatus},
    names, reason,
    reason::condition,
};

use self::{
    conditions::Conditions,
    notes::{note_admission, refused_finding},
    requeue::{requeue, turn},
};
use super::{
    Applied, Build, FilesOutcome, Finding, Outcome, Plan, RefusalClass, Settings, StatusDecision,
    Verdict,
    events::{events, moved},
    gate::{conflict, ever_bound},
    intent::runtime_label,
    readiness::{Health, health, starting},
};
use crate::claim::clock;
use crate::claim::observed::{ObjectKind, Observed};

/// How often a claim that waits for its workspace's volume is looked at though nothing was heard of it.
const STORAGE_CHECK: Duration = Duration::from_secs(10);
/// How often a claim that waits for its turn is looked at though nobody woke it (C-015).
pub const QUEUE_CHECK: Duration = Duration::from_secs(10);

/// Decides what to report after `plan` was carried out as `applied`.
pub fn status(
    observed: &Observed,
    plan: &Plan,
    applied: &Applied,
    settings: &Settings,
    now: Timestamp,
) -> StatusDecision {
    // Conditions and lastUsedAt are written in whole seconds, as Kubernetes writes its own.
    let now_second = Timestamp::from_second(now.as_second()).unwrap_or(now);
    let report = Report {
        observed,
        applied,
        settings,
        now: now_second,
    };
    let (mut next, requeue) = match &plan.verdict {
        Verdict::LeaveAlone | Verdict::Look => return StatusDecision::default(),
        Verdict::Over => {
            let present = observed.claim.status.clone().unwrap_or_default();
            return StatusDecision {
                requeue: clock::due(observed, &present, settings.default_idle_timeout, now),
                ..StatusDecision::default()
            };
        }
        Verdict::Wait(finding) => report.waiting(finding),
        Verdict::Queue(finding) => (
            report.settle(ClaimPhase::Queued, finding),
            Some(QUEUE_CHECK),
        ),
        Verdict::Admit(build) => (report.admitted(build), None),
        Verdict::Fail(finding) => (report.settle(ClaimPhase::Failed, finding), None),
        Verdict::Build(build) => {
            let requeue = requeue(observed, applied, build, now);
            let Some(next) = report.building(build) else {
                return StatusDecision {
                    requeue,
                    ..StatusDecision::default()
                };
            };
            let uid = observed.claim.metadata.uid.as_deref().unwrap_or_default();
            let recheck = observed
                .directory
                .as_ref()
                .map(|_| turn(uid, settings.content.recheck, now));
            (next, requeue.into_iter().chain(recheck).min())
        }
    };
    if plan.verified {
        report.verify(&mut next);
    }
    let due = clock::due(observed, &next, settings.default_idle_timeout, now);
    let requeue = requeue.into_iter().chain(due).min();
    let present = observed.claim.status.clone().unwrap_or_default();
    let mut events = events(&present, &next);
    events.extend(moved(plan, applied));
    StatusDecision {
        status: (!says_the_same(&present, &next)).then_some(next),
        events,
        requeue,
    }
}

/// `applied` rides along with writes that happen anyway and causes none (O-040).
fn says_the_same(present: &SandboxClaimStatus, next: &SandboxClaimStatus) -> bool {
    let plain = |status: &SandboxClaimStatus| SandboxClaimStatus {
        applied: None,
        ..status.clone()
    };
    plain(present) == plain(next)
}

struct Report<'a> {
    observed: &'a Observed,
    applied: &'a Applied,
    settings: &'a Settings,
    now: Timestamp,
}

impl Report<'_> {
    /// The status of a claim whose objects stand or are being made; `None` where nothing can be
    /// said because the namespace is going.
    fn building(&self, build: &Build) -> Option<SandboxClaimStatus> {
        if let Some(kind) = self.first(&Outcome::Conflict) {
            return Some(self.settle(ClaimPhase::Failed, &conflict(self.observed, kind)));
        }
        let files = self.files_trouble();
        let bound_before = ever_bound(&self.observed.claim);
        if !bound_before && self.applied.files == Some(FilesOutcome::Conflict) {
            return files.map(|finding| self.settle(ClaimPhase::Failed, &finding));
        }
        let refused = self.refused(build);
        if let Some((kind, refusal)) = refused {
            match refusal.class(&self.settings.operator_username) {
                RefusalClass::NamespaceTerminating => return None,
                RefusalClass::Rejected if !bound_before => {
                    let finding = refused_finding(kind, refusal, RefusalClass::Rejected);
                    return Some(self.settle(ClaimPhase::Failed, &finding));
                }
                _ => {}
            }
        }
        let trouble = refused.map(|(kind, refusal)| {
            refused_finding(
                kind,
                refusal,
                refusal.class(&self.settings.operator_username),
            )
        });
        let trouble = trouble.or_else(|| self.left_over()).or(files);
        let standing = ObjectKind::OWNED.iter().all(|kind| self.stands(*kind));
        let waits = build
            .proxy
            .as_ref()
            .filter(|_| !self.stands(ObjectKind::Deployment));
        let waits = waits.and_then(|proxy| proxy.trouble.clone());
        let finding = match (health(self.observed, self.deployment()), &trouble) {
            (_, Some(trouble)) if !bound_before || !standing => Some(trouble.clone()),
            (Health::Ready, _) if standing => None,
            (_, None) if waits.is_some() => waits,
            (Health::Ready, _) => Some(starting(self.observed)),
            (Health::NotReady(finding), _) => Some(finding),
        };
        let mut next = self.built(build, finding);
        // Also of one that binds by this: nothing else may happen that would have it looked at again.
        let bound = bound_before || next.phase == Some(ClaimPhase::Bound);
        let mut conditions = Conditions::of(&mut next, self.generation(), self.now);
        if !bound_before {
            note_admission(&mut conditions);
        }
        self.note_services(&mut conditions, build);
        notes::note_trouble(&mut conditions, trouble.filter(|_| bound_before));
        self.note_strangers(&mut conditions);
        self.note_widening(&mut conditions);
        notes::note_test_hosts(&mut conditions, build);
        if bound {
            notes::note_connections(&mut conditions, build);
            notes::note_proxy(&mut conditions, build);
        }
        if bound_before {
            notes::note_provenance(&mut conditions, self.observed);
        }
        Some(next)
    }

    fn built(&self, build: &Build, finding: Option<Finding>) -> SandboxClaimStatus {
        let mut next = match finding {
            Some(finding) => self.settle(ClaimPhase::Pending, &finding),
            None => self.bound(),
        };
        next.sandbox_name = Some(names::sandbox(&self.observed.claim.name_any()));
        next.template_hash = self.template_hash(build, next.template_hash);
        next.applied = self.applied_objects();
        next
    }

    /// The record that the claim may have its objects, which are made once it stands.
    fn admitted(&self, build: &Build) -> SandboxClaimStatus {
        let mut next = self.built(build, Some(starting(self.observed)));
        next.template_hash.clone_from(&build.template_hash);
        next.volume_sub_path.clone_from(&build.sub_path);
        let mut conditions = Conditions::of(&mut next, self.generation(), self.now);
        note_admission(&mut conditions);
        self.note_services(&mut conditions, build);
        next
    }

    /// The status of a claim that has no object yet, and when it is looked at again.
    fn waiting(&self, finding: &Finding) -> (SandboxClaimStatus, Option<Duration>) {
        let refused = self.content_refused();
        let next = self.settle(ClaimPhase::Pending, refused.as_ref().unwrap_or(finding));
        let storage = finding.reason == reason::WAITING_FOR_STORAGE;
        (next, storage.then_some(STORAGE_CHECK))
    }

    /// Adds the record that the operator wrote the claim (P-015).
    fn verify(&self, next: &mut SandboxClaimStatus) {
        let mut conditions = Conditions::of(next, self.generation(), self.now);
        conditions.set(
            condition::PROVENANCE_VERIFIED,
            true,
            reason::WRITTEN_BY_OPERATOR,
            "nobody but the operator can have created the claim: the admission policy was in force",
        );
    }

    /// A status with this phase and this reason for not being ready.
    fn settle(&self, phase: ClaimPhase, finding: &Finding) -> SandboxClaimStatus {
        let mut next = self.in_phase(phase);
        next.addresses = None;
        next.view_address = None;
        let mut conditions = Conditions::of(&mut next, self.generation(), self.now);
        conditions.set(condition::READY, false, finding.reason, &finding.message);
        if phase == ClaimPhase::Failed {
            let stalled = "the claim has failed for good; the condition Ready says why";
            conditions.set(condition::STALLED, true, finding.reason, stalled);
            widened::note_nothing(&mut conditions);
        }
        next
    }

    fn bound(&self) -> SandboxClaimStatus {
        let mut next = self.in_phase(ClaimPhase::Bound);
        next.addresses = Some(self.addresses());
        let mut conditions = Conditions::of(&mut next, self.generation(), self.now);
        let message = if runtime_label(&self.observed.claim).is_some() {
            "the sandbox answers at its addresses"
        } else {
            "the sandbox is ready, but lets nobody in: the AgentRuntime's name is longer than the 63 \
             characters that a pod's label can hold, so its pods cannot be told from others; give \
             the runtime a shorter name and make the claim again"
        };
        conditions.set(condition::READY, true, reason::SANDBOX_READY, message);
        let message = "the sandbox was ready once";
        conditions.set(condition::BOUND, true, reason::SANDBOX_READY, message);
        next
    }

    /// The present status moved to a phase; entering one is a use of the claim (C-027).
    fn in_phase(&self, phase: ClaimPhase) -> SandboxClaimStatus {
        let mut next = self.observed.claim.status.clone().unwrap_or_default();
        if next.phase != Some(phase) {
            let stands = next.last_used_at.as_ref().map(|time| time.0);
            let used = stands.map_or(self.now, |stands| stands.max(self.now));
            next.last_used_at = Some(Time(used));
        }
        next.phase = Some(phase);
        next.observed_generation = self.generation();
        next
    }

    fn generation(&self) -> Option<i64> {
        self.observed.claim.metadata.generation
    }
}
