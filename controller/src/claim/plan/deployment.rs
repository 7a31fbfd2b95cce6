//! The Deployment of a claim: one restricted pod of the class's image (O-004 to O-017, O-020,
//! O-035, O-036). Pure.

mod connections;
mod container;
mod volumes;

use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        core::v1::{PodSecurityContext, PodSpec, PodTemplateSpec},
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
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
    intent::{owned_metadata, selector},
    workload::{of_one_pod, owned, pod_annotations, pod_labels, restricted_pod, shut_off},
    workspace_volume::WorkspaceVolume,
};

/// Name of the sandbox's container.
pub(super) const CONTAINER: &str = "sandbox";

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
    let mut labels = pod_labels(claim, selector(claim));
    labels.insert(
        names::LABEL_COMPONENT.to_owned(),
        names::COMPONENT_SANDBOX.to_owned(),
    );
    let pod = PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(labels),
            annotations: Some(pod_annotations()),
            ..ObjectMeta::default()
        }),
        spec: Some(pod_spec(claim, class, parts, settings)?),
    };
    Ok(of_one_pod(metadata, selector(claim), pod))
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
    let security = PodSecurityContext {
        fs_group,
        supplemental_groups: workspace.and_then(WorkspaceVolume::groups),
        fs_group_change_policy: fs_group.map(|_| "OnRootMismatch".to_owned()),
        ..restricted_pod()
    };
    Ok(PodSpec {
        containers: vec![container(class, parts, mounts)?],
        volumes: filled(volumes),
        runtime_class_name: class.runtime_class_name.clone(),
        node_selector: class.node_selector.clone().filter(|map| !map.is_empty()),
        tolerations: class.tolerations.clone().and_then(filled),
        ..shut_off(security)
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
