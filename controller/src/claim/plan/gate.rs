//! May this claim have objects at all? A named, ordered list of small checks (C-002 to C-005,
//! C-028, C-032, C-034, C-036, P-016, R-003 to R-005). Pure.

mod admission;
mod class;
mod connections;
mod idle;
mod leaving;
mod mount;
mod names;
mod provenance;
mod queue;
mod runtime;
mod storage;

use k8s_openapi::jiff::Timestamp;
use sandgate_shared::{
    api::{SandboxClaim, SandboxClaimSpec, sandbox_claim::MountBinding},
    reason::condition,
};

use super::{Finding, Settings};
use crate::claim::observed::Observed;

pub use admission::{Record, holds_place, record};
pub(super) use class::class_missing;
pub(super) use class::has_workspace;
pub(super) use connections::binds;
pub(super) use mount::unplaced;
pub(super) use names::{conflict, owns};
pub(super) use provenance::bound_before_policy;
pub use provenance::{asks_for_place, awaits_proof, lacks_record, may_be_promoted};
pub(super) use storage::none as no_storage;

use provenance::Proof;

/// What was judged.
pub(super) struct Judgement {
    /// The answer.
    pub(super) gate: Gate,
    /// It is news that the operator wrote the claim. A claim of which it is gets nothing before that
    /// is recorded (P-015).
    pub(super) verified: bool,
}

/// The answer.
pub(super) enum Gate {
    /// The claim or its namespace is being deleted.
    LeaveAlone,
    /// The claim is final.
    Over,
    /// The claim has failed long enough ago.
    Remove,
    /// Not known before the claim's Connections are looked at.
    Look,
    /// Not yet.
    Wait(Finding),
    /// Not before others that came first.
    Queue(Finding),
    /// Not before the workspace's volume claim stands.
    AwaitStorage(Finding),
    /// Never.
    Fail(Finding),
    /// Yes, and that is recorded before anything is made.
    Admit,
    /// Yes, as it was admitted before.
    Build {
        /// The claim's directory is made first (M-017).
        makes_directory: bool,
    },
}

/// Judges the claim. What depends on class and runtime ends a claim only before its first bind
/// (C-034): an administrator's later edit never takes a running sandbox away.
pub(super) fn judge(observed: &Observed, settings: &Settings, now: Timestamp) -> Judgement {
    let news = |verified: bool| move |gate| Judgement { gate, verified };
    if let Some(over) = leaving::judge(observed, settings, now) {
        return news(false)(over);
    }
    if let Some(finding) = idle::ended(observed, settings, now) {
        return news(false)(Gate::Fail(finding));
    }
    match provenance::judge(observed, settings) {
        Proof::Needless => news(false)(asks(observed, settings, false)),
        Proof::Found => news(true)(asks(observed, settings, true)),
        Proof::Lacking(gate) => news(false)(gate),
    }
}

/// What the claim gets, as far as nobody doubts who wrote it.
fn asks(observed: &Observed, settings: &Settings, verified: bool) -> Gate {
    let claim = &observed.claim;
    if let Some(finding) = provenance::not_built(&claim.spec) {
        return Gate::Wait(finding);
    }
    let before_bind = !ever_bound(claim);
    let binds = connections::binds(&claim.spec);
    if before_bind && let Some(finding) = connections::unfetched(observed) {
        return Gate::Wait(finding);
    }
    let checks = [
        names::name_conflict(observed),
        before_bind.then(|| runtime::allows(observed)).flatten(),
        before_bind.then(|| class::fits(observed)).flatten(),
        mount::unsound(observed),
        before_bind
            .then(|| never_mounts(observed, settings))
            .flatten(),
    ];
    if let Some(finding) = checks.into_iter().flatten().next() {
        return Gate::Fail(finding);
    }
    let admitted = admission::holds_place(observed);
    if !admitted && let Some(finding) = queue::holds_back(observed) {
        return Gate::Queue(finding);
    }
    let failure = match &observed.bindings {
        None if binds => return Gate::Look,
        Some(bindings) if before_bind => connections::failure(observed, bindings),
        _ => None,
    };
    match failure {
        Some(finding) => Gate::Fail(finding),
        None if verified || !admitted => Gate::Admit,
        None => match names::awaits_previous(observed) {
            Some(finding) => Gate::Wait(finding),
            None if before_bind => mounts(observed),
            None => Gate::Build {
                makes_directory: false,
            },
        },
    }
}

/// Why the claim can have no directory, whatever comes.
fn never_mounts(observed: &Observed, settings: &Settings) -> Option<Finding> {
    mount::misplaced(observed, settings).or_else(|| storage::never(observed, settings))
}

/// What an admitted claim gets, as far as its directory is concerned.
fn mounts(observed: &Observed) -> Gate {
    if let Some(finding) = storage::awaited(observed) {
        return Gate::AwaitStorage(finding);
    }
    if let Some(finding) = mount::taken(observed) {
        return Gate::Fail(finding);
    }
    match mount::unseen(observed) {
        Some(finding) => Gate::AwaitStorage(finding),
        None => Gate::Build {
            makes_directory: mount::to_make(observed),
        },
    }
}

/// Whether the claim was bound once; remembered in a condition that is never removed (Q14).
pub fn ever_bound(claim: &SandboxClaim) -> bool {
    holds(claim, condition::BOUND)
}

fn holds(claim: &SandboxClaim, name: &str) -> bool {
    let conditions = claim
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_deref());
    conditions
        .unwrap_or_default()
        .iter()
        .any(|found| found.type_ == name && found.status == "True")
}

fn bindings(spec: &SandboxClaimSpec) -> impl Iterator<Item = &MountBinding> {
    spec.mounts.iter().flatten().chain(&spec.mount)
}
