//! The Sandgate that is installed: its image, and what its controller was told of the cluster. Pure.

use std::collections::BTreeMap;
use std::net::IpAddr;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Container, PodSpec};
use kube::ResourceExt;

/// Labels of the operator's Deployment.
pub const LABELS: &str = "app.kubernetes.io/name=sandgate,app.kubernetes.io/component=operator";

/// What is read of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Its namespace.
    pub namespace: String,
    /// Its image, which holds the probe too.
    pub image: String,
    /// Label of an agent runtime's pods.
    pub runtime_pod_label: String,
    /// Namespace of the cluster's DNS.
    pub dns_namespace: String,
    /// Labels of its pods.
    pub dns_pod_labels: BTreeMap<String, String>,
    /// Addresses of DNS resolvers besides.
    pub dns_addresses: Vec<IpAddr>,
    /// Ports that `egress.dns` opens, there too.
    pub dns_ports: Vec<u16>,
    /// The cluster's DNS domain.
    pub cluster_domain: String,
}

/// Reads the Deployment; `None` if it is none of the operator.
pub fn read(deployment: &Deployment) -> Option<Installed> {
    let pod = deployment.spec.as_ref()?.template.spec.as_ref()?;
    let controller = controller(pod)?;
    let told = |flag: &str, variable: &str, default: &str| {
        told(controller, flag, variable).unwrap_or_else(|| default.to_owned())
    };
    let labels = told(
        "--dns-pod-label",
        "SANDGATE_DNS_POD_LABEL",
        "k8s-app=kube-dns",
    );
    let labels = labels.split(',').filter_map(|pair| pair.split_once('='));
    Some(Installed {
        namespace: deployment.namespace()?,
        image: controller.image.clone()?,
        runtime_pod_label: told(
            "--runtime-pod-label",
            "SANDGATE_RUNTIME_POD_LABEL",
            "omnia.altairalabs.ai/agent-runtime",
        ),
        dns_namespace: told("--dns-namespace", "SANDGATE_DNS_NAMESPACE", "kube-system"),
        dns_pod_labels: labels
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect(),
        dns_addresses: addresses(&values(controller, "--dns-address", "SANDGATE_DNS_ADDRESS")),
        dns_ports: ports(&values(controller, "--dns-port", "SANDGATE_DNS_PORT")),
        cluster_domain: told(
            "--cluster-domain",
            "SANDGATE_CLUSTER_DOMAIN",
            "cluster.local",
        ),
    })
}

/// The container of the operator's pod that holds the controller.
pub fn controller(pod: &PodSpec) -> Option<&Container> {
    let mut containers = pod.containers.iter();
    let controller = containers.find(|container| {
        let mut words = words(container);
        words.any(|word| word.ends_with("sandgate-controller"))
    });
    controller.or_else(|| pod.containers.first())
}

fn words(container: &Container) -> impl Iterator<Item = &String> {
    let command = container.command.iter().flatten();
    command.chain(container.args.iter().flatten())
}

/// The value of a flag, else of its variable.
pub fn told(container: &Container, flag: &str, variable: &str) -> Option<String> {
    values(container, flag, variable).into_iter().next()
}

/// All values of a flag (`--flag value` or `--flag=value`), else those of its variable.
fn values(container: &Container, flag: &str, variable: &str) -> Vec<String> {
    let words: Vec<&String> = words(container).collect();
    let next = words.iter().skip(1).map(Some).chain([None]);
    let flagged =
        words
            .iter()
            .zip(next)
            .filter_map(|(word, next)| match word.strip_prefix(flag)? {
                "" => next.map(|next| (*next).clone()),
                rest => rest.strip_prefix('=').map(str::to_owned),
            });
    let flagged: Vec<String> = flagged.collect();
    if !flagged.is_empty() {
        return flagged;
    }
    let mut variables = container.env.iter().flatten();
    let found = variables.find(|found| found.name == variable);
    found
        .and_then(|found| found.value.clone())
        .into_iter()
        .collect()
}

/// These ports; without one, DNS's own.
fn ports(texts: &[String]) -> Vec<u16> {
    let ports = texts.iter().flat_map(|text| text.split(','));
    let ports: Vec<u16> = ports.filter_map(|port| port.parse().ok()).collect();
    if ports.is_empty() { vec![DNS] } else { ports }
}

/// The port of DNS.
const DNS: u16 = 53;

/// The single addresses among these; of a range nobody knows where it answers.
fn addresses(texts: &[String]) -> Vec<IpAddr> {
    let single = texts.iter().flat_map(|text| text.split(','));
    let single = single.filter_map(|text| {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, length.parse().ok()),
            None => (text, None::<u8>),
        };
        let address: IpAddr = address.parse().ok()?;
        let whole = if address.is_ipv4() { 32 } else { 128 };
        length
            .is_none_or(|length| length == whole)
            .then_some(address)
    });
    single.collect()
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    /// As the chart installs it.
    pub fn installed() -> Installed {
        let deployment: Deployment = serde_json::from_value(json!({
            "metadata": { "namespace": "sandgate-system" },
            "spec": { "selector": {}, "template": { "spec": { "containers": [
                { "name": "c", "image": "sandgate:1", "command": ["/sandgate-controller"] },
            ] } } },
        }))
        .unwrap();
        read(&deployment).unwrap()
    }

    #[test]
    fn what_the_controller_was_told_is_read_from_flags_and_variables() {
        let metadata = json!({ "namespace": "sandgate-system" });
        let deployment: Deployment =
            serde_json::from_value(json!({ "metadata": metadata, "spec": {
            "selector": {},
            "template": { "spec": { "containers": [
                { "name": "webhook", "image": "a", "command": ["/sandgate-webhook"] },
                {
                    "name": "controller", "image": "sandgate:1",
                    "command": ["/sandgate-controller"],
                    "args": [
                        "--runtime-pod-label=example.com/runtime",
                        "--dns-namespace", "dns",
                        "--dns-pod-label=app=dns,tier=cache",
                        "--dns-address=169.254.20.10", "--dns-address", "fd00::10/128",
                        "--dns-address=10.96.0.0/24", "--dns-port=5353",
                    ],
                    "env": [{ "name": "SANDGATE_CLUSTER_DOMAIN", "value": "example.test" }],
                },
            ] } },
        } }))
            .unwrap();
        let installed = read(&deployment).unwrap();
        assert_eq!(installed.image, "sandgate:1");
        assert_eq!(installed.runtime_pod_label, "example.com/runtime");
        assert_eq!(installed.dns_namespace, "dns");
        assert_eq!(installed.dns_pod_labels.get("tier").unwrap(), "cache");
        assert_eq!(installed.cluster_domain, "example.test");
        let addresses: Vec<IpAddr> = ["169.254.20.10", "fd00::10"]
            .map(|it| it.parse().unwrap())
            .to_vec();
        assert_eq!(installed.dns_addresses, addresses);
        assert_eq!(installed.dns_ports, [5353]);
    }

    #[test]
    fn what_it_was_not_told_is_as_the_controller_has_it_by_default() {
        let installed = installed();
        assert_eq!(
            installed.runtime_pod_label,
            "omnia.altairalabs.ai/agent-runtime"
        );
        assert_eq!(installed.dns_pod_labels.get("k8s-app").unwrap(), "kube-dns");
        assert_eq!(
            (installed.dns_addresses, installed.dns_ports),
            (vec![], vec![53])
        );
    }
}
