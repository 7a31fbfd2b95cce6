//! `SandboxClaim`: asks for one sandbox of a class (T-002, T-006 to T-036). Data only.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a claim asks for. Everything but `requestedBy` is immutable.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "omnia.altairalabs.ai",
    version = "v1alpha1",
    kind = "SandboxClaim",
    plural = "sandboxclaims",
    shortname = "sbclaim",
    namespaced,
    status = "SandboxClaimStatus",
    doc = "SandboxClaim asks for one network-isolated sandbox of a class, as a PersistentVolumeClaim asks for storage.",
    printcolumn(
        name = "Phase",
        type_ = "string",
        json_path = ".status.phase",
        description = "Where the claim stands."
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        description = "Why it stands there."
    ),
    printcolumn(
        name = "Class",
        type_ = "string",
        json_path = ".spec.classRef.name",
        description = "The class it names."
    ),
    printcolumn(
        name = "Session",
        type_ = "string",
        json_path = ".spec.sessionID",
        description = "The session it serves."
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Time since creation."
    )
)]
#[serde(rename_all = "camelCase")]
pub struct SandboxClaimSpec {
    /// The AgentRuntime this sandbox belongs to, in the claim's own namespace. Its pods alone may call the sandbox. Exactly one of agentRuntimeRef and enrolment is set. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_runtime_ref: Option<AgentRuntimeRef>,
    /// The class that defines what the sandbox is. Immutable.
    pub class_ref: ClassRef,
    /// The session this sandbox serves. It becomes a pod label, hence a non-empty label value of at most 63 characters. Immutable.
    #[serde(rename = "sessionID")]
    #[schemars(length(min = 1, max = 63), regex(pattern = super::pattern::LABEL_VALUE))]
    pub session_id: String,
    /// The sandbox's identity within its runtime and session, `<sandbox>/<instance>`, two DNS labels. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 127))]
    pub handle: Option<String>,
    /// The directory this sandbox's work is promoted to, relative to the workspace's content volume. Written by the operator only. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub target_path: Option<String>,
    /// The workspace directory the sandbox mounts: at most one entry; none, or role scratch, is the claim's own scratch directory. Any other role is written by the operator only. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1), extend("x-kubernetes-list-type" = "atomic"))]
    pub mounts: Option<Vec<MountBinding>>,
    /// Deprecated form of mounts with a single binding; not together with mounts. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount: Option<MountBinding>,
    /// The Connections bound to the class's roles. Written by the operator only. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["role"]))]
    pub connections: Option<Vec<ConnectionBinding>>,
    /// Whom the runtime believed it acted for. Recorded, never trusted; it is no credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_by: Option<RequestedBy>,
    /// The verified, pseudonymised user whose declaration authorised the mount. Written by the operator only. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub declared_by: Option<String>,
    /// How many live claims with the same first handle segment the session may hold. Written by the operator only. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_instances: Option<i32>,
    /// Makes this claim an interactive sign-in for one Connection and one user. Written by the operator only. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enrolment: Option<Enrolment>,
}

/// Names an AgentRuntime in the claim's namespace (T-007).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRuntimeRef {
    /// Name of the AgentRuntime.
    #[schemars(length(min = 1, max = 253), regex(pattern = super::pattern::DNS_SUBDOMAIN))]
    pub name: String,
}

/// Names a class and the kind to look it up in; there is no fallback between the kinds (C-003).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassRef {
    /// Name of the class.
    #[schemars(length(min = 1, max = 253), regex(pattern = super::pattern::DNS_SUBDOMAIN))]
    pub name: String,
    /// SandboxClass is looked up in the claim's namespace, ClusterSandboxClass cluster-wide.
    #[serde(default)]
    pub kind: ClassKind,
}

/// The two kinds of class (T-009).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ClassKind {
    /// A class of the claim's namespace.
    #[default]
    SandboxClass,
    /// A class of the platform.
    ClusterSandboxClass,
}

impl ClassKind {
    /// The kind as written in manifests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SandboxClass => "SandboxClass",
            Self::ClusterSandboxClass => "ClusterSandboxClass",
        }
    }
}

