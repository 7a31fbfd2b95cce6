//! Sandgate's own pods, and which of them leads. Does I/O.

use std::collections::BTreeSet;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::api::ListParams;
use kube::runtime::wait::await_condition;
use kube::{Api, ResourceExt};
use sandgate_e2e::namespace::DEADLINE;
use sandgate_e2e::{Cluster, Outcome};
use sandgate_shared::render::Installation as Names;

use crate::workload::is_ready;

/// Sandgate's own pods.
pub fn pods(cluster: &Cluster) -> Api<Pod> {
    Api::namespaced(cluster.client(), &Names::default().namespace)
}

/// Names of those there are; one that is going still counts.
pub async fn operators(cluster: &Cluster) -> Outcome<BTreeSet<String>> {
    let ours = ListParams::default().labels("app.kubernetes.io/component=operator");
    let pods = pods(cluster).list(&ours).await?;
    Ok(pods.iter().map(ResourceExt::name_any).collect())
}

/// Waits until one of these pods leads, and says which.
pub async fn leads(cluster: &Cluster, pods: &BTreeSet<String>) -> Outcome<String> {
    let names = Names::default();
    let leases: Api<Lease> = Api::namespaced(cluster.client(), &names.namespace);
    let lease = format!("{}-controller", names.release);
    let held = await_condition(leases, &lease, |lease: Option<&Lease>| {
        holder(lease).is_some_and(|holder| pods.contains(holder))
    });
    let lease = tokio::time::timeout(DEADLINE, held).await??;
    Ok(holder(lease.as_ref()).unwrap_or_default().to_owned())
}

fn holder(lease: Option<&Lease>) -> Option<&str> {
    lease?.spec.as_ref()?.holder_identity.as_deref()
}

/// Waits until none of these pods is left.
pub async fn gone(cluster: &Cluster, old: &BTreeSet<String>) -> Outcome {
    for name in old {
        let gone = await_condition(pods(cluster), name, |pod: Option<&Pod>| pod.is_none());
        tokio::time::timeout(DEADLINE, gone).await??;
    }
    Ok(())
}

/// Waits until the pod is as `holds` says.
pub async fn until(cluster: &Cluster, pod: &str, holds: impl Fn(&Pod) -> bool) -> Outcome<Pod> {
    let reached = await_condition(pods(cluster), pod, |pod: Option<&Pod>| {
        pod.is_some_and(&holds)
    });
    let pod = tokio::time::timeout(DEADLINE, reached).await??;
    Ok(pod.expect("it was there"))
}

/// Waits until there are two, and both are ready; their names.
pub async fn both_ready(cluster: &Cluster) -> Outcome<BTreeSet<String>> {
    let names = operators(cluster).await?;
    assert_eq!(names.len(), 2, "{names:?}");
    for name in &names {
        until(cluster, name, is_ready).await?;
    }
    Ok(names)
}

/// What the container of the webhook is up to.
pub fn webhook(pod: &Pod) -> Option<&ContainerStatus> {
    let containers = pod.status.as_ref()?.container_statuses.as_ref()?;
    containers.iter().find(|it| it.name == "webhook")
}
