//! Finished pods go at once: such a pod keeps its address in the API while the node gives it to the
//! next pod, which an enforcer may then judge by the policies of the old one (O-038). Pure.
//!
//! Each costs one request, and none is made by it: the `ReplicaSet` replaces a pod when it finishes,
//! not when it goes. What was wrong with the pod stays in the claim's status.

use kube::ResourceExt;

use super::{PodRef, gate::owns, lineage};
use crate::claim::observed::{ObjectKind, Observed, ObservedPod};

/// The claim's own pods that have finished, the egress proxy's among them.
pub(super) fn finished(observed: &Observed) -> Vec<PodRef> {
    let uid = |kind: ObjectKind| {
        let live = observed.live(kind).filter(|_| owns(observed, kind));
        live.map(|live| live.uid.as_str())
    };
    let of_sandbox = lineage::pods(observed, uid(ObjectKind::Deployment));
    let of_proxy = lineage::proxy_pods(observed, uid(ObjectKind::EgressDeployment));
    let pods = of_sandbox.chain(of_proxy).filter(|pod| pod.finished);
    pods.map(|pod| pod_ref(observed, pod)).collect()
}

/// Refers to a pod of the claim.
pub(super) fn pod_ref(observed: &Observed, pod: &ObservedPod) -> PodRef {
    PodRef {
        namespace: observed.claim.namespace().unwrap_or_default(),
        name: pod.name.clone(),
        uid: pod.uid.clone(),
    }
}
