//! From API objects to the views of [`super`]. Pure; a field that is missing or odd reads as absent.

use k8s_openapi::{
    api::{
        apps::v1::ReplicaSet,
        core::v1::{ContainerStateTerminated, ContainerStatus, Pod, PodCondition, Service},
    },
    apimachinery::pkg::{apis::meta::v1::OwnerReference, util::intstr::IntOrString},
    jiff::Timestamp,
};
use sandgate_shared::names;
use serde::Deserialize as _;
use serde_json::Value;

use super::{
    AllowedTarget, Disruption, LiveObject, ObservedContainer, ObservedPod, ObservedReplicaSet,
    Target, TargetPort, Terminated, Unready, Waiting, owner,
};
use crate::claim::digest::digest;

/// What containerd says of a container whose program could not be started.
pub(in crate::claim) const NEVER_STARTED: &str = "StartError";

impl LiveObject {
    /// Reads an object as the API server sent it. `None` if it carries no UID, which the API server
    /// always sets.
    pub fn read(object: &Value) -> Option<Self> {
        let metadata = object.get("metadata")?;
        let text = |key: &str| metadata.get(key).and_then(Value::as_str);
        let owners = metadata.get("ownerReferences").and_then(Value::as_array);
        let owners = owners.into_iter().flatten();
        let owners = owners.filter_map(|owner| OwnerReference::deserialize(owner).ok());
        let owners: Vec<OwnerReference> = owners.collect();
        let controller = owner::controller(Some(&owners));
        let name = text("name").unwrap_or_default();
        let of_claim = controller.and_then(owner::claim).is_some_and(|claim| {
            [names::sandbox(claim), names::egress(claim)]
                .iter()
                .any(|of_claim| of_claim == name)
        });
        let annotations = metadata.get("annotations");
        let annotation = |key: &str| {
            let value = annotations.and_then(|all| all.get(key));
            value.and_then(Value::as_str).map(str::to_owned)
        };
        Some(Self {
            uid: text("uid")?.to_owned(),
            resource_version: text("resourceVersion").unwrap_or_default().to_owned(),
            controller: controller.map(|owner| owner.uid.clone()),
            of_claim,
            digest: digest(object),
            intent: annotation(names::ANNOTATION_INTENT),
            bindings: annotation(names::ANNOTATION_BINDINGS),
            proxy: annotation(names::ANNOTATION_PROXY),
            deleting: text("deletionTimestamp").is_some(),
            ports: ports_by_name(object),
            // `None` of a headless Service is no address.
            address: object
                .pointer("/spec/clusterIP")
                .and_then(|address| address.as_str()?.parse().ok()),
            immutable: object.get("immutable").and_then(Value::as_bool) == Some(true),
        })
    }
}

/// All of them, without room for more: they are kept for as long as their object stands.
fn exactly<T>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.shrink_to_fit();
    items
}

fn ports_by_name(object: &Value) -> Vec<(String, i32)> {
    let ports = object.pointer("/spec/ports").and_then(Value::as_array);
    let named = ports.into_iter().flatten().filter_map(|port| {
        let name = port.get("name")?.as_str()?;
        let number = i32::try_from(port.get("port")?.as_i64()?).ok()?;
        Some((name.to_owned(), number))
    });
    exactly(named)
}

impl AllowedTarget {
    /// Reads a Service named in `egress.allowedServices`.
    pub fn read(service: &Service) -> Self {
        let Some(spec) = &service.spec else {
            return Self::default();
        };
        let external = spec.type_.as_deref() == Some("ExternalName");
        let selector = spec.selector.clone().filter(|_| !external);
        let ports = spec.ports.iter().flatten().map(|port| TargetPort {
            port: port.port,
            target: match &port.target_port {
                None => Target::Number(port.port),
                Some(IntOrString::Int(number)) => Target::Number(*number),
                Some(IntOrString::String(name)) => Target::Name(name.clone()),
            },
            protocol: port.protocol.clone().unwrap_or_else(|| "TCP".to_owned()),
        });
        // `None` of a headless Service is no address.
        let addresses = spec.cluster_ips.iter().flatten();
        Self {
            selector: exactly(selector.into_iter().flatten()),
            addresses: exactly(addresses.filter_map(|text| text.parse().ok())),
            ports: exactly(ports),
        }
    }
}

impl ObservedReplicaSet {
    /// Reads a `ReplicaSet`.
    pub fn read(set: &ReplicaSet) -> Self {
        let conditions = set
            .status
            .as_ref()
            .and_then(|status| status.conditions.as_deref());
        let failure = conditions
            .unwrap_or_default()
            .iter()
            .find(|condition| condition.type_ == "ReplicaFailure" && condition.status == "True");
        Self {
            uid: set.metadata.uid.clone().unwrap_or_default(),
            controller: controller_of(set.metadata.owner_references.as_deref()),
            failure: failure.map(|condition| condition.message.clone().unwrap_or_default()),
        }
    }
}

