//! Whether the egress proxy answers, read from its pod. Pure.

use sandgate_shared::reason;

use crate::claim::{
    observed::{Observed, ObservedContainer, ObservedPod, Unready},
    plan::{
        Finding, lineage,
        readiness::{cause::OF_IMAGES, words::told},
    },
};

/// Whether a pod of the proxy's Deployment is ready.
pub(in crate::claim::plan) fn available(observed: &Observed) -> bool {
    pods(observed).any(|pod| pod.ready)
}

/// Why none is; nothing is known of one that is merely on its way.
pub(in crate::claim::plan) fn trouble(observed: &Observed) -> Option<Finding> {
    let newest = pods(observed).max_by_key(|pod| (pod.created, pod.uid.as_str()));
    let why = match newest {
        Some(pod) => of_pod(pod)?,
        None => refused(observed)?,
    };
    Some(Finding {
        reason: reason::EGRESS_PROXY_NOT_READY,
        message: format!(
            "the sandbox's egress proxy is not ready: {why}; it is tried again by itself"
        ),
    })
}

fn pods(observed: &Observed) -> impl Iterator<Item = &ObservedPod> {
    let deployment = observed.proxy.deployment.as_ref();
    let pods = lineage::proxy_pods(observed, deployment.map(|live| live.uid.as_str()));
    pods.filter(|pod| pod.stays())
}

fn refused(observed: &Observed) -> Option<String> {
    let deployment = observed.proxy.deployment.as_ref()?;
    let mut sets = lineage::replica_sets(observed, Some(deployment.uid.as_str()));
    let failure = sets.find_map(|set| set.failure.as_deref())?;
    Some(format!("its pod is refused: {failure}"))
}

fn of_pod(pod: &ObservedPod) -> Option<String> {
    if let Some(message) = &pod.unschedulable {
        return Some(format!("its pod finds no node: {message}"));
    }
    if pod.unready == Some(Unready::Node) {
        return Some("its node does not answer".to_owned());
    }
    let mut unready = pod.containers.iter().filter(|container| !container.ready);
    let cause = unready.find_map(of_container);
    cause.or_else(|| {
        pod.unready
            .map(|_| "it does not answer its readiness probe".to_owned())
    })
}

/// The same words while the cause is the same: a kubelet alternates between a fault and its back-off.
fn of_container(container: &ObservedContainer) -> Option<String> {
    let waits = container.waiting.as_ref();
    let waits = waits.filter(|waits| !waits.is_on_its_way());
    if let Some(ended) = &container.terminated {
        let (reason, code) = (&ended.reason, ended.exit_code);
        return Some(format!(
            "it ends by itself ({reason}, exit code {code}); see its log"
        ));
    }
    let waits = waits?;
    if OF_IMAGES.contains(&waits.reason.as_str()) {
        return Some(format!(
            "image {:?} cannot be pulled; its pod's Events say why",
            container.image
        ));
    }
    Some(format!("{} ({})", told(&waits.message), waits.reason))
}
