//! The egress proxy of a claim: a Deployment, a Service, a `NetworkPolicy` and the `ConfigMap` with its
//! hosts, while a Connection that stands names a host (E-001 to E-014). Pure.
//!
//! What the class says now has no part in it: an edit of a class takes nothing from a running sandbox
//! (C-034). Once made, the proxy is made anew only for other test hosts or where somebody changed it; its
//! hosts it reads from the mounted `ConfigMap`.

mod deployment;
mod environment;
mod fixtures;
mod poke;
mod policy;
mod readiness;
mod way;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::{
    api::core::v1::{ConfigMap, Service, ServicePort, ServiceSpec},
    apimachinery::pkg::util::intstr::IntOrString,
};
use sandgate_shared::{api::SandboxClaim, names};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Settings,
    intent::{Sealed, proxy_metadata, proxy_selector, seal},
};
use crate::claim::observed::{LiveObject, ObjectKind, Observed};

pub(super) use environment::Told;
pub use fixtures::fixture_services;
pub use poke::Poke;
pub(super) use poke::{due, pokes};
pub(super) use readiness::{available, trouble};
pub(super) use way::Way;

use fixtures::Fixtures;

/// Names of the proxy's ports.
const PORT_NAME: &str = "proxy";
const ADMIN_PORT_NAME: &str = "admin";

/// The proxy that a claim is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Proxy {
    /// The hosts that it lets through, as Connections write them.
    hosts: BTreeSet<String>,
    /// What of them is a test host.
    pub(super) fixtures: Fixtures,
}

impl Proxy {
    /// The proxy for these hosts; none without any (E-001).
    pub(super) fn of(
        hosts: BTreeSet<String>,
        observed: &Observed,
        settings: &Settings,
    ) -> Option<Self> {
        if hosts.is_empty() {
            return None;
        }
        let fixtures = Fixtures::of(&hosts, observed, settings.egress.test_hosts.as_ref());
        let mut proxy = Self { hosts, fixtures };
        let live = observed.live(ObjectKind::EgressDeployment);
        let pinned = live.is_none_or(|live| !proxy.differs_from(live));
        let fixtures = &proxy.fixtures;
        proxy
            .hosts
            .retain(|host| !fixtures.holds_back(host, pinned));
        Some(proxy)
    }

    /// Its objects, in the order they are made.
    pub(super) fn sealed(&self, observed: &Observed, settings: &Settings) -> Vec<Sealed> {
        let claim = &observed.claim;
        let policy = policy::policy(claim, &self.fixtures, settings);
        let allowlist = sealed(ObjectKind::EgressAllowlist, &self.allowlist(claim));
        let deployment = deployment::deployment(claim, &self.fixtures, &allowlist.hash, settings);
        vec![
            sealed(ObjectKind::EgressNetworkPolicy, &policy),
            allowlist,
            sealed(ObjectKind::EgressService, &service(claim)),
            sealed(ObjectKind::EgressDeployment, &deployment),
        ]
    }

    /// The hosts as the proxy reads them (E-003).
    fn allowlist(&self, claim: &SandboxClaim) -> ConfigMap {
        let content = json!({"hosts": self.hosts}).to_string();
        ConfigMap {
            metadata: proxy_metadata(claim),
            data: Some(BTreeMap::from([(
                names::ALLOWLIST_FILE.to_owned(),
                content,
            )])),
            ..ConfigMap::default()
        }
    }

    /// Whether its Deployment was made for other test hosts, which its arguments name.
    pub(super) fn differs_from(&self, live: &LiveObject) -> bool {
        live.bindings != self.fixtures.digest()
    }
}

fn sealed(kind: ObjectKind, object: &impl Serialize) -> Sealed {
    seal(kind, serde_json::to_value(object).unwrap_or(Value::Null))
}

/// How the sandbox finds it, by an address that never changes while the Service stands (E-004).
fn service(claim: &SandboxClaim) -> Service {
    let port = i32::from(names::EGRESS_PORT);
    Service {
        metadata: proxy_metadata(claim),
        spec: Some(ServiceSpec {
            type_: Some("ClusterIP".to_owned()),
            selector: Some(proxy_selector(claim)),
            ports: Some(vec![ServicePort {
                name: Some(PORT_NAME.to_owned()),
                port,
                target_port: Some(IntOrString::Int(port)),
                protocol: Some("TCP".to_owned()),
                ..ServicePort::default()
            }]),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}