impl ObservedPod {
    /// Reads a pod.
    pub fn read(pod: &Pod) -> Self {
        let status = pod.status.as_ref();
        let unschedulable = condition(pod, "PodScheduled").filter(|scheduled| {
            scheduled.status == "False" && scheduled.reason.as_deref() == Some("Unschedulable")
        });
        let phase = status.and_then(|status| status.phase.as_deref());
        let finished = matches!(phase, Some("Succeeded" | "Failed"));
        let unready_since = condition(pod, "Ready")
            .filter(|ready| ready.status == "False")
            .and_then(|ready| ready.last_transition_time.as_ref())
            .map(|time| time.0);
        let containers = status.into_iter().flat_map(|status| {
            let first = status.init_container_statuses.iter().flatten();
            first.chain(status.container_statuses.iter().flatten())
        });
        Self {
            name: pod.metadata.name.clone().unwrap_or_default(),
            uid: pod.metadata.uid.clone().unwrap_or_default(),
            controller: controller_of(pod.metadata.owner_references.as_deref()),
            created: pod.metadata.creation_timestamp.as_ref().map(|at| at.0),
            labels: exactly(pod.metadata.labels.clone().into_iter().flatten()),
            allowlist: pod
                .metadata
                .annotations
                .as_ref()
                .and_then(|all| all.get(names::ANNOTATION_ALLOWLIST))
                .cloned(),
            opened_by: Vec::new(),
            ready: condition(pod, "Ready").is_some_and(|ready| ready.status == "True"),
            unready: unready(pod, unready_since),
            finished,
            deleting: pod.metadata.deletion_timestamp.is_some(),
            disruption: disruption(pod, finished),
            unschedulable: unschedulable
                .map(|condition| condition.message.clone().unwrap_or_default()),
            containers: exactly(
                containers.map(|status| ObservedContainer::read(status, unready_since)),
            ),
        }
    }
}

fn condition<'a>(pod: &'a Pod, wanted: &str) -> Option<&'a PodCondition> {
    let status = pod.status.as_ref()?;
    let mut all = status.conditions.iter().flatten();
    all.find(|condition| condition.type_ == wanted)
}

/// The kubelet never says `Ready` false beside `ContainersReady` true without a reason; the node
/// controller, which speaks for a node that is silent, turns the one and leaves the other.
fn unready(pod: &Pod, since: Option<Timestamp>) -> Option<Unready> {
    let ready = condition(pod, "Ready").filter(|ready| ready.status == "False")?;
    let containers = condition(pod, "ContainersReady");
    let reason = ready.reason.as_deref().unwrap_or_default();
    if reason.is_empty() && containers.is_some_and(|ready| ready.status == "True") {
        return Some(Unready::Node);
    }
    let all = pod.status.as_ref()?.container_statuses.as_deref()?;
    // Not one that is being ended: its phase says so in a moment.
    let lost = reason == "ContainersNotReady"
        && !all.is_empty()
        && all.iter().all(|status| was_ready_since(status, since));
    lost.then_some(Unready::Probe)
}

/// Whether a container runs that started before the pod lost its readiness, so that what ended it
/// before does not explain the loss.
fn was_ready_since(status: &ContainerStatus, unready_since: Option<Timestamp>) -> bool {
    let running = status
        .state
        .as_ref()
        .and_then(|state| state.running.as_ref());
    let started = running.and_then(|running| running.started_at.as_ref());
    started.is_some_and(|started| unready_since.is_some_and(|since| since > started.0))
}

/// What a finished pod says of its end; of any other, what its condition `DisruptionTarget` says.
fn disruption(pod: &Pod, finished: bool) -> Option<Disruption> {
    let status = pod.status.as_ref()?;
    let own = status.reason.as_ref().filter(|_| finished);
    let target = condition(pod, "DisruptionTarget").filter(|target| target.status == "True");
    let (reason, message) = match (own, target) {
        (Some(reason), _) => (reason, &status.message),
        (None, Some(target)) => (target.reason.as_ref()?, &target.message),
        (None, None) => return None,
    };
    Some(Disruption {
        reason: reason.clone(),
        message: message.clone().unwrap_or_default(),
    })
}

impl ObservedContainer {
    fn read(status: &ContainerStatus, unready_since: Option<Timestamp>) -> Self {
        let state = status.state.as_ref();
        let waiting = state.and_then(|state| state.waiting.as_ref());
        let last = status.last_state.as_ref();
        let last = last.filter(|_| !was_ready_since(status, unready_since));
        let terminated = state
            .and_then(|state| state.terminated.as_ref())
            .or_else(|| last.and_then(|last| last.terminated.as_ref()));
        Self {
            name: status.name.clone(),
            image: status.image.clone(),
            ready: status.ready,
            waiting: waiting.map(|waiting| Waiting {
                reason: waiting.reason.clone().unwrap_or_default(),
                message: waiting.message.clone().unwrap_or_default(),
            }),
            terminated: terminated.map(Terminated::read),
        }
    }
}

impl Terminated {
    fn read(terminated: &ContainerStateTerminated) -> Self {
        let reason = terminated.reason.clone().unwrap_or_default();
        // Of a program that ran, the message is its own: an agent's words, not the runtime's.
        let message = terminated
            .message
            .clone()
            .filter(|_| reason == NEVER_STARTED);
        Self {
            exit_code: terminated.exit_code,
            message: message.unwrap_or_default(),
            reason,
        }
    }
}

fn controller_of(owners: Option<&[OwnerReference]>) -> Option<String> {
    owner::controller(owners).map(|owner| owner.uid.clone())
}

#[cfg(test)]
mod tests;
