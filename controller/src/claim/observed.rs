//! Everything the decision about one claim needs, as plain values. Pure: gather fills it, plan reads
//! it, and a test builds it by hand.
//!
//! Objects that Sandgate built are held as [`LiveObject`]: uid, resourceVersion, owner, digest and
//! intent hash, never whole. The readers in `read` turn API objects into these views, so that the
//! caches and the answers of the API server are reduced in one way.

mod memory;
mod read;

use std::collections::BTreeMap;
use std::net::IpAddr;

use k8s_openapi::jiff::Timestamp;
use sandgate_shared::api::{SandboxClaim, SandboxClassSpec, outside::AgentRuntimeSpec};
use sandgate_shared::trust::Trust;

pub use memory::{AppliedRecord, HeldBack, Memory, PastHeal, PastRefusal};
pub(super) use read::NEVER_STARTED;

/// What stands in the cluster for one claim, at one moment.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The claim itself.
    pub claim: SandboxClaim,
    /// The `AgentRuntime` the claim names, looked up in the claim's namespace. `Missing` as well
    /// when the claim names none.
    pub runtime: Lookup<AgentRuntimeSpec>,
    /// The class, looked up where `classRef.kind` says and nowhere else (C-003).
    pub class: Lookup<SandboxClassSpec>,
    /// Each Service that [`super::plan::allowed_services`] names for this class. A key that is
    /// absent counts as missing.
    pub services: BTreeMap<ServiceKey, Lookup<AllowedTarget>>,
    /// The namespace is being deleted; nothing can be created in it (C-032).
    pub namespace_terminating: bool,
    /// `sandgate-baseline` of the claim's namespace.
    pub baseline: Option<LiveObject>,
    /// The `NetworkPolicy` of the claim's name, whoever owns it.
    pub policy: Option<LiveObject>,
    /// The Service of the claim's name, whoever owns it.
    pub service: Option<LiveObject>,
    /// The Deployment of the claim's name, whoever owns it.
    pub deployment: Option<LiveObject>,
    /// `ReplicaSets` labelled with the claim's UID.
    pub replica_sets: Vec<ObservedReplicaSet>,
    /// Pods labelled with the claim's UID, terminating ones too.
    pub pods: Vec<ObservedPod>,
    /// What is known of the admission policy that keeps claims from everyone but the operator.
    pub trust: Trust,
    /// What this process remembers of the claim; after a restart [`Memory::recall`].
    pub memory: Memory,
}

impl Observed {
    /// The live object of a kind.
    pub fn live(&self, kind: ObjectKind) -> Option<&LiveObject> {
        match kind {
            ObjectKind::Baseline => self.baseline.as_ref(),
            ObjectKind::NetworkPolicy => self.policy.as_ref(),
            ObjectKind::Service => self.service.as_ref(),
            ObjectKind::Deployment => self.deployment.as_ref(),
        }
    }
}

/// What stands to shut the sandboxes of a namespace, where anything is to be shut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guarded {
    /// `sandgate-baseline` of the namespace.
    pub baseline: Option<LiveObject>,
    /// The namespace is being deleted; nothing can be created in it.
    pub terminating: bool,
}

/// The answer to "does this object exist". An answer that could not be had (the API server is
/// down) is no `Lookup`: gather fails and is tried again.
#[derive(Clone, Debug, PartialEq)]
pub enum Lookup<T> {
    /// It exists.
    Found(T),
    /// It definitely does not.
    Missing,
}

impl<T> Lookup<T> {
    /// The value, if it exists.
    pub fn found(&self) -> Option<&T> {
        match self {
            Self::Found(value) => Some(value),
            Self::Missing => None,
        }
    }
}

impl<T> From<Option<T>> for Lookup<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Self::Found)
    }
}

/// The objects built for a claim, in the order they are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    /// The un-owned `NetworkPolicy` that shuts every sandbox pod of the namespace (O-037).
    Baseline,
    /// The claim's own `NetworkPolicy`.
    NetworkPolicy,
    /// The claim's Service.
    Service,
    /// The claim's Deployment.
    Deployment,
}

impl ObjectKind {
    /// The three kinds each claim owns, in the order they are made.
    pub const OWNED: [Self; 3] = [Self::NetworkPolicy, Self::Service, Self::Deployment];

