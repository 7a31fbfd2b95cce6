//! What is watched, and which objects of each kind. Pure.

use sandgate_shared::names;

use crate::kind::Kind;

/// One watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// All claims, whole.
    Claims,
    /// All classes of namespaces.
    Classes,
    /// All classes of the platform.
    ClusterClasses,
    /// All agent runtimes.
    Runtimes,
    /// Namespaces; only whether they are being deleted is kept.
    Namespaces,
    /// All Services: `allowedServices` may name any. Selector and ports are kept.
    Services,
    /// All network policies. The baselines and claims' own are known by their names: a label could be
    /// edited away (O-037).
    NetworkPolicies,
    /// All Connections.
    Connections,
    /// All Secrets, their metadata alone; nothing of them is kept (K-029).
    Secrets,
    /// All workspaces; a cluster may serve none.
    Workspaces,
    /// Volume claims; only whether they stand or are being deleted is kept.
    ContentClaims,
    /// Claims' Deployments.
    Deployments,
    /// The `ConfigMaps` with the hosts of claims' egress proxies.
    Allowlists,
    /// `ReplicaSets` of claims' Deployments.
    ReplicaSets,
    /// Claims' pods.
    Pods,
}

impl Source {
    /// Every source.
    pub const ALL: [Self; 15] = [
        Self::Claims,
        Self::Classes,
        Self::ClusterClasses,
        Self::Runtimes,
        Self::Namespaces,
        Self::Services,
        Self::NetworkPolicies,
        Self::Connections,
        Self::Secrets,
        Self::Workspaces,
        Self::ContentClaims,
        Self::Deployments,
        Self::Allowlists,
        Self::ReplicaSets,
        Self::Pods,
    ];

    /// The kind watched.
    pub fn kind(self) -> Kind {
        match self {
            Self::Claims => Kind::SandboxClaim,
            Self::Classes => Kind::SandboxClass,
            Self::ClusterClasses => Kind::ClusterSandboxClass,
            Self::Runtimes => Kind::AgentRuntime,
            Self::Namespaces => Kind::Namespace,
            Self::Services => Kind::Service,
            Self::NetworkPolicies => Kind::NetworkPolicy,
            Self::Connections => Kind::Connection,
            Self::Secrets => Kind::Secret,
            Self::Workspaces => Kind::Workspace,
            Self::ContentClaims => Kind::PersistentVolumeClaim,
            Self::Deployments => Kind::Deployment,
            Self::Allowlists => Kind::ConfigMap,
            Self::ReplicaSets => Kind::ReplicaSet,
            Self::Pods => Kind::Pod,
        }
    }

    /// Restricts the watch to objects with a label: those that belong to some claim.
    pub fn label_selector(self) -> Option<String> {
        match self {
            Self::Deployments | Self::Allowlists | Self::ReplicaSets | Self::Pods => {
                Some(names::LABEL_CLAIM_UID.to_owned())
            }
            Self::Claims
            | Self::Classes
            | Self::ClusterClasses
            | Self::Runtimes
            | Self::Namespaces
            | Self::Services
            | Self::NetworkPolicies
            | Self::Connections
            | Self::Secrets
            | Self::Workspaces
            | Self::ContentClaims => None,
        }
    }

    /// Whether only the metadata of the objects is asked for, and of that no annotation is taken in:
    /// what `kubectl apply` leaves there is the whole object.
    pub fn metadata_only(self) -> bool {
        matches!(self, Self::Secrets | Self::ContentClaims)
    }

    /// Whether the API server may not serve the kind at all, which is then the same as that there are
    /// none. A kind that we install ourselves, or that no claim can do without, is awaited instead.
    pub fn may_be_unserved(self) -> bool {
        self == Self::Workspaces
    }
}
