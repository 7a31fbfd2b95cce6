//! What there is in the cluster: the operator, nodes, DNS, the API server. Does I/O.

mod nodes;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

use super::facts::{Addresses, Peer};
use super::installed::{self, Installed};
use super::stage::cluster_ips;
use super::trouble::Trouble;

pub use nodes::{Nodes, nodes};

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