    /// The kind, as in a manifest and in `status.applied`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Baseline | Self::NetworkPolicy => "NetworkPolicy",
            Self::Service => "Service",
            Self::Deployment => "Deployment",
        }
    }

    /// The apiVersion, as in a manifest.
    pub const fn api_version(self) -> &'static str {
        match self {
            Self::Baseline | Self::NetworkPolicy => "networking.k8s.io/v1",
            Self::Service => "v1",
            Self::Deployment => "apps/v1",
        }
    }

    /// The plural, as in a URL.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Baseline | Self::NetworkPolicy => "networkpolicies",
            Self::Service => "services",
            Self::Deployment => "deployments",
        }
    }
}

/// One live object of a kind that Sandgate builds. Read with [`LiveObject::read`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveObject {
    /// Its UID.
    pub uid: String,
    /// Its resourceVersion.
    pub resource_version: String,
    /// UID of its controller owner, if it has one.
    pub controller: Option<String>,
    /// Digest of its spec, our labels and its owner references ([`super::plan::digest`]).
    pub digest: String,
    /// The hash of the intent it was written from, as its annotation says.
    pub intent: Option<String>,
    /// It has a deletionTimestamp.
    pub deleting: bool,
    /// Port numbers by name; only read for a Service.
    pub ports: BTreeMap<String, i32>,
}

/// Names a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceKey {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What matters of a Service named in `egress.allowedServices`. Read with [`AllowedTarget::read`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedTarget {
    /// Its pod selector; empty when it selects no pods itself, as an `ExternalName` never does.
    pub selector: BTreeMap<String, String>,
    /// Its cluster addresses, one a family; none for a headless one.
    pub addresses: Vec<IpAddr>,
    /// Its ports.
    pub ports: Vec<TargetPort>,
}

/// One port of a Service named in `egress.allowedServices`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetPort {
    /// The Service's port number.
    pub port: i32,
    /// Where it leads in the pod.
    pub target: Target,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: String,
}

/// A port of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// By number.
    Number(i32),
    /// By the name a container gives it.
    Name(String),
}

impl Default for Target {
    fn default() -> Self {
        Self::Number(0)
    }
}

/// What matters of a `ReplicaSet`. Read with [`ObservedReplicaSet::read`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedReplicaSet {
    /// Its UID.
    pub uid: String,
    /// UID of its controller owner: the Deployment.
    pub controller: Option<String>,
    /// The message of its condition `ReplicaFailure`, if that is true.
    pub failure: Option<String>,
}

/// What matters of a pod. Read with [`ObservedPod::read`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedPod {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// UID of its controller owner: the `ReplicaSet`.
    pub controller: Option<String>,
    /// When it was created, if known.
    pub created: Option<Timestamp>,
    /// Its condition `Ready` is true.
    pub ready: bool,
    /// What it is not ready for although its containers run.
    pub unready: Option<Unready>,
    /// Its phase is `Succeeded` or `Failed`: it will never run again.
    pub finished: bool,
    /// It has a deletionTimestamp.
    pub deleting: bool,
    /// Why node or cluster put an end to it, or is about to.
    pub disruption: Option<Disruption>,
    /// The scheduler's message, when its condition `PodScheduled` is false for `Unschedulable`.
    pub unschedulable: Option<String>,
    /// Its containers in order of the status, those that initialise it first.
    pub containers: Vec<ObservedContainer>,
}

/// What a pod is not ready for although its containers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unready {
    /// Its readiness was lost after its containers started: the probe fails.
    Probe,
    /// Its containers are ready as far as their node said last: the node is silent.
    Node,
}

/// Why node or cluster put an end to a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disruption {
    /// Such as `Evicted`.
    pub reason: String,
    /// In the words of who did it.
    pub message: String,
}

/// What matters of a container's status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedContainer {
    /// Its name.
    pub name: String,
    /// Its image, as the status has it.
    pub image: String,
    /// Its readiness.
    pub ready: bool,
    /// Why it waits, if it does.
    pub waiting: Option<Waiting>,
    /// How it ended: the present state if it is terminated, else the last one, unless the pod has
    /// been ready since.
    pub terminated: Option<Terminated>,
}

/// Why a container waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Such as `ImagePullBackOff`.
    pub reason: String,
    /// The kubelet's words.
    pub message: String,
}

/// How a container ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terminated {
    /// Such as `OOMKilled`.
    pub reason: String,
    /// Exit code.
    pub exit_code: i32,
    /// The runtime's words, where the program could not be started.
    pub message: String,
}
