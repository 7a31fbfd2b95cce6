//! When a claim has to be looked at again though nothing happens. Pure.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

use crate::claim::{
    observed::Observed,
    plan::{Applied, Build, Outcome},
};

/// The moment at which something has to be looked at again though nothing happens.
pub(super) fn requeue(
    observed: &Observed,
    applied: &Applied,
    build: &Build,
    now: Timestamp,
) -> Option<Duration> {
    let refused_now = applied
        .outcomes
        .iter()
        .any(|(_, outcome)| matches!(outcome, Outcome::Refused(_)));
    let memory = observed.memory.refusal.as_ref();
    let retry = memory.filter(|_| refused_now).map(|past| past.until);
    let held_now = applied.outcomes.iter().filter_map(|(_, outcome)| {
        let Outcome::HeldBack(held) = outcome else {
            return None;
        };
        Some(held.until)
    });
    let due = [retry, build.paused_until, build.held_until];
    let until = due.into_iter().flatten().chain(held_now).min()?;
    let seconds = until.as_second().saturating_sub(now.as_second()).max(1);
    Some(Duration::from_secs(seconds.unsigned_abs()))
}
