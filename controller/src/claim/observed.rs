//! Everything the decision about one claim needs, as plain values. Pure: gather fills it, plan reads
//! it, and a test builds it by hand.
//!
//! Objects that Sandgate built are held as [`LiveObject`]: uid, resourceVersion, owner, digest and
//! intent hash, never whole. The readers in `read` turn API objects into these views, so that the
//! caches and the answers of the API server are reduced in one way.

mod binding;
mod memory;
mod object;
mod opening;
pub(super) mod owner;
mod pod;
mod read;
mod revocation;
mod service;
mod storage;

use std::collections::BTreeMap;

use sandgate_shared::api::{SandboxClaim, SandboxClassSpec, outside::AgentRuntimeSpec};
use sandgate_shared::trust::Trust;

use crate::admission_queue::Admission;
use crate::leader::Leaderless;

pub use binding::Binding;
pub use memory::{AppliedRecord, HeldBack, Memory, PastHeal, PastRefusal};
pub use object::{LiveObject, ObjectKind, ObservedProxy};
pub use opening::{Opening, Widening};
pub use pod::{
    Disruption, ObservedContainer, ObservedPod, ObservedReplicaSet, Terminated, Unready, Waiting,
};
pub(super) use read::NEVER_STARTED;
pub use revocation::Revocation;
pub use service::{AllowedTarget, ServiceKey, Target, TargetPort};
pub use storage::{Content, Directory, Storage};

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
    /// Each Service that [`super::plan::allowed_services`] names for this class, and of a claim that binds
    /// Connections each that serves a test host. A key that is absent counts as missing.
    pub services: BTreeMap<ServiceKey, Lookup<AllowedTarget>>,
    /// The namespace is being deleted; nothing can be created in it (C-032).
    pub namespace_terminating: bool,
    /// What stands of the Connections that the claim binds, in its order; `None` before they are looked
    /// at, which is when nothing else keeps the claim from its sandbox.
    pub bindings: Option<Vec<Binding>>,
    /// `sandgate-baseline` of the claim's namespace.
    pub baseline: Option<LiveObject>,
    /// The `NetworkPolicy` of the claim's name, whoever owns it.
    pub policy: Option<LiveObject>,
    /// The Service of the claim's name, whoever owns it.
    pub service: Option<LiveObject>,
    /// The Deployment of the claim's name, whoever owns it.
    pub deployment: Option<LiveObject>,
    /// What stands of the claim's egress proxy.
    pub proxy: ObservedProxy,
    /// `ReplicaSets` labelled with the claim's UID, the proxy's among them.
    pub replica_sets: Vec<ObservedReplicaSet>,
    /// Pods labelled with the claim's UID, terminating ones too; not the proxy's.
    pub pods: Vec<ObservedPod>,
    /// What keeps the content of the claim's namespace.
    pub storage: Storage,
    /// What is at the claim's directory; `None` where it has none, or the operator does not see it.
    pub directory: Option<Directory>,
    /// The claim whose directory keeps this one from its own (M-022).
    pub nested: Option<String>,
    /// What is known of the admission policy that keeps claims from everyone but the operator.
    pub trust: Trust,
    /// Whether the claim may have a place under its runtime's limits. Found out of one that asks for a
    /// place, which is one that nothing else holds up and that has none yet.
    pub admission: Admission,
    /// When nobody led; `None` where that, or the API server's time, is not known, and nothing ends by its
    /// age.
    pub leaderless: Option<Leaderless>,
    /// What this process remembers of the claim; after a restart [`Memory::recall`].
    pub memory: Memory,
}

impl Observed {
    /// A claim of which nothing else is known: nothing stands for it, and nothing that it names.
    pub fn of(claim: SandboxClaim) -> Self {
        Self {
            claim,
            runtime: Lookup::Missing,
            class: Lookup::Missing,
            services: BTreeMap::new(),
            namespace_terminating: false,
            bindings: None,
            baseline: None,
            policy: None,
            service: None,
            deployment: None,
            proxy: ObservedProxy::default(),
            replica_sets: Vec::new(),
            pods: Vec::new(),
            storage: Storage::default(),
            directory: None,
            nested: None,
            trust: Trust::default(),
            admission: Admission::default(),
            leaderless: None,
            memory: Memory::default(),
        }
    }

    /// The live object of a kind.
    pub fn live(&self, kind: ObjectKind) -> Option<&LiveObject> {
        match kind {
            ObjectKind::Baseline => self.baseline.as_ref(),
            ObjectKind::NetworkPolicy => self.policy.as_ref(),
            ObjectKind::Service => self.service.as_ref(),
            ObjectKind::Deployment => self.deployment.as_ref(),
            ObjectKind::EgressNetworkPolicy => self.proxy.policy.as_ref(),
            ObjectKind::EgressAllowlist => self.proxy.allowlist.as_ref(),
            ObjectKind::EgressService => self.proxy.service.as_ref(),
            ObjectKind::EgressDeployment => self.proxy.deployment.as_ref(),
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
