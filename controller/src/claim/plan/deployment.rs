//! The Deployment of a claim: one restricted pod of the class's image (O-004 to O-017, O-020,
//! O-035, O-036). Pure.
//!
//! A class with `filesystem.workspace` gets an emptyDir of the claim's own at its mount path: private
//! to the claim, of the node's disk, and gone with the pod. It stands in for the claim's scratch
//! directory on a workspace volume; a claim that asks for a directory which must outlive its pod is
//! never built with it.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy},
        core::v1::{
            Capabilities, Container, ContainerPort, EmptyDirVolumeSource, EnvVar, HTTPGetAction,
            PodSecurityContext, PodSpec, PodTemplateSpec, Probe, ResourceRequirements,
            SeccompProfile, SecurityContext, TCPSocketAction, Volume, VolumeMount,
        },
    },
    apimachinery::pkg::{
        apis::meta::v1::{LabelSelector, ObjectMeta},
        util::intstr::IntOrString,
    },
};
use sandgate_shared::{
    api::{
        SandboxClaim, SandboxClassSpec,
        sandbox_class::{Access, Filesystem, Medium},
    },
    names, reason,
};

use super::{
    Finding,
    intent::{owned_metadata, runtime_label, selector},
};

/// Name of the sandbox's container.
pub(super) const CONTAINER: &str = "sandbox";
/// Name of the volume that is the claim's own workspace. Names that start so are the operator's.
const WORKSPACE_VOLUME: &str = "sandgate-workspace";

/// Keeps service meshes from adding a container of theirs, which would be a second program in the
/// pod and a hole in its policy (O-036). Istio and Kuma read labels, the others annotations.
const MESH_LABELS: [(&str, &str); 3] = [
    ("istio.io/dataplane-mode", "none"),
    ("kuma.io/sidecar-injection", "disabled"),
    ("sidecar.istio.io/inject", "false"),
];
const MESH_ANNOTATIONS: [(&str, &str); 3] = [
    ("consul.hashicorp.com/connect-inject", "false"),
    ("linkerd.io/inject", "disabled"),
    ("sidecar.istio.io/inject", "false"),
];

/// Renders the Deployment, or says why the class cannot be (`InvalidClass`).
pub(super) fn deployment(
    claim: &SandboxClaim,
    class: &SandboxClassSpec,
) -> Result<Deployment, Finding> {
    let pod = PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(pod_labels(claim)),
            annotations: Some(owned(&MESH_ANNOTATIONS)),
            ..ObjectMeta::default()
        }),
        spec: Some(pod_spec(class)?),
    };
    Ok(Deployment {
        metadata: owned_metadata(claim),
        spec: Some(DeploymentSpec {
            replicas: Some(1),
            revision_history_limit: Some(1),
            strategy: Some(DeploymentStrategy {
                type_: Some("Recreate".to_owned()),
                rolling_update: None,
            }),
            selector: LabelSelector {
                match_labels: Some(selector(claim)),
                ..LabelSelector::default()
            },
            template: pod,
            ..DeploymentSpec::default()
        }),
        status: None,
    })
}

fn pod_labels(claim: &SandboxClaim) -> BTreeMap<String, String> {
    let mut labels = owned(&MESH_LABELS);
    labels.insert(names::LABEL_SANDBOX_POD.to_owned(), "true".to_owned());
    labels.insert(
        names::LABEL_COMPONENT.to_owned(),
        names::COMPONENT_SANDBOX.to_owned(),
    );
    if let Some(runtime) = runtime_label(claim) {
        labels.insert(names::LABEL_AGENT_RUNTIME.to_owned(), runtime);
    }
    labels.extend(selector(claim));
    labels
}

fn pod_spec(class: &SandboxClassSpec) -> Result<PodSpec, Finding> {
    let (volumes, mounts) = volumes(class)?;
    Ok(PodSpec {
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".to_owned(),
                localhost_profile: None,
            }),
            ..PodSecurityContext::default()
        }),
        containers: vec![container(class, mounts)?],
        volumes: filled(volumes),
        runtime_class_name: class.runtime_class_name.clone(),
        node_selector: class.node_selector.clone().filter(|map| !map.is_empty()),
        tolerations: class.tolerations.clone().and_then(filled),
        ..PodSpec::default()
    })
}

fn container(class: &SandboxClassSpec, mounts: Vec<VolumeMount>) -> Result<Container, Finding> {
    let env = class.env.iter().flatten().map(|variable| EnvVar {
        name: variable.name.clone(),
        value: variable.value.clone(),
        value_from: None,
    });
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
        args: class.args.clone().and_then(filled),
        env: filled(env.collect()),
        ports: filled(ports.collect()),
        readiness_probe: Some(readiness_probe(class)?),
        resources: resources(class),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            capabilities: Some(Capabilities {
                add: None,
                drop: Some(vec!["ALL".to_owned()]),
            }),
            read_only_root_filesystem: Some(read_only.unwrap_or(false)),
            ..SecurityContext::default()
        }),
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

fn volumes(class: &SandboxClassSpec) -> Result<(Vec<Volume>, Vec<VolumeMount>), Finding> {
    let mut volumes = Vec::new();
    let mut mounts = Vec::new();
    let Some(files) = &class.filesystem else {
        return Ok((volumes, mounts));
    };
    if let Some(workspace) = &files.workspace {
        volumes.push(empty_dir(WORKSPACE_VOLUME, EmptyDirVolumeSource::default()));
        mounts.push(VolumeMount {
            name: WORKSPACE_VOLUME.to_owned(),
            mount_path: workspace.mount_path.clone(),
            read_only: read_only_scratch(class).then_some(true),
            ..VolumeMount::default()
        });
    }
    for scratch in scratch_volumes(files) {
        if scratch.name == WORKSPACE_VOLUME {
            return Err(invalid(&format!(
                "filesystem.scratch has a volume called {WORKSPACE_VOLUME}, a name the operator keeps for itself"
            )));
        }
        let source = EmptyDirVolumeSource {
            medium: (scratch.medium == Medium::Memory).then(|| "Memory".to_owned()),
            size_limit: Some(scratch.size_limit.clone()),
        };
        volumes.push(empty_dir(&scratch.name, source));
        mounts.push(VolumeMount {
            name: scratch.name.clone(),
            mount_path: scratch.mount_path.clone(),
            ..VolumeMount::default()
        });
    }
    Ok((volumes, mounts))
}

fn scratch_volumes(
    files: &Filesystem,
) -> impl Iterator<Item = &sandgate_shared::api::sandbox_class::ScratchVolume> {
    files.scratch.iter().flatten()
}

fn empty_dir(name: &str, source: EmptyDirVolumeSource) -> Volume {
    Volume {
        name: name.to_owned(),
        empty_dir: Some(source),
        ..Volume::default()
    }
}

/// Whether the class lets a scratch claim only read its workspace (O-019, Q35).
fn read_only_scratch(class: &SandboxClassSpec) -> bool {
    let mut entries = class.mounts.iter().flatten();
    entries.any(|entry| entry.role == "scratch" && entry.access == Access::ReadOnly)
}

fn invalid(what: &str) -> Finding {
    Finding {
        reason: reason::INVALID_CLASS,
        message: format!("the class cannot be built: {what}; correct it and make the claim again"),
    }
}

/// Empty lists are left out: sending them would make each PUT a write.
fn filled<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

fn owned(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    owned.collect()
}
