//! `SandboxClass` and `ClusterSandboxClass`: one spec type, two kinds (T-003, T-004, T-037 to T-058).
//! Data only.

use std::collections::BTreeMap;

use k8s_openapi::{api::core::v1::Toleration, apimachinery::pkg::api::resource::Quantity};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema;

/// How to run one image as a sandbox, and what it may reach.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "omnia.altairalabs.ai",
    version = "v1alpha1",
    kind = "SandboxClass",
    plural = "sandboxclasses",
    shortname = "sbc",
    namespaced,
    doc = "SandboxClass says how sandboxes of this namespace run: image, ports, files, resources and what they may reach.",
    printcolumn(
        name = "Image",
        type_ = "string",
        json_path = ".spec.image",
        description = "The image sandboxes run."
    ),
    printcolumn(
        name = "Trusted",
        type_ = "boolean",
        json_path = ".spec.trusted",
        description = "Whether limits may be left out."
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Time since creation."
    )
)]
#[serde(rename_all = "camelCase")]
pub struct SandboxClassSpec {
    /// The image. It is the tool surface of the sandbox: whoever may create a class chooses the tools.
    #[schemars(length(min = 1, max = 1024))]
    pub image: String,
    /// When the image is pulled.
    #[serde(default)]
    pub image_pull_policy: ImagePullPolicy,
    /// Arguments of the image, at most 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), inner(length(max = 4096)), extend("x-kubernetes-list-type" = "atomic"))]
    pub args: Option<Vec<String>>,
    /// Literal environment variables, at most 64. The proxy variables are refused; credentials come through Connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub env: Option<Vec<EnvVar>>,
    /// The ports a sandbox serves, 1 to 8. Immutable, their order too: live claims depend on them.
    #[schemars(length(min = 1, max = 8), extend("x-kubernetes-list-type" = "atomic"))]
    pub ports: Vec<ClassPort>,
    /// How readiness is probed, every second from pod start; absent dials the first port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readiness: Option<Readiness>,
    /// Workspace, scratch volumes and the root filesystem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<Filesystem>,
    /// Requests and limits. limits.cpu and limits.memory are both required unless trusted is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
    /// Lifts the limits requirement, for first-party code, and changes nothing else.
    #[serde(default)]
    pub trusted: bool,
    /// A RuntimeClass, such as gVisor or Kata. Whether it exists is not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub runtime_class_name: Option<String>,
    /// Node labels that pods of this class need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 64))]
    pub node_selector: Option<BTreeMap<String, String>>,
    /// Taints that pods of this class tolerate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub tolerations: Option<Vec<Toleration>>,
    /// What sandboxes may reach. Absent denies everything, DNS included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub egress: Option<Egress>,
    /// The mount roles a sandbox of this class may bind; absent or empty means scratch only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["role"]))]
    pub mounts: Option<Vec<ClassMount>>,
    /// The roles this class offers for Connections, at most 16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["role"]))]
    pub connections: Option<Vec<ClassConnection>>,
    /// The port that serves the sandbox's live view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<View>,
    /// Makes the class usable for enrolments; needs view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enrolment: Option<ClassEnrolment>,
}

/// The spec of the cluster-wide kind: the same schema, no field of its own (T-004).
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "omnia.altairalabs.ai",
    version = "v1alpha1",
    kind = "ClusterSandboxClass",
    plural = "clustersandboxclasses",
    shortname = "csbc",
    doc = "ClusterSandboxClass is a SandboxClass of the platform, usable from every namespace.",
    printcolumn(
        name = "Image",
        type_ = "string",
        json_path = ".spec.image",
        description = "The image sandboxes run."
    ),
    printcolumn(
        name = "Trusted",
        type_ = "boolean",
        json_path = ".spec.trusted",
        description = "Whether limits may be left out."
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Time since creation."
    )
)]
pub struct ClusterSandboxClassSpec {
    /// The class.
    #[serde(flatten)]
    pub class: SandboxClassSpec,
}

/// When the image is pulled (T-037).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ImagePullPolicy {
    /// At every start.
    Always,
    /// When the node lacks it.
    #[default]
    IfNotPresent,
    /// Never.
    Never,
}

impl ImagePullPolicy {
    /// As written in a pod.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Always => "Always",
            Self::IfNotPresent => "IfNotPresent",
            Self::Never => "Never",
        }
    }
}

/// A literal environment variable; there is no reference form (T-039).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EnvVar {
    /// Name of the variable.
    #[schemars(
        length(min = 1, max = 256),
        regex(pattern = super::pattern::VARIABLE)
    )]
    pub name: String,
    /// Literal value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32768))]
    pub value: Option<String>,
}

/// A named port of the sandbox (T-042, T-078).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassPort {
    /// Name that handlers and addresses use: at most 15 lower-case letters, digits and dashes, with a letter.
    #[schemars(length(min = 1, max = 15))]
    pub name: String,
    /// Number the image listens on.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
}

