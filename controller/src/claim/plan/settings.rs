//! What the installation is told by flags and a decision needs. Plain values.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ipnet::IpNet;
use k8s_openapi::api::networking::v1::NetworkPolicyPeer;
use sandgate_shared::api::sandbox_class::ImagePullPolicy;
use sandgate_shared::mounts::ContentClaimName;
use sandgate_shared::net::host::Host;

use crate::claim::observed::ServiceKey;

/// Settings of the installation.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The cluster's DNS domain, such as `cluster.local`.
    pub cluster_domain: String,
    /// Key of the label whose value is the runtime's name on an `AgentRuntime`'s pods (Q16).
    pub runtime_pod_label: String,
    /// Where the cluster's DNS answers.
    pub dns: DnsTarget,
    /// Policies are enforced on packets that still bear a Service's address, so that an allowed
    /// Service is opened by its address too (Q67).
    pub judges_before_translation: bool,
    /// Username of the controller itself, which tells a refusal by its own RBAC from one by
    /// admission (C-032).
    pub operator_username: String,
    /// Group that may read what is placed in a sandbox; without one the cluster gives the pod a group
    /// itself (O-032).
    pub sandbox_fs_group: Option<i64>,
    /// Where the content of workspaces is.
    pub content: ContentSettings,
    /// How egress proxies are made.
    pub egress: EgressSettings,
    /// How long after policy, binding and proof a claim must have been created to be provable (P-013).
    pub claim_policy_grace: Duration,
    /// How long a claim may stay unused where its runtime does not say (Q28).
    pub default_idle_timeout: Duration,
}

/// How the egress proxies of claims are made.
#[derive(Clone, Debug, PartialEq)]
pub struct EgressSettings {
    /// The operator's own image, which has the proxy, too (E-003).
    pub image: String,
    /// When the kubelet fetches it.
    pub image_pull_policy: ImagePullPolicy,
    /// Who may read a proxy's metrics; nobody if empty (Q68).
    pub metrics_from: Vec<NetworkPolicyPeer>,
    /// Networks that no proxy reaches though they look public.
    pub deny: Vec<IpNet>,
    /// Test hosts; only in test clusters (E-028).
    pub test_hosts: Option<TestHosts>,
}

impl EgressSettings {
    /// The operator's image, as one that is built by hand is called.
    pub const IMAGE: &str = concat!("sandgate.local/sandgate:", env!("CARGO_PKG_VERSION"));
}

impl Default for EgressSettings {
    fn default() -> Self {
        Self {
            image: Self::IMAGE.to_owned(),
            image_pull_policy: ImagePullPolicy::IfNotPresent,
            metrics_from: Vec::new(),
            deny: Vec::new(),
            test_hosts: None,
        }
    }
}

/// Names that in-cluster Services stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestHosts {
    /// All of them.
    pub hosts: Vec<TestHost>,
    /// Base64 of the SHA-256 of the public key of their certificate, for browsers to trust (E-034).
    pub spki: Option<String>,
}

/// A name that an in-cluster Service stands for on port 443.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestHost {
    /// The name.
    pub host: Host,
    /// The Service.
    pub service: ServiceKey,
}

/// Where the content of workspaces is, and who may write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentSettings {
    /// How a workspace's PersistentVolumeClaim is called.
    pub claim_name: ContentClaimName,
    /// Whether one that does not exist is made (C-024).
    pub provision: bool,
    /// Whether the operator sees the content itself.
    pub reachable: bool,
    /// How often what is at a bound claim's directory is looked at (M-021, Q38).
    pub recheck: Duration,
}

impl Default for ContentSettings {
    fn default() -> Self {
        Self {
            claim_name: ContentClaimName::default(),
            provision: true,
            reachable: false,
            recheck: Duration::from_mins(1),
        }
    }
}

/// The cluster resolver: pods, and addresses that no selector matches, such as that of a
/// cache on each node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsTarget {
    /// Namespace its pods run in.
    pub namespace: String,
    /// Labels its pods carry, all of them.
    pub pod_labels: BTreeMap<String, String>,
    /// Ports it answers at, opened for UDP and TCP.
    pub ports: BTreeSet<u16>,
    /// Further addresses it answers at.
    pub addresses: BTreeSet<IpNet>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            cluster_domain: "cluster.local".to_owned(),
            runtime_pod_label: "omnia.altairalabs.ai/agent-runtime".to_owned(),
            dns: DnsTarget {
                namespace: "kube-system".to_owned(),
                pod_labels: BTreeMap::from([("k8s-app".to_owned(), "kube-dns".to_owned())]),
                ports: BTreeSet::from([53]),
                addresses: BTreeSet::new(),
            },
            judges_before_translation: false,
            operator_username: "system:serviceaccount:sandgate-system:sandgate-controller"
                .to_owned(),
            sandbox_fs_group: None,
            content: ContentSettings::default(),
            egress: EgressSettings::default(),
            claim_policy_grace: Duration::from_mins(1),
            default_idle_timeout: Duration::from_mins(30),
        }
    }
}
