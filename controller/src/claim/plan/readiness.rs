//! Can the sandbox be dialled, and if not, why not: read from the pod itself, not from the
//! Deployment two controllers later (C-018 to C-022). Pure.
//!
//! A message that a person reads stays the same while the cause does: back-off times and restart
//! counts are left out of it, so that a crash loop does not become a status write each time. The
//! cause outlives its pod (O-038): it stands until a new pod is ready or says something else.

pub(super) mod cause;
mod ending;
pub(super) mod words;

use sandgate_shared::reason::{self, condition};

use super::{
    Finding,
    gate::{binds, ever_bound},
    lineage,
};
use crate::claim::observed::{Observed, ObservedPod};

/// Causes that a silent pod does not take back: a pod that once gave them is never silent again
/// before it is ready, so that the silence is its successor's.
const OUTLIVES_ITS_POD: [&str; 6] = [
    reason::EVICTED,
    reason::NODE_LOST,
    reason::REFUSED_BY_NODE,
    reason::OOM_KILLED,
    reason::CONTAINER_LOST,
    reason::CRASH_LOOP,
];

/// What the pods say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Health {
    /// A pod of ours is ready.
    Ready,
    /// None is, for this reason.
    NotReady(Finding),
}

/// Reads the sandbox's health. Only pods that our Deployment made count, whatever labels others
/// carry; `deployment` is the UID it has now, after what was written.
pub(super) fn health(observed: &Observed, deployment: Option<&str>) -> Health {
    let (staying, going): (Vec<_>, Vec<_>) =
        lineage::pods(observed, deployment).partition(|pod| pod.stays());
    if staying.iter().any(|pod| pod.ready) {
        return Health::Ready;
    }
    let cause = match newest(&staying) {
        Some(pod) => cause::of_pod(observed, pod),
        None => replica_failure(observed, deployment),
    };
    let cause = cause
        .or_else(|| newest(&going).and_then(ending::of_pod))
        .or_else(|| left_behind(observed));
    Health::NotReady(cause.unwrap_or_else(|| starting(observed)))
}

fn newest<'a>(pods: &[&'a ObservedPod]) -> Option<&'a ObservedPod> {
    let newest = pods
        .iter()
        .max_by_key(|pod| (pod.created, pod.uid.as_str()));
    newest.copied()
}

fn replica_failure(observed: &Observed, deployment: Option<&str>) -> Option<Finding> {
    let mut sets = lineage::replica_sets(observed, deployment);
    let failure = sets.find_map(|set| set.failure.as_deref())?;
    Some(Finding {
        reason: reason::POD_REFUSED,
        message: format!(
            "the sandbox's pod is refused: {failure}. It is tried again by itself; free the quota, or correct the class or the policy that refuses it"
        ),
    })
}

/// What stands in the status of a pod that went.
fn left_behind(observed: &Observed) -> Option<Finding> {
    OUTLIVES_ITS_POD.into_iter().find_map(|reason| {
        let message = standing_message(observed, reason)?.to_owned();
        Some(Finding { reason, message })
    })
}

/// What is said while nothing is known to be wrong.
pub(super) fn starting(observed: &Observed) -> Finding {
    if ever_bound(&observed.claim) {
        Finding {
            reason: reason::SANDBOX_NOT_READY,
            message: "the sandbox was bound and is not ready now; its addresses are withdrawn until it is"
                .to_owned(),
        }
    } else {
        Finding {
            reason: reason::SANDBOX_STARTING,
            message: if binds(&observed.claim.spec) {
                "the sandbox is being made: its egress proxy comes first, then its pod, which has not reported ready yet"
            } else {
                "the sandbox is being made; its pod has not reported ready yet"
            }
            .to_owned(),
        }
    }
}

/// The message of `Ready` as it stands, if it has this reason.
fn standing_message<'a>(observed: &'a Observed, reason: &str) -> Option<&'a str> {
    let status = observed.claim.status.as_ref()?;
    let mut conditions = status.conditions.iter().flatten();
    let ready = conditions.find(|found| found.type_ == condition::READY)?;
    (ready.reason == reason).then_some(ready.message.as_str())
}
