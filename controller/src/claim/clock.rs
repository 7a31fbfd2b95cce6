//! How long a claim has been left alone, and how long it may be. Pure.
//!
//! Times are the API server's, and time in which nobody led does not count: nothing could come of the
//! claim then.

use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use sandgate_shared::api::outside::AgentRuntimeSpec;
use sandgate_shared::api::{ClaimPhase, SandboxClaim, SandboxClaimStatus};
use sandgate_shared::duration::GoDuration;

use super::observed::{Lookup, Observed};
use crate::leader::Leaderless;

/// The least that a claim which is not bound is left alone for.
const FLOOR: Duration = Duration::from_mins(10);
/// How soon a claim is looked at again whose time can not be told.
const CLOCK_CHECK: Duration = Duration::from_mins(1);
/// A claim is over once more than its time is up: this is looked at just after it.
const JUST_AFTER: Duration = Duration::from_millis(1);

/// How long a claim of the runtime may be left alone. A timeout that is no duration, or none that is
/// longer than nothing, is as good as none.
pub(super) fn limit(runtime: &Lookup<AgentRuntimeSpec>, default: Duration) -> Duration {
    let sandbox = runtime.found().and_then(|spec| spec.sandbox.as_ref());
    let timeout = sandbox.and_then(|sandbox| sandbox.idle_timeout.as_deref());
    let timeout = timeout.and_then(|text| text.parse::<GoDuration>().ok()?.positive());
    timeout.unwrap_or(default).max(FLOOR)
}

/// How long something last used at `last_used` was left alone while somebody led.
pub(super) fn idle(
    now: Timestamp,
    last_used: Timestamp,
    leaderless: &Leaderless,
) -> SignedDuration {
    let paused = leaderless.within(last_used, now);
    now.duration_since(last_used).saturating_sub(paused)
}

/// Since when the claim counts as left alone; `None` where no time ends it: it runs or is completed, is an
/// enrolment, or tells no phase or no use.
fn since(claim: &SandboxClaim, status: &SandboxClaimStatus) -> Option<Timestamp> {
    let ends = match status.phase? {
        ClaimPhase::Pending | ClaimPhase::Queued | ClaimPhase::Failed => true,
        ClaimPhase::Bound | ClaimPhase::Completed => false,
    };
    let used = status.last_used_at.as_ref()?;
    (ends && claim.spec.enrolment.is_none()).then_some(used.0)
}

/// Whether the claim has been left alone for longer than it may be. While it is not known what time it is
/// for the API server, or when nobody led, it has not.
pub(super) fn is_over(observed: &Observed, default: Duration, now: Timestamp) -> bool {
    let claim = &observed.claim;
    let used = claim
        .status
        .as_ref()
        .and_then(|status| since(claim, status));
    let (Some(used), Some(leaderless)) = (used, &observed.leaderless) else {
        return false;
    };
    let limit = limit(&observed.runtime, default);
    SignedDuration::try_from(limit).is_ok_and(|limit| idle(now, used, leaderless) > limit)
}

/// When a claim of this status is to be looked at because of its age.
pub(super) fn due(
    observed: &Observed,
    status: &SandboxClaimStatus,
    default: Duration,
    now: Timestamp,
) -> Option<Duration> {
    let used = since(&observed.claim, status)?;
    let Some(leaderless) = &observed.leaderless else {
        return Some(CLOCK_CHECK);
    };
    let limit = SignedDuration::try_from(limit(&observed.runtime, default)).ok()?;
    let left = limit.saturating_sub(idle(now, used, leaderless));
    Some(Duration::try_from(left).unwrap_or_default() + JUST_AFTER)
}

#[cfg(test)]
mod tests;
