//! What all pods of a claim have in common, its sandbox's and its egress proxy's: one at a time, under the
//! restricted profile, and left alone by service meshes (O-036, E-014). Pure.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy},
        core::v1::{
            Capabilities, PodSecurityContext, PodSpec, PodTemplateSpec, SeccompProfile,
            SecurityContext,
        },
    },
    apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta},
};
use sandgate_shared::{api::SandboxClaim, names};

use super::intent::runtime_label;

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

/// A Deployment of one pod, which never runs beside the one that comes after it.
pub(super) fn of_one_pod(
    metadata: ObjectMeta,
    selector: BTreeMap<String, String>,
    pod: PodTemplateSpec,
) -> Deployment {
    Deployment {
        metadata,
        spec: Some(DeploymentSpec {
            replicas: Some(1),
            revision_history_limit: Some(1),
            strategy: Some(DeploymentStrategy {
                type_: Some("Recreate".to_owned()),
                rolling_update: None,
            }),
            selector: LabelSelector {
                match_labels: Some(selector),
                ..LabelSelector::default()
            },
            template: pod,
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

/// The labels of a pod that `selector` selects. The baseline policy shuts it until its own policy stands
/// (O-037).
pub(super) fn pod_labels(
    claim: &SandboxClaim,
    selector: BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut labels = owned(&MESH_LABELS);
    labels.insert(names::LABEL_SANDBOX_POD.to_owned(), "true".to_owned());
    if let Some(runtime) = runtime_label(claim) {
        labels.insert(names::LABEL_AGENT_RUNTIME.to_owned(), runtime);
    }
    labels.extend(selector);
    labels
}

/// The annotations of each pod.
pub(super) fn pod_annotations() -> BTreeMap<String, String> {
    owned(&MESH_ANNOTATIONS)
}

/// A pod without a token, without variables of the namespace's Services, and with this security context.
pub(super) fn shut_off(security: PodSecurityContext) -> PodSpec {
    PodSpec {
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        security_context: Some(security),
        ..PodSpec::default()
    }
}

/// What the restricted profile asks of a pod.
pub(super) fn restricted_pod() -> PodSecurityContext {
    PodSecurityContext {
        run_as_non_root: Some(true),
        seccomp_profile: Some(SeccompProfile {
            type_: "RuntimeDefault".to_owned(),
            localhost_profile: None,
        }),
        ..PodSecurityContext::default()
    }
}

/// What it asks of a container.
pub(super) fn restricted_container(read_only_root: bool) -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities {
            add: None,
            drop: Some(vec!["ALL".to_owned()]),
        }),
        read_only_root_filesystem: Some(read_only_root),
        ..SecurityContext::default()
    }
}

pub(super) fn owned(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    owned.collect()
}
