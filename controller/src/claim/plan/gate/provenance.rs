//! Whether it is known that the operator wrote what only it may write (P-015 to P-023). Pure.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use sandgate_shared::{
    api::{ClaimPhase, SandboxClaim, SandboxClaimSpec},
    reason::{self, condition},
    trust::{Stood, Trust, Verdict},
};

use super::{Gate, bindings, connections::binds, ever_bound, holds};
use crate::claim::{
    observed::Observed,
    plan::{Finding, Settings},
};

/// Whether the claim holds something that only the operator may write, it is not recorded that the
/// operator did, and that can still be found out. A claim that was bound once keeps running (P-017).
pub fn awaits_proof(claim: &SandboxClaim) -> bool {
    lacks_record(claim) && !ever_bound(claim)
}

/// Whether what is found out about policy and binding may change what is recorded of who wrote the claim: of
/// one that awaits proof, and of one that was bound without any (P-018).
pub fn lacks_record(claim: &SandboxClaim) -> bool {
    let phase = claim.status.as_ref().and_then(|status| status.phase);
    let over = matches!(phase, Some(ClaimPhase::Failed | ClaimPhase::Completed));
    !over && !holds(claim, condition::PROVENANCE_VERIFIED) && Reserved::of(&claim.spec).is_some()
}

/// Whether the claim asks for a place under its runtime's limits, as far as what only the operator may
/// write in it is concerned. While it does not, it stands in nobody's way.
pub fn asks_for_place(claim: &SandboxClaim, trust: &Trust, grace: Duration) -> bool {
    let proved = || matches!(trust.about(created(claim), grace), Verdict::Verified);
    not_built(&claim.spec).is_none() && (!awaits_proof(claim) || proved())
}

/// Whether the claim was bound before the admission policy was there, so that nothing tells who wrote what
/// only the operator may write. It keeps running (P-018, Q32).
pub(in crate::claim::plan) fn bound_before_policy(observed: &Observed) -> bool {
    let claim = &observed.claim;
    let before = |stood: &Stood| created(claim) < stood.policy_created;
    ever_bound(claim) && lacks_record(claim) && observed.trust.stood().is_some_and(before)
}

/// Whether work of the claim's may go anywhere: only if it is recorded that the operator wrote the claim, and
/// with it where that is (P-019, P-025).
pub fn may_be_promoted(claim: &SandboxClaim) -> bool {
    let status = claim.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_deref());
    conditions.unwrap_or_default().iter().any(|found| {
        found.type_ == condition::PROVENANCE_VERIFIED
            && found.status == "True"
            && found.reason == reason::WRITTEN_BY_OPERATOR
    })
}

/// What is known of who wrote a claim.
pub(super) enum Proof {
    /// There is nothing to be found out: anybody may write it, or it is known already.
    Needless,
    /// The operator did, which is not recorded yet.
    Found,
    /// What follows as nothing says so.
    Lacking(Gate),
}

/// Judges who wrote the claim.
pub(super) fn judge(observed: &Observed, settings: &Settings) -> Proof {
    let claim = &observed.claim;
    let Some(reserved) = Reserved::of(&claim.spec).filter(|_| awaits_proof(claim)) else {
        return Proof::Needless;
    };
    let words = reserved.words();
    let trust = &observed.trust;
    let verdict = trust.about(created(claim), settings.claim_policy_grace);
    Proof::Lacking(match verdict {
        Verdict::Verified => return Proof::Found,
        Verdict::Awaited(what) => Gate::Wait(Finding {
            reason: reason::PROVENANCE_UNPROVEN,
            message: format!(
                "the claim {words}, which only the operator may write, and it is not known yet that it wrote this claim: {what}"
            ),
        }),
        Verdict::Unprovable(why) => Gate::Fail(Finding {
            reason: reserved.reason(),
            message: format!(
                "the claim {words}, which only the operator may write, and nothing proves that it wrote this claim: {why}"
            ),
        }),
    })
}

/// When the claim was made. The API server has given a time to every claim that it stores.
fn created(claim: &SandboxClaim) -> Timestamp {
    let created = claim.metadata.creation_timestamp.as_ref();
    created.map_or(Timestamp::MIN, |created| created.0)
}

/// What of a claim only the operator may write. Where there is more than one such thing, the first in
/// this order is spoken of (P-016, Q61).
#[derive(Clone, Copy)]
enum Reserved {
    Enrolment,
    Mount,
    Connections,
    TargetPath,
}

impl Reserved {
    /// Role `scratch` is nobody's to keep.
    fn of(spec: &SandboxClaimSpec) -> Option<Self> {
        let mounts_more = bindings(spec).any(|binding| binding.role() != "scratch");
        if spec.enrolment.is_some() {
            Some(Self::Enrolment)
        } else if mounts_more {
            Some(Self::Mount)
        } else if binds(spec) {
            Some(Self::Connections)
        } else if spec.target_path.is_some() {
            Some(Self::TargetPath)
        } else {
            None
        }
    }

    /// The end of a sentence about the claim.
    const fn words(self) -> &'static str {
        match self {
            Self::Enrolment => "is an enrolment",
            Self::Mount => "mounts a directory beyond its own scratch",
            Self::Connections => "binds a Connection",
            Self::TargetPath => "names a targetPath",
        }
    }

    /// Why a claim with it fails (P-020 to P-023).
    const fn reason(self) -> &'static str {
        match self {
            Self::Enrolment => reason::ENROLMENT_NOT_GRANTED,
            Self::Mount => reason::MOUNT_NOT_GRANTED,
            Self::Connections => reason::CONNECTIONS_NOT_GRANTED,
            Self::TargetPath => reason::TARGET_PATH_NOT_GRANTED,
        }
    }
}

/// What this version has nothing to build from yet (C-036). A `targetPath` asks for nothing before work is
/// promoted.
pub(super) fn not_built(spec: &SandboxClaimSpec) -> Option<Finding> {
    spec.enrolment.as_ref().map(|_| Finding {
        reason: reason::PART_NOT_BUILT,
        message: "the claim is an enrolment, which this version of the operator does not build yet; it waits for one that does".to_owned(),
    })
}
