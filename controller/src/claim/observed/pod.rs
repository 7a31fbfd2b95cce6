//! What matters of a claim's pods and of what makes them. Data.

use k8s_openapi::jiff::Timestamp;

use super::Widening;

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
    /// All its labels: policies may select it by any.
    pub labels: Vec<(String, String)>,
    /// The allowlist that its kubelet was told of last, as its annotation says; only on a proxy's.
    pub allowlist: Option<String>,
    /// The policies that open it and are not its claim's own; found when a claim is looked at.
    pub opened_by: Vec<Widening>,
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

impl ObservedPod {
    /// Whether it neither goes nor has ended.
    pub fn stays(&self) -> bool {
        !self.deleting && !self.finished
    }
}

/// Why a container waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Such as `ImagePullBackOff`.
    pub reason: String,
    /// The kubelet's words.
    pub message: String,
}

impl Waiting {
    /// Whether nothing keeps the container: it is merely on its way.
    pub fn is_on_its_way(&self) -> bool {
        ["ContainerCreating", "PodInitializing"].contains(&self.reason.as_str())
    }
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
