//! Finished pods go at once: such a pod keeps its address in the API while the node gives it to the
//! next pod, which an enforcer may then judge by the policies of the old one (O-038). Pure.
//!
//! Each costs one request, and none is made by it: the `ReplicaSet` replaces a pod when it finishes,
//! not when it goes. What was wrong with the pod stays in the claim's status.

use kube::ResourceExt;

use super::{FinishedPod, gate::owns, lineage};
use crate::claim::observed::{ObjectKind, Observed};

/// The claim's own pods that have finished.
pub(super) fn finished(observed: &Observed) -> Vec<FinishedPod> {
    let deployment = observed.deployment.as_ref();
    let ours = deployment.filter(|_| owns(observed, ObjectKind::Deployment));
    let pods = lineage::pods(observed, ours.map(|live| live.uid.as_str()));
    pods.filter(|pod| pod.finished)
        .map(|pod| FinishedPod {
            namespace: observed.claim.namespace().unwrap_or_default(),
            name: pod.name.clone(),
            uid: pod.uid.clone(),
        })
        .collect()
}
