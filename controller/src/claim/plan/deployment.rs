//! The Deployment of a claim: one restricted pod of the class's image (O-004 to O-017, O-020,
//! O-035, O-036). Pure.

mod connections;
mod container;
mod volumes;

use std::collections::BTreeMap;

use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy},
        core::v1::{PodSecurityContext, PodSpec, PodTemplateSpec, SeccompProfile},
    },
    apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta},
};
use kube::ResourceExt as _;
use sandgate_shared::{
    api::{SandboxClaim, SandboxClassSpec},
    checks::Placement,
    names, reason,
};

use self::{connections::files, container::container, volumes::volumes};
use super::{
    Finding, Settings,
    egress::Told,
    intent::{owned_metadata, runtime_label, selector},
    workspace_volume::WorkspaceVolume,
};

/// Name of the sandbox's container.
pub(super) const CONTAINER: &str = "sandbox";

/// Keeps service meshes from adding a container of theirs, which would be a second program in the
/// pod and a hole in its policy (O-036). Istio and Kuma read labels, the others annotations.
pub(super) const MESH_LABELS: [(&str, &str); 3] = [
    ("istio.io/dataplane-mode", "none"),
    ("kuma.io/sidecar-injection", "disabled"),
    ("sidecar.istio.io/inject", "false"),
];
pub(super) const MESH_ANNOTATIONS: [(&str, &str); 3] = [
    ("consul.hashicorp.com/connect-inject", "false"),
    ("linkerd.io/inject", "disabled"),
    ("sidecar.istio.io/inject", "false"),
];

/// What goes into a sandbox beside what its class says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parts<'a> {
    /// What its Connections place.
    pub(super) placement: Option<&'a Placement>,
    /// Its workspace.
    pub(super) workspace: Option<&'a WorkspaceVolume>,
    /// What it is told of its egress proxy.
    pub(super) proxy: Option<&'a Told>,
}

/// Renders the Deployment, or says why the class cannot be (`InvalidClass`).
pub(super) fn deployment(
    claim: &SandboxClaim,
    class: &SandboxClassSpec,
    parts: Parts<'_>,
    settings: &Settings,
) -> Result<Deployment, Finding> {
    let mut metadata = owned_metadata(claim);
    let digest = parts
        .placement
        .map(|it| (names::ANNOTATION_BINDINGS, it.digest.as_str()));
    let proxy = parts
        .proxy
        .map(|it| (names::ANNOTATION_PROXY, it.annotation.as_str()));
    let annotations: Vec<_> = digest.into_iter().chain(proxy).collect();
    metadata.annotations = Some(owned(&annotations)).filter(|all| !all.is_empty());
    let pod = PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(pod_labels(claim)),
            annotations: Some(owned(&MESH_ANNOTATIONS)),
            ..ObjectMeta::default()
        }),
        spec: Some(pod_spec(claim, class, parts, settings)?),
    };
    Ok(Deployment {
        metadata,
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

fn pod_spec(
    claim: &SandboxClaim,
    class: &SandboxClassSpec,
    parts: Parts<'_>,
    settings: &Settings,
) -> Result<PodSpec, Finding> {
    let Parts {
        placement,
        workspace,
        ..
    } = parts;
    let (mut volumes, mut mounts) = volumes(claim, class, workspace)?;
    let files = placement.and_then(|placement| files(&claim.name_any(), class, placement));
    // A Secret's files are root's: the group lets the sandbox's user read them (O-032).
    let fs_group = files.as_ref().and(settings.sandbox_fs_group);
    if let Some((volume, mounted)) = files {
        volumes.push(volume);
        mounts.extend(mounted);
    }
    Ok(PodSpec {
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            fs_group,
            supplemental_groups: workspace.and_then(WorkspaceVolume::groups),
            fs_group_change_policy: fs_group.map(|_| "OnRootMismatch".to_owned()),
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".to_owned(),
                localhost_profile: None,
            }),
            ..PodSecurityContext::default()
        }),
        containers: vec![container(class, parts, mounts)?],
        volumes: filled(volumes),
        runtime_class_name: class.runtime_class_name.clone(),
        node_selector: class.node_selector.clone().filter(|map| !map.is_empty()),
        tolerations: class.tolerations.clone().and_then(filled),
        ..PodSpec::default()
    })
}

pub(super) fn invalid(what: &str) -> Finding {
    Finding {
        reason: reason::INVALID_CLASS,
        message: format!("the class cannot be built: {what}; correct it and make the claim again"),
    }
}

/// Empty lists are left out: sending them would make each PUT a write.
fn filled<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

pub(super) fn owned(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    owned.collect()
}
