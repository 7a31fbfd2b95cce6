//! How a running proxy learns of a new allowlist at once: a kubelet looks at a mounted `ConfigMap` when it
//! looks at the pod, which it does when the pod changes (Q21, E-011). Pure.
//!
//! Twice, since the pod's change may reach the kubelet before the `ConfigMap`'s. The pod's annotation says
//! what was done: `HASH@SECOND` after the first time, `HASH` after the second, and from the beginning on a
//! pod that was made with this list. So it survives a controller that is killed in between.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

use crate::claim::{
    observed::{Observed, ObservedPod},
    plan::{PodRef, finished::pod_ref},
};

/// From the first time to the second, in seconds.
const AGAIN_AFTER: i64 = 2;

/// An annotation of a proxy's pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Poke {
    /// The pod.
    pub pod: PodRef,
    /// The annotation's value.
    pub told: String,
}

/// What a pod's annotation asks for, for the allowlist of this hash.
enum Step {
    Nothing,
    First,
    Second { due: i64 },
}

impl Step {
    fn of(pod: &ObservedPod, hash: &str) -> Self {
        let told = pod.allowlist.as_deref().unwrap_or_default();
        match told.strip_prefix(hash).map(|rest| rest.strip_prefix('@')) {
            Some(None) => Self::Nothing,
            Some(Some(second)) => match second.parse::<i64>() {
                Ok(second) => Self::Second {
                    due: second.saturating_add(AGAIN_AFTER),
                },
                Err(_) => Self::First,
            },
            None => Self::First,
        }
    }
}

/// The annotations to set now.
pub(in crate::claim::plan) fn pokes(observed: &Observed, hash: &str, now: Timestamp) -> Vec<Poke> {
    let pods = staying(observed);
    let pokes = pods.filter_map(|pod| {
        let told = match Step::of(pod, hash) {
            Step::First => format!("{hash}@{}", now.as_second()),
            Step::Second { due } if due <= now.as_second() => hash.to_owned(),
            Step::Nothing | Step::Second { .. } => return None,
        };
        Some(Poke {
            pod: pod_ref(observed, pod),
            told,
        })
    });
    pokes.collect()
}

/// When to look again, `made` being those that are made now: after the first for the second, and after the
/// second in case it failed.
pub(in crate::claim::plan) fn due(
    observed: &Observed,
    hash: &str,
    made: &[Poke],
    now: Timestamp,
) -> Option<Duration> {
    let waits = staying(observed).filter_map(|pod| match Step::of(pod, hash) {
        Step::Second { due } => Some(due.saturating_sub(now.as_second())),
        Step::Nothing | Step::First => None,
    });
    let waits = waits.filter(|wait| *wait > 0);
    let looks = (!made.is_empty()).then_some(AGAIN_AFTER);
    let seconds = waits.chain(looks).min()?;
    Some(Duration::from_secs(seconds.unsigned_abs()))
}

fn staying(observed: &Observed) -> impl Iterator<Item = &ObservedPod> {
    let pods = observed.proxy.pods.iter();
    pods.filter(|pod| pod.stays())
}
