//! The nodes that can be measured on, and why others cannot. Does I/O.

use k8s_openapi::api::core::v1::{Node as NodeObject, NodeSystemInfo, Pod};
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

use crate::isolation::facts::{Addresses, Node};
use crate::isolation::installed::{Installed, LABELS};
use crate::isolation::report::Cluster;
use crate::isolation::trouble::Trouble;

/// The nodes of a cluster: the one to measure on, and another if there is one.
pub struct Nodes {
    /// Where sandboxes will run.
    pub near: Node,
    /// Another.
    pub far: Option<Node>,
    /// A sentence for each node that was passed over.
    pub passed_over: Vec<String>,
    /// What the report says of the cluster.
    pub cluster: Cluster,
}

/// Finds the nodes; `wanted` names the one to measure on.
pub async fn nodes(
    client: &Client,
    wanted: Option<&str>,
    installed: &Installed,
) -> Result<Nodes, Trouble> {
    let nodes: Api<NodeObject> = Api::all(client.clone());
    let all = nodes.list(&ListParams::default()).await;
    let all = all.map_err(|error| Trouble::of("list nodes", error))?.items;
    let architectures = architectures(client, &all, installed).await?;
    let (mut fit, passed_over) = choose(&all, &architectures);
    let at = match wanted {
        Some(name) => fit.iter().position(|node| node.name_any() == name),
        None => (!fit.is_empty()).then_some(0),
    };
    let Some(at) = at else {
        return Err(Trouble::NoNode(none(wanted, &passed_over)));
    };
    let near = fit.remove(at);
    let version = client.apiserver_version().await;
    let version = version.map_err(|error| Trouble::of("read the API server's version", error))?;
    let info = info(near);
    let told = |of: fn(&NodeSystemInfo) -> &String| info.map(of).cloned().unwrap_or_default();
    let capacity = near.status.as_ref().and_then(|it| it.capacity.as_ref());
    let cpus = capacity.and_then(|capacity| capacity.get("cpu"));
    Ok(Nodes {
        near: node(near),
        far: fit.first().copied().map(node),
        passed_over,
        cluster: Cluster {
            kubernetes: version.git_version,
            nodes: all.len(),
            kernel: told(|info| &info.kernel_version),
            container_runtime: told(|info| &info.container_runtime_version),
            os: told(|info| &info.os_image),
            architecture: told(|info| &info.architecture),
            cpus: cpus.map(|cpus| cpus.0.clone()).unwrap_or_default(),
            operator_image: String::new(),
            probe_image: String::new(),
        },
    })
}

/// The architectures of the nodes that the operator runs on: its image, which holds the probe, has
/// those at least. Empty if none runs.
async fn architectures(
    client: &Client,
    nodes: &[NodeObject],
    installed: &Installed,
) -> Result<Vec<String>, Trouble> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), &installed.namespace);
    let found = pods.list(&ListParams::default().labels(LABELS)).await;
    let what = format!("list pods of namespace {}", installed.namespace);
    let found = found.map_err(|error| Trouble::of(what, error))?.items;
    let ready = found
        .iter()
        .filter(|pod| crate::isolation::pods::ready(pod));
    let on = ready.filter_map(|pod| pod.spec.as_ref()?.node_name.as_deref());
    let on: Vec<&str> = on.collect();
    let theirs = nodes
        .iter()
        .filter(|node| on.contains(&node.name_any().as_str()));
    Ok(theirs
        .filter_map(info)
        .map(|info| info.architecture.clone())
        .collect())
}

/// Those that can be measured on, and a sentence for each of the others.
fn choose<'a>(
    all: &'a [NodeObject],
    architectures: &[String],
) -> (Vec<&'a NodeObject>, Vec<String>) {
    let mut fit = Vec::new();
    let mut passed_over = Vec::new();
    for node in all {
        match unfit(node, architectures) {
            None => fit.push(node),
            Some(why) => {
                let name = node.name_any();
                passed_over.push(format!("node {name} is passed over: {why}"));
            }
        }
    }
    (fit, passed_over)
}

/// Why a node cannot be measured on.
fn unfit(node: &NodeObject, architectures: &[String]) -> Option<String> {
    let spec = node.spec.as_ref();
    let conditions = node.status.as_ref()?.conditions.as_deref();
    let mut conditions = conditions.into_iter().flatten();
    if !conditions.any(|found| found.type_ == "Ready" && found.status == "True") {
        return Some("it is not Ready".to_owned());
    }
    if spec.is_some_and(|spec| spec.unschedulable == Some(true)) {
        return Some("it is cordoned".to_owned());
    }
    let taints = spec.and_then(|spec| spec.taints.as_deref());
    let mut taints = taints.into_iter().flatten();
    if let Some(taint) = taints.find(|taint| taint.effect != "PreferNoSchedule") {
        let (key, effect) = (&taint.key, &taint.effect);
        return Some(format!(
            "it has the taint {key}:{effect}, which no sandbox tolerates"
        ));
    }
    let info = info(node)?;
    if info.operating_system != "linux" {
        return Some(format!(
            "its system is {}, not linux",
            info.operating_system
        ));
    }
    let runs = architectures.is_empty() || architectures.contains(&info.architecture);
    (!runs).then(|| {
        let (has, runs) = (&info.architecture, architectures.join(", "));
        format!("its processors are {has}, and the operator's image is known to run on {runs}")
    })
}

fn info(node: &NodeObject) -> Option<&NodeSystemInfo> {
    node.status.as_ref()?.node_info.as_ref()
}

/// What is said where no node is left.
fn none(wanted: Option<&str>, passed_over: &[String]) -> String {
    let named = wanted.map(|name| format!(", or {name} is not among them"));
    let mut words = named.unwrap_or_default();
    if !passed_over.is_empty() {
        words = format!("{words} ({})", passed_over.join("; "));
    }
    words
}

fn node(node: &NodeObject) -> Node {
    let status = node.status.as_ref();
    let addresses = status.and_then(|status| status.addresses.as_deref());
    let internal = addresses
        .unwrap_or_default()
        .iter()
        .filter(|address| address.type_ == "InternalIP");
    let spec = node.spec.as_ref();
    let ranges = spec.and_then(|spec| spec.pod_cidrs.as_deref());
    Node {
        // Pods are kept on a node by this label, which need not be the name.
        name: node
            .labels()
            .get("kubernetes.io/hostname")
            .cloned()
            .unwrap_or_else(|| node.name_any()),
        addresses: Addresses::read(internal.map(|address| address.address.as_str())),
        gateway: Addresses::first_of(ranges.into_iter().flatten().map(String::as_str)),
    }
}

#[cfg(test)]
mod tests;
