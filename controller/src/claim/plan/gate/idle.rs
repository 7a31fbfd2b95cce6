//! Whether a claim was left alone for too long. Pure.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use sandgate_shared::{api::ClaimPhase, reason};

use super::{ever_bound, owns};
use crate::claim::{
    clock,
    observed::{ObjectKind, Observed},
    plan::{
        Finding, Settings,
        readiness::{Health, health},
    },
};

/// Why a claim that waits fails now. One whose sandbox has just become ready does not wait any more.
pub(super) fn ended(observed: &Observed, settings: &Settings, now: Timestamp) -> Option<Finding> {
    let phase = observed.claim.status.as_ref()?.phase?;
    if !clock::is_over(observed, settings.default_idle_timeout, now) || binds_now(observed) {
        return None;
    }
    let limit = clock::limit(&observed.runtime, settings.default_idle_timeout);
    let waited = words(limit);
    match phase {
        ClaimPhase::Pending => {
            let what = if ever_bound(&observed.claim) {
                "the sandbox was not ready again"
            } else {
                "the sandbox did not become ready"
            };
            Some(Finding {
                reason: reason::SANDBOX_NEVER_READY,
                message: format!(
                    "{what} within {waited}: spec.sandbox.idleTimeout of the AgentRuntime, and 10 minutes at least; {}",
                    because(observed)
                ),
            })
        }
        ClaimPhase::Queued => Some(Finding {
            reason: reason::QUEUE_WAIT_EXCEEDED,
            message: format!(
                "the claim's turn did not come within {waited}: spec.sandbox.idleTimeout of the AgentRuntime, and 10 minutes at least; {}",
                because(observed)
            ),
        }),
        ClaimPhase::Bound | ClaimPhase::Failed | ClaimPhase::Completed => None,
    }
}

/// Whether this very pass would bind the claim.
fn binds_now(observed: &Observed) -> bool {
    let deployment = observed.deployment.as_ref().map(|live| live.uid.as_str());
    let mut kinds = ObjectKind::OWNED.iter();
    observed.memory.refusal.is_none()
        && kinds.all(|kind| owns(observed, *kind))
        && matches!(health(observed, deployment), Health::Ready)
}

/// What kept the claim waiting, as it says itself.
fn because(observed: &Observed) -> String {
    let status = observed.claim.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_deref());
    let ready = conditions
        .unwrap_or_default()
        .iter()
        .find(|found| found.type_ == reason::condition::READY);
    ready.map_or_else(
        || "nothing was said of why".to_owned(),
        |ready| {
            format!(
                "the last that was said of it is {}: {}",
                ready.reason, ready.message
            )
        },
    )
}

/// As people say it, in whole seconds.
fn words(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let parts = [
        (seconds / 3600, "h"),
        (seconds / 60 % 60, "m"),
        (seconds % 60, "s"),
    ];
    let told = parts.iter().filter(|(number, _)| *number > 0);
    let told: Vec<_> = told
        .map(|(number, unit)| format!("{number}{unit}"))
        .collect();
    told.concat()
}
