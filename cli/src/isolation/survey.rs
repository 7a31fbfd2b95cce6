//! What there is in the cluster: nodes, DNS, the API server. Does I/O.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Node as NodeObject, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

use super::facts::{Addresses, Node, Peer};
use super::installed::{self, Installed};
use super::report::Cluster;
use super::stage::cluster_ips;
use super::trouble::Trouble;

/// The Sandgate that is installed.
pub async fn installed(client: &Client) -> Result<Installed, Trouble> {
    let deployments: Api<Deployment> = Api::all(client.clone());
    let ours = ListParams::default().labels(installed::LABELS);
    let found = deployments.list(&ours).await;
    let found = found.map_err(|error| Trouble::of("list Deployments of all namespaces", error))?;
    found
        .items
        .iter()
        .find_map(installed::read)
        .ok_or(Trouble::NotInstalled)
}

/// The nodes of a cluster: the one to measure on, and another if there is one.
pub struct Nodes {
    /// Where sandboxes will run.
    pub near: Node,
    /// Another.
    pub far: Option<Node>,
    /// What the report says of the cluster.
    pub cluster: Cluster,
}

/// Finds the nodes; `wanted` names the one to measure on.
pub async fn nodes(client: &Client, wanted: Option<&str>) -> Result<Nodes, Trouble> {
    let nodes: Api<NodeObject> = Api::all(client.clone());
    let all = nodes.list(&ListParams::default()).await;
    let all = all.map_err(|error| Trouble::of("list nodes", error))?.items;
    let mut fit: Vec<&NodeObject> = all.iter().filter(|node| fits(node)).collect();
    let at = match wanted {
        Some(name) => fit.iter().position(|node| node.name_any() == name),
        None => (!fit.is_empty()).then_some(0),
    };
    let Some(at) = at else {
        let named = wanted.map(|name| format!(", or {name} is not among them"));
        return Err(Trouble::NoNode(named.unwrap_or_default()));
    };
    let near = fit.remove(at);
    let version = client.apiserver_version().await;
    let version = version.map_err(|error| Trouble::of("read the API server's version", error))?;
    let info = near.status.as_ref().and_then(|it| it.node_info.as_ref());
    let told = |of: fn(&k8s_openapi::api::core::v1::NodeSystemInfo) -> &String| {
        info.map(of).cloned().unwrap_or_default()
    };
    let capacity = near.status.as_ref().and_then(|it| it.capacity.as_ref());
    let cpus = capacity.and_then(|capacity| capacity.get("cpu"));
    Ok(Nodes {
        near: node(near),
        far: fit.first().copied().map(node),
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

fn fits(node: &NodeObject) -> bool {
    let spec = node.spec.as_ref();
    let cordoned = spec.is_some_and(|spec| spec.unschedulable == Some(true));
    let mut taints = spec
        .and_then(|spec| spec.taints.as_deref())
        .into_iter()
        .flatten();
    let tainted = taints.any(|taint| taint.effect != "PreferNoSchedule");
    let status = node.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_deref());
    let mut conditions = conditions.into_iter().flatten();
    let ready = conditions.any(|found| found.type_ == "Ready" && found.status == "True");
    ready && !cordoned && !tainted
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

/// The cluster's DNS, and the port its pods listen on.
pub async fn dns(client: &Client, installed: &Installed) -> Result<Option<(Peer, u16)>, Trouble> {
    let services: Api<Service> = Api::namespaced(client.clone(), &installed.dns_namespace);
    let all = services.list(&ListParams::default()).await;
    let all = all.map_err(|error| Trouble::of("list Services of the cluster's DNS", error))?;
    let serves_dns = |service: &&Service| {
        let spec = service.spec.as_ref();
        let ports = spec.and_then(|spec| spec.ports.as_deref());
        let mut ports = ports.into_iter().flatten();
        ports.any(|port| port.port == 53 && port.protocol.as_deref() == Some("UDP"))
    };
    let selects_its_pods = |service: &&Service| {
        let selector = service
            .spec
            .as_ref()
            .and_then(|spec| spec.selector.as_ref());
        selector.is_some_and(|selector| {
            let mut pairs = selector.iter();
            pairs.any(|(key, value)| installed.dns_pod_labels.get(key) == Some(value))
        })
    };
    let mut candidates = all.items.iter().filter(serves_dns);
    let Some(service) = candidates.find(selects_its_pods) else {
        return Ok(None);
    };
    let behind = behind(client, &installed.dns_namespace, &service.name_any(), "UDP").await?;
    Ok(Some((
        Peer {
            pod: behind.0,
            service: cluster_ips(service),
        },
        behind.1.unwrap_or(53),
    )))
}

/// The API server, and the port of its own endpoint.
pub async fn api_server(client: &Client) -> Result<(Peer, u16), Trouble> {
    let services: Api<Service> = Api::namespaced(client.clone(), "default");
    let service = services.get("kubernetes").await;
    let service = service.map_err(|error| Trouble::of("read Service kubernetes", error))?;
    let behind = behind(client, "default", "kubernetes", "TCP").await?;
    Ok((
        Peer {
            pod: behind.0,
            service: cluster_ips(&service),
        },
        behind.1.unwrap_or(6443),
    ))
}

/// The addresses behind a Service, and the port of this protocol there.
async fn behind(
    client: &Client,
    namespace: &str,
    service: &str,
    protocol: &str,
) -> Result<(Addresses, Option<u16>), Trouble> {
    let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), namespace);
    let of_service = ListParams::default().labels(&format!("kubernetes.io/service-name={service}"));
    let slices = slices.list(&of_service).await;
    let slices = slices
        .map_err(|error| Trouble::of(format!("list EndpointSlices of {service}"), error))?
        .items;
    let endpoints = slices.iter().flat_map(|slice| &slice.endpoints);
    let addresses = endpoints.flat_map(|endpoint| endpoint.addresses.iter());
    let mut ports = slices.iter().flat_map(|slice| slice.ports.iter().flatten());
    let port = ports.find(|port| port.protocol.as_deref() == Some(protocol));
    Ok((
        Addresses::read(addresses.map(String::as_str)),
        port.and_then(|port| u16::try_from(port.port?).ok()),
    ))
}
