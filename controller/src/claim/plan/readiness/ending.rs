//! Why node or cluster put an end to a pod, in words a person understands. Pure.

use sandgate_shared::reason;

use super::{cause::ended, words::first_sentence};
use crate::claim::{
    observed::{Disruption, ObservedPod},
    plan::Finding,
};

/// How the kubelet begins what it says of a pod that it does not take.
const REJECTED: &str = "Pod was rejected: ";

/// What a pod that finished or is being deleted says of its end; nothing of one that was simply
/// deleted.
pub(super) fn of_pod(pod: &ObservedPod) -> Option<Finding> {
    match &pod.disruption {
        Some(disruption) => of_disruption(disruption, pod.finished),
        // A pod that is being deleted is ended by that, however its programs took it.
        None if pod.finished && !pod.deleting => pod
            .containers
            .iter()
            .find_map(|container| Some(ended(container, container.terminated.as_ref()?))),
        None => None,
    }
}

fn of_disruption(disruption: &Disruption, finished: bool) -> Option<Finding> {
    let words = disruption.message.as_str();
    if let Some(words) = words.strip_prefix(REJECTED).filter(|_| finished) {
        return Some(refused(words, &disruption.reason));
    }
    let finding = match disruption.reason.as_str() {
        "Evicted" => evicted(&format!(
            "was evicted from its node: {}. A new pod is made by itself, with empty scratch directories; where this happens again, raise what the class requests or limits, or give its nodes more room",
            first_sentence(words),
        )),
        "EvictionByEvictionAPI" => evicted(
            "was evicted from its node, as when a node is drained. A new pod is made by itself, with empty scratch directories",
        ),
        "PreemptionByScheduler" | "Preempting" => evicted(
            "gave way to a pod of higher priority. A new pod is made by itself as soon as there is room for it",
        ),
        "DeletionByTaintManager" | "DeletionByPodGC" => node_lost(),
        reason if finished => evicted(&format!(
            "was ended by its node: {} ({reason}). A new pod is made by itself, with empty scratch directories",
            first_sentence(words),
        )),
        _ => return None,
    };
    Some(finding)
}

/// What is said of `Node didn't have enough resource: cpu, requested: 1000, used: …`, without how much.
fn refused(words: &str, reason: &str) -> Finding {
    let words = words.split(", requested: ").next().unwrap_or(words);
    Finding {
        reason: reason::REFUSED_BY_NODE,
        message: format!(
            "the node refuses the sandbox's pod: {} ({reason}). Another pod is made by itself",
            first_sentence(words),
        ),
    }
}

fn evicted(what: &str) -> Finding {
    Finding {
        reason: reason::EVICTED,
        message: format!("the sandbox's pod {what}"),
    }
}

/// What is said of a node that is silent or gone.
pub(super) fn node_lost() -> Finding {
    Finding {
        reason: reason::NODE_LOST,
        message: "the sandbox's node does not answer, or is gone; the sandbox is ready again when the node is back, or when the cluster gave the node up and made a new pod elsewhere"
            .to_owned(),
    }
}
