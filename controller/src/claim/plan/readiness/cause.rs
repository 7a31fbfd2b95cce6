//! Why a pod that stays is not ready, in words a person understands. Pure.

use sandgate_shared::reason;

use super::{ending::node_lost, standing_message, words::told};
use crate::claim::{
    observed::{NEVER_STARTED, Observed, ObservedContainer, ObservedPod, Terminated, Unready},
    plan::{Finding, deployment::CONTAINER},
};

/// What the kubelet says of an image that it cannot use.
pub(in crate::claim::plan) const OF_IMAGES: [&str; 7] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
    "RegistryUnavailable",
    "SignatureValidationFailed",
];

/// What it says of a container that it cannot make.
const OF_CONFIGURATION: [&str; 5] = [
    "CreateContainerConfigError",
    "CreateContainerError",
    "PreCreateHookError",
    "PreStartHookError",
    "RunContainerError",
];

/// Why the pod is not ready; nothing is known of one that is merely on its way.
pub(super) fn of_pod(observed: &Observed, pod: &ObservedPod) -> Option<Finding> {
    if let Some(message) = &pod.unschedulable {
        return Some(Finding {
            reason: reason::UNSCHEDULABLE,
            message: message.clone(),
        });
    }
    if pod.unready == Some(Unready::Node) {
        return Some(node_lost());
    }
    let unready = pod.containers.iter().filter(|container| !container.ready);
    let mut causes = unready.filter_map(|container| of_container(observed, container));
    causes.next().or_else(|| pod.unready.map(|_| probe_fails()))
}

fn of_container(observed: &Observed, container: &ObservedContainer) -> Option<Finding> {
    let waiting = container.waiting.as_ref();
    let why = waiting.map_or("", |waiting| waiting.reason.as_str());
    let words = waiting.map_or("", |waiting| waiting.message.as_str());
    if OF_IMAGES.contains(&why) {
        return Some(image(observed, container, why, words));
    }
    if OF_CONFIGURATION.contains(&why) {
        return Some(configuration(container, words));
    }
    let terminated = container.terminated.as_ref()?;
    Some(ended(container, terminated))
}

fn probe_fails() -> Finding {
    Finding {
        reason: reason::SANDBOX_NOT_READY,
        message: "the sandbox runs, but does not answer its readiness probe any more; its addresses are withdrawn until it does"
            .to_owned(),
    }
}

/// The kubelet alternates between the fault and "back-off": the fault, once known, stays.
fn image(observed: &Observed, container: &ObservedContainer, why: &str, words: &str) -> Finding {
    let (fault, words) = fault_behind(why, words);
    let standing = standing_message(observed, reason::IMAGE_PULL_FAILED);
    let known = standing.filter(|_| fault == "ImagePullBackOff");
    let message = known.map_or_else(
        || {
            let image = &container.image;
            match fault {
                "ErrImageNeverPull" => format!(
                    "image {image:?} is not on the node, and the class says never to pull it (ErrImageNeverPull). It is looked for again by itself; put the image on the nodes, or set the class's imagePullPolicy to IfNotPresent and make the claim again"
                ),
                "InvalidImageName" => format!(
                    "image {image:?} is no name of an image: {} (InvalidImageName). Correct the class's image and make the claim again",
                    told(words),
                ),
                _ => format!(
                    "image {image:?} cannot be pulled: {} ({fault}). It is tried again by itself; let the nodes reach and read its registry, or correct the class's image and make the claim again",
                    told(words),
                ),
            }
        },
        str::to_owned,
    );
    Finding {
        reason: reason::IMAGE_PULL_FAILED,
        message,
    }
}

/// A kubelet that backs off repeats the fault behind a prefix: `Back-off pulling image "x":
/// ErrImagePull: not found`. Older ones do not.
fn fault_behind<'a>(why: &'a str, words: &'a str) -> (&'a str, &'a str) {
    let faults = OF_IMAGES.into_iter().filter(|fault| *fault != why);
    let mut behind = faults.filter_map(|fault| {
        let (_, rest) = words.split_once(&format!("\": {fault}: "))?;
        Some((fault, rest))
    });
    match why {
        "ImagePullBackOff" => behind.next().unwrap_or((why, words)),
        _ => (why, words),
    }
}

fn configuration(container: &ObservedContainer, words: &str) -> Finding {
    let way_out = if words.contains("runAsNonRoot") || words.contains("run as root") {
        "a sandbox never runs as root: give the image a numeric USER other than 0"
    } else {
        "correct the class, then make the claim again"
    };
    Finding {
        reason: reason::CONTAINER_CONFIG_ERROR,
        message: format!(
            "{} cannot be started: {}; {way_out}",
            named(container, "the container"),
            told(words),
        ),
    }
}

/// How a container ended.
pub(super) fn ended(container: &ObservedContainer, terminated: &Terminated) -> Finding {
    let Terminated {
        reason,
        exit_code,
        message,
    } = terminated;
    match reason.as_str() {
        NEVER_STARTED => configuration(container, message),
        "OOMKilled" => Finding {
            reason: reason::OOM_KILLED,
            message: format!(
                "{} used more memory than resources.limits.memory allows and was killed; it is started again by itself. Raise the class's limit if its work needs more",
                named(container, "the sandbox"),
            ),
        },
        "Unknown" | "ContainerStatusUnknown" => Finding {
            reason: reason::CONTAINER_LOST,
            message: format!(
                "{} was lost together with its node or container runtime ({reason}, exit code {exit_code}), as when the node is restarted; it is started again by itself",
                named(container, "the sandbox"),
            ),
        },
        _ => Finding {
            reason: reason::CRASH_LOOP,
            message: format!(
                "{} ends by itself ({reason}, exit code {exit_code}) and is started again; see the pod's log, and the class's image, args and env",
                named(container, "the sandbox's program"),
            ),
        },
    }
}

/// Ours by what it is; one that somebody's webhook put beside it by its name.
fn named(container: &ObservedContainer, ours: &str) -> String {
    if container.name == CONTAINER {
        ours.to_owned()
    } else {
        format!("container {:?}, which is not the class's,", container.name)
    }
}
