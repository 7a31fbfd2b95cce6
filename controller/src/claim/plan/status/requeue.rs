//! When a claim has to be looked at again though nothing happens. Pure.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::claim::{
    observed::Observed,
    plan::{Applied, Build, Outcome},
};

/// How often an earlier claim's object that a write came upon is looked at. That it goes is heard of, unless
/// somebody took its labels.
const LEFT_OVER_CHECK: Duration = Duration::from_secs(10);

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
    let until = due.into_iter().flatten().chain(held_now).min();
    let until = until.map(|until| {
        let seconds = until.as_second().saturating_sub(now.as_second()).max(1);
        Duration::from_secs(seconds.unsigned_abs())
    });
    let proxy = build.proxy.as_ref().and_then(|proxy| proxy.again);
    let mut outcomes = applied.outcomes.iter();
    let left_over = outcomes.any(|(_, outcome)| *outcome == Outcome::LeftOver);
    let left_over = left_over.then_some(LEFT_OVER_CHECK);
    until.into_iter().chain(proxy).chain(left_over).min()
}

/// When the directory of the claim with this UID is looked at again: after `every` at the latest (Q38). Claims
/// take turns, each at moments of its own, so that many are not looked at at once because they were once.
pub(super) fn turn(uid: &str, every: Duration, now: Timestamp) -> Duration {
    let every = i64::try_from(every.as_millis()).unwrap_or(i64::MAX);
    // One that has just had a look, a little before its turn, is left out.
    let nearest = every / 10;
    let round = every.saturating_sub(nearest).max(1);
    let moment = number_of(uid).rem_euclid(round);
    let left = (moment - now.as_millisecond().rem_euclid(round)).rem_euclid(round);
    let left = if left < nearest { left + round } else { left };
    Duration::from_millis(left.max(1).unsigned_abs())
}

/// The same number for the same text, and one that says nothing of it.
fn number_of(text: &str) -> i64 {
    let digest = Sha256::digest(text);
    let bytes = digest.iter().take(7);
    bytes.fold(0, |number, byte| (number << 8) | i64::from(*byte))
}

#[cfg(test)]
mod tests;