/// How readiness is probed (T-043).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Readiness {
    /// Name of the class port probed; the first port if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 15))]
    pub port: Option<String>,
    /// Probe by HTTP GET instead of a TCP dial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_get: Option<HttpGet>,
}

/// A plain HTTP probe.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HttpGet {
    /// Path requested, starting with a slash.
    #[schemars(length(min = 1, max = 1024), regex(pattern = super::pattern::HTTP_PATH))]
    pub path: String,
}

/// Files of the sandbox.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Filesystem {
    /// Mounts the claim's workspace directory. Whether it is present is immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Workspace>,
    /// Makes the root filesystem read-only.
    #[serde(default)]
    pub read_only_root: bool,
    /// Scratch volumes, at most 8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 8), extend("x-kubernetes-list-type" = "atomic"))]
    pub scratch: Option<Vec<ScratchVolume>>,
}

/// Where the workspace directory is mounted (T-044).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Workspace {
    /// Absolute path in the sandbox.
    #[schemars(length(min = 1, max = 1024))]
    pub mount_path: String,
}

/// An emptyDir of bounded size (T-046).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScratchVolume {
    /// Name of the volume, a DNS label; names starting sandgate- are kept for the operator.
    #[schemars(length(min = 1, max = 63), regex(pattern = super::pattern::DNS_LABEL))]
    pub name: String,
    /// Absolute path in the sandbox.
    #[schemars(length(min = 1, max = 1024))]
    pub mount_path: String,
    /// Largest size, more than zero.
    #[schemars(schema_with = "schema::quantity")]
    pub size_limit: Quantity,
    /// Disk keeps it on the node, Memory in RAM, counted against the memory limit.
    #[serde(default)]
    pub medium: Medium,
}

/// Where a scratch volume lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Medium {
    /// The node's disk.
    #[default]
    Disk,
    /// RAM.
    Memory,
}

/// Requests and limits (T-047).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Resources {
    /// The most a sandbox may use, by resource name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::quantities")]
    pub limits: Option<BTreeMap<String, Quantity>>,
    /// What the scheduler sets aside, by resource name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::quantities")]
    pub requests: Option<BTreeMap<String, Quantity>>,
    /// Not accepted: a sandbox takes no dynamic resource claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::refused_list")]
    pub claims: Option<Vec<serde_json::Value>>,
}

/// What sandboxes may reach (T-051, T-052).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Egress {
    /// Services a sandbox may reach, at most 32.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "atomic"))]
    pub allowed_services: Option<Vec<AllowedService>>,
    /// Opens the cluster's DNS. It forwards what it cannot answer, which makes it a channel out.
    #[serde(default)]
    pub dns: bool,
}

/// A Service a sandbox may reach, by its own selector and target ports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AllowedService {
    /// Name of the Service.
    #[schemars(length(min = 1, max = 63), regex(pattern = super::pattern::DNS_LABEL))]
    pub name: String,
    /// Its namespace; the claim's if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = super::pattern::DNS_LABEL))]
    pub namespace: Option<String>,
    /// The Service's port numbers that are opened, 1 to 16; no other port is.
    #[schemars(length(min = 1, max = 16), inner(range(min = 1, max = 65535)), extend("x-kubernetes-list-type" = "set"))]
    pub ports: Vec<i32>,
}

/// A mount role the class accepts (T-053).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassMount {
    /// scratch or a configured mount role; never session.
    #[schemars(length(min = 1, max = 63), regex(pattern = super::pattern::DNS_LABEL))]
    pub role: String,
    /// Whether the sandbox may write to the directory.
    #[serde(default)]
    pub access: Access,
}

/// Whether a mount may be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Access {
    /// Read and write.
    #[default]
    ReadWrite,
    /// Read only.
    ReadOnly,
}

/// A role the class offers for a Connection (T-054, T-055).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassConnection {
    /// An opaque name.
    #[schemars(length(min = 1, max = 253))]
    pub role: String,
    /// Refuses a sandbox that leaves this role unbound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// How a bound browser session reaches the image. Absent accepts none; present but empty accepts one and fetches nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionDelivery>,
}

/// How a browser session reaches the image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDelivery {
    /// Where the session is written before the sandbox starts; under one of the scratch volumes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub state_file: Option<String>,
    /// Go templates appended to args when a session is bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32), inner(length(max = 4096)), extend("x-kubernetes-list-type" = "atomic"))]
    pub args: Option<Vec<String>>,
}

/// The live view (T-057).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// Name of the class port that serves it.
    #[schemars(length(min = 1, max = 15))]
    pub port: String,
}

/// What an enrolment adds to the class (T-058).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassEnrolment {
    /// Go templates appended to args for each enrolment, 1 to 32.
    #[schemars(length(min = 1, max = 32), inner(length(max = 4096)), extend("x-kubernetes-list-type" = "atomic"))]
    pub args: Vec<String>,
}
