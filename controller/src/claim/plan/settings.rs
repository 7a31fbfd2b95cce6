//! What the installation is told by flags and a decision needs. Plain values.

/// Settings of the installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The cluster's DNS domain, such as `cluster.local`.
    pub cluster_domain: String,
    /// Key of the label whose value is the runtime's name on an `AgentRuntime`'s pods (Q16).
    pub runtime_pod_label: String,
    /// Where the cluster's DNS answers.
    pub dns: DnsTarget,
    /// Username of the controller itself, which tells a refusal by its own RBAC from one by
    /// admission (C-032).
    pub operator_username: String,
}

/// The cluster resolver's pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsTarget {
    /// Namespace they run in.
    pub namespace: String,
    /// Key and value of a label they carry.
    pub pod_label: (String, String),
    /// Ports of the pods, opened for UDP and TCP.
    pub ports: Vec<u16>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            cluster_domain: "cluster.local".to_owned(),
            runtime_pod_label: "omnia.altairalabs.ai/agent-runtime".to_owned(),
            dns: DnsTarget {
                namespace: "kube-system".to_owned(),
                pod_label: ("k8s-app".to_owned(), "kube-dns".to_owned()),
                ports: vec![53],
            },
            operator_username: "system:serviceaccount:sandgate-system:sandgate-controller"
                .to_owned(),
        }
    }
}
