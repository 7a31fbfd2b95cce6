//! The Deployment of a claim: one restricted pod of the class's image (O-004 to O-017, O-020,
//! O-035, O-036). Pure.

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
use sandgate_shared::{
    api::{SandboxClaim, SandboxClassSpec},
    names, reason,
};

use self::{container::container, volumes::volumes};
use super::{
    Finding,
    intent::{owned_metadata, runtime_label, selector},
};

/// Name of the sandbox's container.
pub(super) const CONTAINER: &str = "sandbox";

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
