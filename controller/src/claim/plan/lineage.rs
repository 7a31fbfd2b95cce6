//! Which pods are the claim's own: those that its Deployment made, whatever labels others carry. Pure.

use std::collections::BTreeSet;

use crate::claim::observed::{Observed, ObservedPod, ObservedReplicaSet};

/// The `ReplicaSets` that the Deployment of this UID controls.
pub(super) fn replica_sets<'a>(
    observed: &'a Observed,
    deployment: Option<&'a str>,
) -> impl Iterator<Item = &'a ObservedReplicaSet> {
    let sets = observed.replica_sets.iter();
    sets.filter(move |set| deployment.is_some() && set.controller.as_deref() == deployment)
}

/// The pods that those control, on their way out or not.
pub(super) fn pods<'a>(
    observed: &'a Observed,
    deployment: Option<&'a str>,
) -> impl Iterator<Item = &'a ObservedPod> {
    of(observed, deployment, &observed.pods)
}

/// The same of the egress proxy's Deployment.
pub(super) fn proxy_pods<'a>(
    observed: &'a Observed,
    deployment: Option<&'a str>,
) -> impl Iterator<Item = &'a ObservedPod> {
    of(observed, deployment, &observed.proxy.pods)
}

fn of<'a>(
    observed: &'a Observed,
    deployment: Option<&'a str>,
    pods: &'a [ObservedPod],
) -> impl Iterator<Item = &'a ObservedPod> {
    let sets: BTreeSet<&str> = replica_sets(observed, deployment)
        .map(|set| set.uid.as_str())
        .collect();
    pods.iter().filter(move |pod| {
        let owner = pod.controller.as_deref();
        owner.is_some_and(|owner| sets.contains(owner))
    })
}
