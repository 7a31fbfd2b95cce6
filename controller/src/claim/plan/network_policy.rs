//! The `NetworkPolicy` of a claim: in from its runtime on the class ports, out to what the class
//! names and to its egress proxy, and nowhere else (O-022 to O-028, O-030). Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;
use k8s_openapi::{
    api::networking::v1::{
        IPBlock, NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyIngressRule,
        NetworkPolicyPeer, NetworkPolicyPort, NetworkPolicySpec,
    },
    apimachinery::pkg::{apis::meta::v1::LabelSelector, util::intstr::IntOrString},
};
use kube::ResourceExt;
use sandgate_shared::{
    api::{
        SandboxClaim, SandboxClassSpec,
        sandbox_class::{AllowedService, Egress},
    },
    names,
};

use super::{
    Settings,
    intent::{owned_metadata, proxy_selector, runtime_label, selector},
};
use crate::claim::observed::{AllowedTarget, Lookup, Observed, ServiceKey, Target, TargetPort};

/// Label that the API server sets on every namespace to the namespace's name.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// A rendered policy and what of it could not be opened.
pub(super) struct Rendered {
    pub(super) policy: NetworkPolicy,
    /// One sentence each: a Service or a port that opens nothing.
    pub(super) unresolved: Vec<String>,
}

/// The claim's egress proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ToProxy {
    /// The cluster IP of its Service, once that is known.
    pub(super) address: Option<IpAddr>,
}

impl ToProxy {
    /// The claim's own proxy, by its pods; where the network judges packets before a Service's address is
    /// translated, also by that (O-028, Q67).
    fn rule(self, claim: &SandboxClaim, settings: &Settings) -> Option<NetworkPolicyEgressRule> {
        let pods = NetworkPolicyPeer {
            pod_selector: Some(labels(proxy_selector(claim))),
            ..NetworkPolicyPeer::default()
        };
        let address = self.address.filter(|_| settings.judges_before_translation);
        let address = address.map(|address| at_address(address.into()));
        let port = policy_port("TCP", IntOrString::Int(names::EGRESS_PORT.into()));
        rule(
            [pods].into_iter().chain(address).collect(),
            [port].into_iter(),
        )
    }
}

/// The Services that the class names, as gather has to look them up (O-024, O-026).
pub fn allowed_services(claim: &SandboxClaim, class: &SandboxClassSpec) -> BTreeSet<ServiceKey> {
    let named = allowed(class).map(|entry| key(claim, entry));
    named.collect()
}

fn allowed(class: &SandboxClassSpec) -> impl Iterator<Item = &AllowedService> {
    let egress = class.egress.as_ref();
    egress
        .and_then(|egress| egress.allowed_services.as_ref())
        .into_iter()
        .flatten()
}

fn key(claim: &SandboxClaim, entry: &AllowedService) -> ServiceKey {
    let own = || claim.namespace().unwrap_or_default();
    ServiceKey {
        namespace: entry.namespace.clone().unwrap_or_else(own),
        name: entry.name.clone(),
    }
}

/// Renders the policy. Both policy types are always stated: a policy with no rule of a type shuts
/// that direction (O-023).
pub(super) fn network_policy(
    observed: &Observed,
    class: &SandboxClassSpec,
    proxy: Option<ToProxy>,
    settings: &Settings,
) -> Rendered {
    let claim = &observed.claim;
    let mut egress = Vec::new();
    let mut unresolved = Vec::new();
    for entry in allowed(class) {
        let key = key(claim, entry);
        let target = observed.services.get(&key).and_then(Lookup::found);
        for rule in open_service(&key, entry, target, settings, &mut unresolved) {
            if !egress.contains(&rule) {
                egress.push(rule);
            }
        }
    }
    if class
        .egress
        .as_ref()
        .is_some_and(|egress: &Egress| egress.dns)
    {
        egress.extend(dns_rule(settings));
    }
    egress.extend(proxy.and_then(|proxy| proxy.rule(claim, settings)));
    let policy = NetworkPolicy {
        metadata: owned_metadata(claim),
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(labels(selector(claim))),
            policy_types: Some(vec!["Ingress".to_owned(), "Egress".to_owned()]),
            ingress: ingress(claim, class, settings),
            egress: Some(egress).filter(|rules| !rules.is_empty()),
        }),
    };
    Rendered { policy, unresolved }
}

/// Admits the pods of the claim's own runtime, in the claim's namespace, on the class ports. `None`
/// (nobody) when there is no port to admit them on: a rule without ports would open all; nor when the
/// runtime's name is longer than a label value, for then no pod can bear it.
fn ingress(
    claim: &SandboxClaim,
    class: &SandboxClassSpec,
    settings: &Settings,
) -> Option<Vec<NetworkPolicyIngressRule>> {
    let pods = BTreeMap::from([(settings.runtime_pod_label.clone(), runtime_label(claim)?)]);
    let ports: Vec<_> = class
        .ports
        .iter()
        .map(|port| policy_port("TCP", IntOrString::Int(port.port)))
        .collect();
    (!ports.is_empty()).then(|| {
        vec![NetworkPolicyIngressRule {
            from: Some(vec![NetworkPolicyPeer {
                pod_selector: Some(labels(pods)),
                ..NetworkPolicyPeer::default()
            }]),
            ports: Some(ports),
        }]
    })
}

