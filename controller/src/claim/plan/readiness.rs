//! Can the sandbox be dialled, and if not, why not: read from the pod itself, not from the
//! Deployment two controllers later (C-018 to C-022). Pure.
//!
//! A message that a person reads stays the same while the cause does: back-off times and restart
//! counts are left out of it, so that a crash loop does not become a status write each time.

use std::collections::BTreeSet;

use sandgate_shared::reason::{self, condition};

use super::{Finding, gate::ever_bound};
use crate::claim::observed::{Observed, ObservedContainer, ObservedPod, Terminated};

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
    let sets = own_replica_sets(observed, deployment);
    let mine: Vec<&ObservedPod> = own_pods(observed, &sets).collect();
    if mine.iter().any(|pod| pod.ready) {
        return Health::Ready;
    }
    let newest = mine
        .into_iter()
        .max_by_key(|pod| (pod.created, pod.uid.as_str()));
    let cause = match newest {
        Some(pod) => pod_cause(observed, pod),
        None => replica_failure(observed, &sets),
    };
    Health::NotReady(cause.unwrap_or_else(|| starting(observed)))
}

fn own_pods<'a>(
    observed: &'a Observed,
    sets: &BTreeSet<&str>,
) -> impl Iterator<Item = &'a ObservedPod> {
    observed.pods.iter().filter(move |pod| {
        let owner = pod.controller.as_deref();
        !pod.deleting && !pod.finished && owner.is_some_and(|owner| sets.contains(owner))
    })
}

fn own_replica_sets<'a>(observed: &'a Observed, deployment: Option<&str>) -> BTreeSet<&'a str> {
    let sets = observed.replica_sets.iter();
    sets.filter(|set| deployment.is_some() && set.controller.as_deref() == deployment)
        .map(|set| set.uid.as_str())
        .collect()
}

fn replica_failure(observed: &Observed, sets: &BTreeSet<&str>) -> Option<Finding> {
    let failure = observed
        .replica_sets
        .iter()
        .filter(|set| sets.contains(set.uid.as_str()))
        .find_map(|set| set.failure.as_deref())?;
    Some(Finding {
        reason: reason::POD_REFUSED,
        message: format!(
            "the sandbox's pod is refused: {failure}. It is tried again by itself; free the quota, or correct the class or the policy that refuses it"
        ),
    })
}

fn pod_cause(observed: &Observed, pod: &ObservedPod) -> Option<Finding> {
    if let Some(message) = &pod.unschedulable {
        return Some(Finding {
            reason: reason::UNSCHEDULABLE,
            message: message.clone(),
        });
    }
    let unready = pod.containers.iter().filter(|container| !container.ready);
    let mut causes = unready.filter_map(|container| container_cause(observed, container));
    causes.next()
}

fn container_cause(observed: &Observed, container: &ObservedContainer) -> Option<Finding> {
    let waiting = container.waiting.as_ref();
    let why = waiting.map_or("", |waiting| waiting.reason.as_str());
    let words = waiting.map_or("", |waiting| waiting.message.as_str());
    match why {
        "ErrImagePull"
        | "ImagePullBackOff"
        | "InvalidImageName"
        | "ErrImageNeverPull"
        | "ImageInspectError"
        | "RegistryUnavailable"
        | "SignatureValidationFailed" => Some(image_pull(observed, container, why, words)),
        "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError" => {
            Some(Finding {
                reason: reason::CONTAINER_CONFIG_ERROR,
                message: config_error(words),
            })
        }
        _ => container.terminated.as_ref().map(ended),
    }
}

/// The kubelet alternates between the fault and "back-off": the fault, once known, stays.
fn image_pull(
    observed: &Observed,
    container: &ObservedContainer,
    why: &str,
    words: &str,
) -> Finding {
    let standing = standing_message(observed, reason::IMAGE_PULL_FAILED);
    let known = standing.filter(|_| why == "ImagePullBackOff");
    let message = known.map_or_else(
        || {
            format!(
                "image {:?} cannot be pulled: {words} ({why}). It is tried again by itself; correct the class's image, or let the nodes reach and read its registry",
                container.image,
            )
        },
        str::to_owned,
    );
    Finding {
        reason: reason::IMAGE_PULL_FAILED,
        message,
    }
}

fn config_error(words: &str) -> String {
    let way_out = if words.contains("runAsNonRoot") || words.contains("run as root") {
        "a sandbox never runs as root: give the image a numeric USER other than 0"
    } else {
        "correct the class, then make the claim again"
    };
    format!("the container cannot be created: {words}; {way_out}")
}

fn ended(terminated: &Terminated) -> Finding {
    if terminated.reason == "OOMKilled" {
        return Finding {
            reason: reason::OOM_KILLED,
            message: "the sandbox used more memory than resources.limits.memory allows and was killed; it is started again by itself. Raise the class's limit if its work needs more"
                .to_owned(),
        };
    }
    Finding {
        reason: reason::CRASH_LOOP,
        message: format!(
            "the sandbox's program ends by itself ({}, exit code {}) and is started again; see the pod's log, and the class's image, args and env",
            terminated.reason, terminated.exit_code,
        ),
    }
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
            message: "the sandbox is being made; its pod has not reported ready yet".to_owned(),
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
