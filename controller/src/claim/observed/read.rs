//! From API objects to the views of [`super`]. Pure; a field that is missing or odd reads as absent.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::{
        apps::v1::ReplicaSet,
        core::v1::{ContainerStatus, Pod, Service},
    },
    apimachinery::pkg::{apis::meta::v1::OwnerReference, util::intstr::IntOrString},
};
use sandgate_shared::names;
use serde_json::Value;

use super::{
    AllowedTarget, LiveObject, ObservedContainer, ObservedPod, ObservedReplicaSet, Target,
    TargetPort, Terminated, Waiting,
};
use crate::claim::plan::digest;

impl LiveObject {
    /// Reads an object as the API server sent it. `None` if it carries no UID, which the API server
    /// always sets.
    pub fn read(object: &Value) -> Option<Self> {
        let metadata = object.get("metadata")?;
        let text = |key: &str| metadata.get(key).and_then(Value::as_str);
        let owners = metadata.get("ownerReferences").and_then(Value::as_array);
        let controller = owners.into_iter().flatten().find_map(|owner| {
            let controls = owner.get("controller").and_then(Value::as_bool) == Some(true);
            let uid = owner.get("uid").and_then(Value::as_str);
            controls.then_some(uid).flatten()
        });
        let annotations = metadata.get("annotations");
        let intent = annotations
            .and_then(|all| all.get(names::ANNOTATION_INTENT))
            .and_then(Value::as_str);
        Some(Self {
            uid: text("uid")?.to_owned(),
            resource_version: text("resourceVersion").unwrap_or_default().to_owned(),
            controller: controller.map(str::to_owned),
            digest: digest(object),
            intent: intent.map(str::to_owned),
            deleting: text("deletionTimestamp").is_some(),
            ports: ports_by_name(object),
        })
    }
}

fn ports_by_name(object: &Value) -> BTreeMap<String, i32> {
    let ports = object.pointer("/spec/ports").and_then(Value::as_array);
    let named = ports.into_iter().flatten().filter_map(|port| {
        let name = port.get("name")?.as_str()?;
        let number = i32::try_from(port.get("port")?.as_i64()?).ok()?;
        Some((name.to_owned(), number))
    });
    named.collect()
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
            selector: selector.unwrap_or_default(),
            addresses: addresses.filter_map(|text| text.parse().ok()).collect(),
            ports: ports.collect(),
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
        let conditions = status.and_then(|status| status.conditions.as_deref());
        let condition = |wanted: &str| {
            let mut all = conditions.unwrap_or_default().iter();
            all.find(|condition| condition.type_ == wanted)
        };
        let unschedulable = condition("PodScheduled").filter(|scheduled| {
            scheduled.status == "False" && scheduled.reason.as_deref() == Some("Unschedulable")
        });
        let phase = status.and_then(|status| status.phase.as_deref());
        let containers = status.and_then(|status| status.container_statuses.as_deref());
        Self {
            name: pod.metadata.name.clone().unwrap_or_default(),
            uid: pod.metadata.uid.clone().unwrap_or_default(),
            controller: controller_of(pod.metadata.owner_references.as_deref()),
            created: pod.metadata.creation_timestamp.as_ref().map(|at| at.0),
            ready: condition("Ready").is_some_and(|ready| ready.status == "True"),
            finished: matches!(phase, Some("Succeeded" | "Failed")),
            deleting: pod.metadata.deletion_timestamp.is_some(),
            unschedulable: unschedulable
                .map(|condition| condition.message.clone().unwrap_or_default()),
            containers: containers
                .unwrap_or_default()
                .iter()
                .map(ObservedContainer::read)
                .collect(),
        }
    }
}

impl ObservedContainer {
    fn read(status: &ContainerStatus) -> Self {
        let state = status.state.as_ref();
        let waiting = state.and_then(|state| state.waiting.as_ref());
        let last = status.last_state.as_ref();
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
            terminated: terminated.map(|terminated| Terminated {
                reason: terminated.reason.clone().unwrap_or_default(),
                exit_code: terminated.exit_code,
            }),
        }
    }
}

fn controller_of(owners: Option<&[OwnerReference]>) -> Option<String> {
    let mut all = owners.unwrap_or_default().iter();
    let controller = all.find(|owner| owner.controller == Some(true));
    controller.map(|owner| owner.uid.clone())
}

#[cfg(test)]
mod tests;
