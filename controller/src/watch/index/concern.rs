//! Whether a change is news to a decision. Pure.

use sandgate_shared::api::SandboxClaim;

use crate::claim::observed::{LiveObject, ObservedPod, ObservedReplicaSet};

/// A claim changed in anything but the bookkeeping of the API server.
pub(super) fn claim(before: Option<&SandboxClaim>, after: &SandboxClaim) -> bool {
    before.is_none_or(|before| {
        before.spec != after.spec
            || before.status != after.status
            || before.metadata.uid != after.metadata.uid
            || before.metadata.deletion_timestamp != after.metadata.deletion_timestamp
            || before.metadata.labels != after.metadata.labels
            || before.metadata.annotations != after.metadata.annotations
    })
}

/// An object of ours changed in anything but its version: its status is none of our business.
pub(super) fn object(before: Option<&LiveObject>, after: &LiveObject) -> bool {
    before.is_none_or(|before| {
        let resource_version = after.resource_version.clone();
        LiveObject {
            resource_version,
            ..before.clone()
        } != *after
    })
}

/// A pod says something new. One that was just made, or is on its way, says nothing yet.
pub(super) fn pod(before: Option<&ObservedPod>, after: &ObservedPod) -> bool {
    says(before) != says(Some(after))
}

/// A `ReplicaSet` began or ceased to fail, or fails for another reason.
pub(super) fn replica_set(before: Option<&ObservedReplicaSet>, after: &ObservedReplicaSet) -> bool {
    before.and_then(|set| set.failure.as_deref()) != after.failure.as_deref()
}

/// What a pod says that could matter; `None` for one that is on its way.
fn says(pod: Option<&ObservedPod>) -> Option<ObservedPod> {
    let mut pod = pod?.clone();
    // What we told its kubelet ourselves.
    pod.allowlist = None;
    for container in &mut pod.containers {
        container.waiting.take_if(|waiting| waiting.is_on_its_way());
        // The readiness of the pod speaks for its containers.
        container.ready = false;
        container.image.clear();
    }
    pod.containers
        .retain(|container| container.waiting.is_some() || container.terminated.is_some());
    let silent = !pod.ready
        && !pod.finished
        && !pod.deleting
        && pod.unready.is_none()
        && pod.disruption.is_none()
        && pod.unschedulable.is_none()
        && pod.containers.is_empty();
    (!silent).then_some(pod)
}