/// One allowed Service as a rule: its own selector, in its namespace, on the target ports of the
/// listed ports; where the network judges packets before a Service's address is translated, also its
/// addresses, on the listed ports themselves (Q67). What cannot be resolved opens nothing, never more
/// (O-030).
fn open_service(
    key: &ServiceKey,
    entry: &AllowedService,
    target: Option<&AllowedTarget>,
    settings: &Settings,
    unresolved: &mut Vec<String>,
) -> Vec<NetworkPolicyEgressRule> {
    // Any text may stand for the name in a class, and this is printed on terminals.
    let title = format!("Service {}/{}", key.namespace, key.name.escape_debug());
    let Some(target) = target else {
        unresolved.push(format!(
            "{title} does not exist, so nothing is opened for it"
        ));
        return Vec::new();
    };
    if target.selector.is_empty() {
        unresolved.push(format!(
            "{title} selects no pods, so nothing is opened for it"
        ));
        return Vec::new();
    }
    let mut listed: Vec<&TargetPort> = Vec::new();
    for wanted in &entry.ports {
        let before = listed.len();
        listed.extend(target.ports.iter().filter(|port| port.port == *wanted));
        if listed.len() == before {
            unresolved.push(format!("{title} has no port {wanted}, so it is not opened"));
        }
    }
    let pods = in_namespace(&key.namespace, target.selector.iter().cloned().collect());
    let at_pods = listed
        .iter()
        .map(|port| policy_target(&port.protocol, &port.target));
    let at_service = listed
        .iter()
        .map(|port| policy_port(&port.protocol, IntOrString::Int(port.port)));
    let addresses = target
        .addresses
        .iter()
        .filter(|_| settings.judges_before_translation)
        .map(|address| at_address((*address).into()));
    let rules = [
        rule(vec![pods], at_pods),
        rule(addresses.collect(), at_service),
    ];
    rules.into_iter().flatten().collect()
}

/// The cluster resolver, over UDP and TCP (O-027, X-015).
pub(super) fn dns_rule(settings: &Settings) -> Option<NetworkPolicyEgressRule> {
    let dns = &settings.dns;
    let pods = in_namespace(&dns.namespace, dns.pod_labels.clone());
    let addresses = dns.addresses.iter().map(|network| at_address(*network));
    let ports = dns.ports.iter().flat_map(|port| {
        ["UDP", "TCP"].map(|protocol| policy_port(protocol, IntOrString::Int((*port).into())))
    });
    rule([pods].into_iter().chain(addresses).collect(), ports)
}

/// A rule; `None` without peers or without ports, for either would open all.
pub(super) fn rule(
    to: Vec<NetworkPolicyPeer>,
    all: impl Iterator<Item = NetworkPolicyPort>,
) -> Option<NetworkPolicyEgressRule> {
    let mut ports = Vec::new();
    for port in all {
        if !ports.contains(&port) {
            ports.push(port);
        }
    }
    (!to.is_empty() && !ports.is_empty()).then_some(NetworkPolicyEgressRule {
        to: Some(to),
        ports: Some(ports),
    })
}

/// The port that a Service leads to in its pods.
pub(super) fn policy_target(protocol: &str, target: &Target) -> NetworkPolicyPort {
    let port = match target {
        Target::Number(number) => IntOrString::Int(*number),
        Target::Name(name) => IntOrString::String(name.clone()),
    };
    policy_port(protocol, port)
}

fn at_address(network: IpNet) -> NetworkPolicyPeer {
    NetworkPolicyPeer {
        ip_block: Some(IPBlock {
            cidr: network.to_string(),
            except: None,
        }),
        ..NetworkPolicyPeer::default()
    }
}

pub(super) fn in_namespace(namespace: &str, pods: BTreeMap<String, String>) -> NetworkPolicyPeer {
    let name = BTreeMap::from([(NAMESPACE_NAME.to_owned(), namespace.to_owned())]);
    NetworkPolicyPeer {
        namespace_selector: Some(labels(name)),
        pod_selector: Some(labels(pods)),
        ip_block: None,
    }
}

pub(super) fn policy_port(protocol: &str, port: IntOrString) -> NetworkPolicyPort {
    NetworkPolicyPort {
        protocol: Some(protocol.to_owned()),
        port: Some(port),
        end_port: None,
    }
}

pub(super) fn labels(match_labels: BTreeMap<String, String>) -> LabelSelector {
    LabelSelector {
        match_labels: Some(match_labels),
        ..LabelSelector::default()
    }
}
