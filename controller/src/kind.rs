//! The kinds the controller talks about, and how the API server calls them. Pure.

use kube::core::ApiResource;
use prometheus_client::encoding::{EncodeLabelValue, LabelValueEncoder};
use sandgate_shared::names;

/// A kind that the controller reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The claims.
    SandboxClaim,
    /// Classes of a namespace.
    SandboxClass,
    /// Classes of the platform.
    ClusterSandboxClass,
    /// Whom sandboxes belong to.
    AgentRuntime,
    /// What runs a sandbox's pod.
    Deployment,
    /// Where a refused pod is reported (C-032).
    ReplicaSet,
    /// Where readiness is read.
    Pod,
    /// What a sandbox is dialled by, and what `allowedServices` names.
    Service,
    /// What isolates a sandbox.
    NetworkPolicy,
    /// What claims live in.
    Namespace,
    /// What a sandbox may reach and is signed in with.
    Connection,
    /// What a namespace's storage is said by.
    Workspace,
    /// What holds a workspace's content.
    PersistentVolumeClaim,
    /// Who leads.
    Lease,
    /// CAs and leaf; what Connections place.
    Secret,
    /// Whom the API server takes us for.
    SelfSubjectReview,
    /// What people read first.
    Event,
    /// Whose `caBundle` is ours.
    MutatingWebhookConfiguration,
    /// Whose `caBundle` is ours.
    ValidatingWebhookConfiguration,
    /// What keeps claims from everyone but the operator.
    ValidatingAdmissionPolicy,
    /// What puts it in force.
    ValidatingAdmissionPolicyBinding,
    /// Where its first refusal is recorded.
    ConfigMap,
    /// What the probe shows who it is by.
    TokenRequest,
    /// What else may rewrite objects on their way in; served by newer API servers only.
    MutatingAdmissionPolicy,
    /// What puts such a policy in force.
    MutatingAdmissionPolicyBinding,
}

impl Kind {
    /// As written in manifests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SandboxClaim => "SandboxClaim",
            Self::SandboxClass => "SandboxClass",
            Self::ClusterSandboxClass => "ClusterSandboxClass",
            Self::AgentRuntime => "AgentRuntime",
            Self::Deployment => "Deployment",
            Self::ReplicaSet => "ReplicaSet",
            Self::Pod => "Pod",
            Self::Service => "Service",
            Self::NetworkPolicy => "NetworkPolicy",
            Self::Namespace => "Namespace",
            Self::Connection => "Connection",
            Self::Workspace => "Workspace",
            Self::PersistentVolumeClaim => "PersistentVolumeClaim",
            Self::Lease => "Lease",
            Self::Secret => "Secret",
            Self::SelfSubjectReview => "SelfSubjectReview",
            Self::Event => "Event",
            Self::MutatingWebhookConfiguration => "MutatingWebhookConfiguration",
            Self::ValidatingWebhookConfiguration => "ValidatingWebhookConfiguration",
            Self::ValidatingAdmissionPolicy => "ValidatingAdmissionPolicy",
            Self::ValidatingAdmissionPolicyBinding => "ValidatingAdmissionPolicyBinding",
            Self::ConfigMap => "ConfigMap",
            Self::TokenRequest => "TokenRequest",
            Self::MutatingAdmissionPolicy => "MutatingAdmissionPolicy",
            Self::MutatingAdmissionPolicyBinding => "MutatingAdmissionPolicyBinding",
        }
    }

    /// Group, version and plural.
    fn address(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::SandboxClaim => (names::GROUP, names::VERSION, "sandboxclaims"),
            Self::SandboxClass => (names::GROUP, names::VERSION, "sandboxclasses"),
            Self::ClusterSandboxClass => (names::GROUP, names::VERSION, "clustersandboxclasses"),
            Self::AgentRuntime => (names::GROUP, names::VERSION, "agentruntimes"),
            Self::Deployment => ("apps", "v1", "deployments"),
            Self::ReplicaSet => ("apps", "v1", "replicasets"),
            Self::Pod => ("", "v1", "pods"),
            Self::Service => ("", "v1", "services"),
            Self::NetworkPolicy => ("networking.k8s.io", "v1", "networkpolicies"),
            Self::Namespace => ("", "v1", "namespaces"),
            Self::Connection => (names::GROUP, names::VERSION, "connections"),
            Self::Workspace => (names::GROUP, names::VERSION, "workspaces"),
            Self::PersistentVolumeClaim => ("", "v1", "persistentvolumeclaims"),
            Self::Lease => ("coordination.k8s.io", "v1", "leases"),
            Self::Secret => ("", "v1", "secrets"),
            Self::SelfSubjectReview => ("authentication.k8s.io", "v1", "selfsubjectreviews"),
            Self::Event => ("events.k8s.io", "v1", "events"),
            Self::MutatingWebhookConfiguration => (
                "admissionregistration.k8s.io",
                "v1",
                "mutatingwebhookconfigurations",
            ),
            Self::ValidatingWebhookConfiguration => (
                "admissionregistration.k8s.io",
                "v1",
                "validatingwebhookconfigurations",
            ),
            Self::ValidatingAdmissionPolicy => (
                "admissionregistration.k8s.io",
                "v1",
                "validatingadmissionpolicies",
            ),
            Self::ValidatingAdmissionPolicyBinding => (
                "admissionregistration.k8s.io",
                "v1",
                "validatingadmissionpolicybindings",
            ),
            Self::ConfigMap => ("", "v1", "configmaps"),
            Self::TokenRequest => ("authentication.k8s.io", "v1", "tokenrequests"),
            Self::MutatingAdmissionPolicy => (
                "admissionregistration.k8s.io",
                "v1",
                "mutatingadmissionpolicies",
            ),
            Self::MutatingAdmissionPolicyBinding => (
                "admissionregistration.k8s.io",
                "v1",
                "mutatingadmissionpolicybindings",
            ),
        }
    }

    /// How the API server serves the kind.
    pub fn resource(self) -> ApiResource {
        let (group, version, plural) = self.address();
        ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version: self.api_version(),
            kind: self.as_str().to_owned(),
            plural: plural.to_owned(),
        }
    }

    /// `apiVersion` as written in manifests.
    pub fn api_version(self) -> String {
        let (group, version, _) = self.address();
        if group.is_empty() {
            version.to_owned()
        } else {
            format!("{group}/{version}")
        }
    }
}

impl EncodeLabelValue for Kind {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), std::fmt::Error> {
        EncodeLabelValue::encode(&self.as_str(), encoder)
    }
}