/// One workspace directory bound to a role (T-014 to T-017).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MountBinding {
    /// scratch, session or a configured mount role; empty means scratch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub role: Option<String>,
    /// What the role is mounted for, such as a project's name. Required with a configured role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub id: Option<String>,
    /// The directory that role and id resolved to, relative to the workspace's content. Written by the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub path: Option<String>,
    /// Whether a missing directory fails the claim (true) or is made (false). Written by the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub must_exist: Option<bool>,
}

impl MountBinding {
    /// The role, with empty and absent read as scratch (T-013).
    pub fn role(&self) -> &str {
        match self.role.as_deref() {
            None | Some("") => "scratch",
            Some(role) => role,
        }
    }
}

/// A Connection bound to one of the class's roles (T-021, Q1).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionBinding {
    /// The class's role.
    #[schemars(length(min = 1, max = 253))]
    pub role: String,
    /// Name of the Connection, in the claim's namespace.
    #[schemars(length(min = 1, max = 253))]
    pub connection: String,
}

/// Whom the runtime believed it acted for (T-022).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestedBy {
    /// The pseudonymised end user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub subject: Option<String>,
    /// The agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub agent: Option<String>,
}

/// An interactive sign-in (T-025 to T-028).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Enrolment {
    /// The browserSession Connection signed in to.
    #[schemars(length(min = 1, max = 253))]
    pub connection: String,
    /// The user who signs in; empty for a shared Connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub subject: Option<String>,
    /// How long the person has once the sandbox runs: a duration of 1m to 20m.
    #[serde(default = "default_max_duration")]
    #[schemars(length(max = 32))]
    pub max_duration: String,
}

fn default_max_duration() -> String {
    "15m".to_owned()
}

/// What the operator reports. Only the operator may write it (P-031).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SandboxClaimStatus {
    /// Where the claim stands; empty before the first reconcile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<ClaimPhase>,
    /// host:port for each class port, by port name; present only while the sandbox can be dialled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 8))]
    pub addresses: Option<BTreeMap<String, String>>,
    /// host:port of an enrolment's live view, while it is Bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view_address: Option<String>,
    /// When an enrolment ends unsaved; empty on every other claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
    /// Name of the Deployment, Service and NetworkPolicy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_name: Option<String>,
    /// When the claim was last used; idleness is measured from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Time>,
    /// When the claim is deleted because its conversation ended; empty while it lives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release_at: Option<Time>,
    /// The version this claim's work was last promoted to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_synced_version: Option<String>,
    /// When that promotion happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_synced_at: Option<Time>,
    /// Why the latest promotion failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_error: Option<String>,
    /// Where the claim's workspace directory sits on the volume; fixed at first reconcile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_sub_path: Option<String>,
    /// The spec generation this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Hash of the pod template this claim was built from; an edited class does not change it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template_hash: Option<String>,
    /// What stands for this claim, as last written: a difference is a stranger's edit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["kind"]))]
    pub applied: Option<Vec<AppliedObject>>,
    /// The detail behind the phase: Ready, Bound, ProvenanceVerified, SandboxModified, InsecureEgressTestHosts (bad when True).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Option<Vec<Condition>>,
}

/// One object as last written by the operator (O-040).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AppliedObject {
    /// Kind, and of what belongs to the egress proxy its component: Deployment, Service, NetworkPolicy, Deployment/egress.
    #[schemars(length(max = 63))]
    pub kind: String,
    /// UID of the object.
    #[schemars(length(max = 63))]
    pub uid: String,
    /// Digest of the spec, labels and owner references the API server returned.
    #[schemars(length(max = 64))]
    pub digest: String,
}

/// Where a claim stands (T-029).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ClaimPhase {
    /// Admitted; the sandbox is being made or is not ready.
    Pending,
    /// A ceiling is full.
    Queued,
    /// The addresses can be dialled.
    Bound,
    /// An enrolment stored its session.
    Completed,
    /// Terminal; see the Ready condition.
    Failed,
}

impl ClaimPhase {
    /// As written in the status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Queued => "Queued",
            Self::Bound => "Bound",
            Self::Completed => "Completed",
            Self::Failed => "Failed",
        }
    }
}
