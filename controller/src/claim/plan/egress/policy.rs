//! The `NetworkPolicy` of an egress proxy: in from its own claim's sandbox, out to the cluster's DNS and to
//! public addresses on port 443 (E-008, E-009). Pure.

use ipnet::IpNet;
use k8s_openapi::{
    api::networking::v1::{
        IPBlock, NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyIngressRule,
        NetworkPolicyPeer, NetworkPolicySpec,
    },
    apimachinery::pkg::util::intstr::IntOrString,
};
use sandgate_shared::{
    api::SandboxClaim,
    names,
    net::address::{Public, public_networks},
};

use super::fixtures::{Fixtures, Pinned};
use crate::claim::plan::{
    Settings,
    intent::{proxy_metadata, proxy_selector, selector},
    network_policy::{dns_rule, in_namespace, labels, policy_port, policy_target, rule},
};

/// The one port of the outside that is dialled.
const HTTPS: i32 = 443;

/// Renders the policy.
pub(super) fn policy(
    claim: &SandboxClaim,
    fixtures: &Fixtures,
    settings: &Settings,
) -> NetworkPolicy {
    let egress = dns_rule(settings)
        .into_iter()
        .chain(public(settings))
        .chain(fixtures.pinned.iter().filter_map(to_fixture));
    let sandbox = NetworkPolicyPeer {
        pod_selector: Some(labels(selector(claim))),
        ..NetworkPolicyPeer::default()
    };
    let metrics_from = &settings.egress.metrics_from;
    let ingress = [
        entrance(vec![sandbox], names::EGRESS_PORT),
        entrance(metrics_from.clone(), names::EGRESS_ADMIN_PORT),
    ];
    NetworkPolicy {
        metadata: proxy_metadata(claim),
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(labels(proxy_selector(claim))),
            policy_types: Some(vec!["Ingress".to_owned(), "Egress".to_owned()]),
            ingress: Some(ingress.into_iter().flatten().collect()),
            egress: Some(egress.collect()),
        }),
    }
}

/// Lets peers in on a port; nobody where there is none, since a rule without peers would let in all.
fn entrance(from: Vec<NetworkPolicyPeer>, port: u16) -> Option<NetworkPolicyIngressRule> {
    (!from.is_empty()).then(|| NetworkPolicyIngressRule {
        from: Some(from),
        ports: Some(vec![policy_port("TCP", IntOrString::Int(port.into()))]),
    })
}

fn public(settings: &Settings) -> Option<NetworkPolicyEgressRule> {
    let networks = public_networks().into_iter();
    let peers = networks.filter_map(|public| except(public, &settings.egress.deny));
    let https = policy_port("TCP", IntOrString::Int(HTTPS));
    rule(peers.collect(), [https].into_iter())
}

/// A network without what is not public of it, and without what the cluster keeps for itself; nothing where
/// that is all of it.
fn except(public: Public, denied: &[IpNet]) -> Option<NetworkPolicyPeer> {
    let Public { network, except } = public;
    let meets = |denied: &&IpNet| network.contains(*denied) || denied.contains(&network);
    let denied = denied.iter().filter(meets).copied();
    let except = IpNet::aggregate(&except.into_iter().chain(denied).collect());
    if except.iter().any(|except| except.contains(&network)) {
        return None;
    }
    Some(NetworkPolicyPeer {
        ip_block: Some(IPBlock {
            cidr: network.to_string(),
            except: Some(except.iter().map(ToString::to_string).collect()),
        }),
        ..NetworkPolicyPeer::default()
    })
}

/// A test host: the pods behind its Service, at the port that these listen at, and nothing wider (E-032).
fn to_fixture(pinned: &Pinned) -> Option<NetworkPolicyEgressRule> {
    let pods = in_namespace(
        &pinned.service.namespace,
        pinned.selector.iter().cloned().collect(),
    );
    rule(
        vec![pods],
        [policy_target("TCP", &pinned.target)].into_iter(),
    )
}
