//! The one container of a sandbox (O-007 to O-016). Pure.

use k8s_openapi::{
    api::core::v1::{
        Container, ContainerPort, EnvVar, HTTPGetAction, Probe, ResourceRequirements,
        TCPSocketAction, VolumeMount,
    },
    apimachinery::pkg::util::intstr::IntOrString,
};
use sandgate_shared::api::SandboxClassSpec;

use super::{CONTAINER, Parts, connections::variables, filled, invalid};
use crate::claim::plan::{Finding, workload::restricted_container};

pub(super) fn container(
    class: &SandboxClassSpec,
    given: Parts<'_>,
    mounts: Vec<VolumeMount>,
) -> Result<Container, Finding> {
    let placement = given.placement;
    let of_proxy = || given.proxy.into_iter().flat_map(|told| &told.variables);
    // Classes may not set these, and one that was made before they were kept from it does not win.
    let free = |name: &str| of_proxy().all(|ours| ours.name != name);
    let env = class.env.iter().flatten().map(|variable| EnvVar {
        name: variable.name.clone(),
        value: variable.value.clone(),
        value_from: None,
    });
    let env = env.filter(|variable| free(&variable.name));
    let env = env
        .chain(placement.into_iter().flat_map(variables))
        .chain(of_proxy().cloned());
    let further = placement.into_iter().flat_map(|placement| &placement.args);
    let args = class.args.iter().flatten().chain(further).cloned();
    let ports = class.ports.iter().map(|port| ContainerPort {
        name: Some(port.name.clone()),
        container_port: port.port,
        protocol: Some("TCP".to_owned()),
        ..ContainerPort::default()
    });
    let read_only = class.filesystem.as_ref().map(|files| files.read_only_root);
    Ok(Container {
        name: CONTAINER.to_owned(),
        image: Some(class.image.clone()),
        image_pull_policy: Some(class.image_pull_policy.as_str().to_owned()),
        args: filled(args.collect()),
        env: filled(env.collect()),
        ports: filled(ports.collect()),
        readiness_probe: Some(readiness_probe(class)?),
        resources: resources(class),
        security_context: Some(restricted_container(read_only.unwrap_or(false))),
        volume_mounts: filled(mounts),
        ..Container::default()
    })
}

/// Every second from the start; ten failures in a row take a running sandbox out (O-014, O-015).
fn readiness_probe(class: &SandboxClassSpec) -> Result<Probe, Finding> {
    let readiness = class.readiness.as_ref();
    let name = readiness.and_then(|readiness| readiness.port.as_deref());
    let port = match name {
        Some(name) => class.ports.iter().find(|port| port.name == name),
        None => class.ports.first(),
    };
    let Some(port) = port else {
        return Err(match name {
            Some(name) => invalid(&format!("readiness.port {name:?} is none of its ports")),
            None => invalid("ports is empty"),
        });
    };
    let number = IntOrString::Int(port.port);
    let get = readiness.and_then(|readiness| readiness.http_get.as_ref());
    let http_get = get.map(|get| HTTPGetAction {
        path: Some(get.path.clone()),
        port: number.clone(),
        ..HTTPGetAction::default()
    });
    let tcp_socket = http_get.is_none().then_some(TCPSocketAction {
        port: number,
        host: None,
    });
    Ok(Probe {
        http_get,
        tcp_socket,
        period_seconds: Some(1),
        failure_threshold: Some(10),
        ..Probe::default()
    })
}

/// As written (O-016); none at all where the class writes none.
fn resources(class: &SandboxClassSpec) -> Option<ResourceRequirements> {
    let written = class.resources.as_ref()?;
    let limits = written.limits.clone().filter(|map| !map.is_empty());
    let requests = written.requests.clone().filter(|map| !map.is_empty());
    (limits.is_some() || requests.is_some()).then_some(ResourceRequirements {
        limits,
        requests,
        claims: None,
    })
}
