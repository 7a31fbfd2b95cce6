//! The variables by which a sandbox's programs find the egress proxy, and what they reach without it
//! (E-004 to E-006, O-034). Pure.

use k8s_openapi::api::core::v1::EnvVar;
use kube::ResourceExt as _;
use sandgate_shared::api::SandboxClassSpec;

use super::way::Way;
use crate::claim::{
    observed::{Lookup, Observed},
    plan::{Settings, allowed_services},
};

const PROXY: [&str; 4] = ["HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"];
const NO_PROXY: [&str; 2] = ["NO_PROXY", "no_proxy"];
/// Programs differ in what they take for this machine: a name, an address or a network.
const LOCAL: [&str; 4] = ["localhost", "127.0.0.1", "127.0.0.0/8", "::1"];

/// What the sandbox's pod is told of it.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::claim::plan) struct Told {
    /// The annotation of its Deployment.
    pub(in crate::claim::plan) annotation: String,
    /// Its variables.
    pub(in crate::claim::plan) variables: Vec<EnvVar>,
}

impl Way {
    /// What the sandbox is told.
    pub(in crate::claim::plan) fn told(
        &self,
        observed: &Observed,
        class: &SandboxClassSpec,
        settings: &Settings,
    ) -> Told {
        Told {
            annotation: self.annotation(),
            variables: environment(self, observed, class, settings),
        }
    }
}

/// All variables, in order.
fn environment(
    way: &Way,
    observed: &Observed,
    class: &SandboxClassSpec,
    settings: &Settings,
) -> Vec<EnvVar> {
    let proxy = format!("http://{}", way.address);
    let direct = direct(observed, class, settings).join(",");
    let proxies = PROXY.map(|name| variable(name, proxy.clone()));
    let directs = NO_PROXY.map(|name| variable(name, direct.clone()));
    let fixtures = way.trusts.iter().flat_map(|(hosts, key)| {
        [
            variable("OMNIA_INSECURE_TEST_FIXTURES", hosts.join(",")),
            variable("OMNIA_INSECURE_TEST_SPKI", key.clone()),
        ]
    });
    proxies.into_iter().chain(directs).chain(fixtures).collect()
}

/// What is reached without the proxy: this machine, names of the cluster, and each Service that the class
/// allows, by all its short names and addresses. A Service of another namespace has no short name here.
fn direct(observed: &Observed, class: &SandboxClassSpec, settings: &Settings) -> Vec<String> {
    let namespace = observed.claim.namespace().unwrap_or_default();
    let mut all: Vec<String> = LOCAL.map(str::to_owned).into();
    all.push(".svc".to_owned());
    all.push(format!(".{}", settings.cluster_domain));
    for key in allowed_services(&observed.claim, class) {
        all.push(format!("{}.{}", key.name, key.namespace));
        if key.namespace == namespace {
            all.push(key.name.clone());
        }
        let target = observed.services.get(&key).and_then(Lookup::found);
        let addresses = target.into_iter().flat_map(|target| &target.addresses);
        all.extend(addresses.map(ToString::to_string));
    }
    all
}

fn variable(name: &str, value: String) -> EnvVar {
    EnvVar {
        name: name.to_owned(),
        value: Some(value),
        value_from: None,
    }
}
