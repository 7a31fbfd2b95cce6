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
    /// Claims' own policies.
    Policies,
    /// The baseline policies, by their name: a label could be edited away (O-037).
    Baselines,
    /// Claims' Deployments.
    Deployments,
    /// `ReplicaSets` of claims' Deployments.
    ReplicaSets,
    /// Claims' pods.
    Pods,
}

impl Source {
    /// Every source.
    pub const ALL: [Self; 11] = [
        Self::Claims,
        Self::Classes,
        Self::ClusterClasses,
        Self::Runtimes,
        Self::Namespaces,
        Self::Services,
        Self::Policies,
        Self::Baselines,
        Self::Deployments,
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
            Self::Policies | Self::Baselines => Kind::NetworkPolicy,
            Self::Deployments => Kind::Deployment,
            Self::ReplicaSets => Kind::ReplicaSet,
            Self::Pods => Kind::Pod,
        }
    }

    /// Restricts the watch to objects with a label: those that belong to some claim.
    pub fn label_selector(self) -> Option<String> {
        match self {
            Self::Policies | Self::Deployments | Self::ReplicaSets | Self::Pods => {
                Some(names::LABEL_CLAIM_UID.to_owned())
            }
            Self::Claims
            | Self::Classes
            | Self::ClusterClasses
            | Self::Runtimes
            | Self::Namespaces
            | Self::Services
            | Self::Baselines => None,
        }
    }

    /// Restricts the watch to objects of one name.
    pub fn field_selector(self) -> Option<String> {
        (self == Self::Baselines).then(|| format!("metadata.name={}", names::BASELINE_POLICY))
    }
}
