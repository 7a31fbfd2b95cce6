//! The Deployment of an egress proxy: one restricted pod of the operator's own image (E-003, E-007,
//! E-014). Pure.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy},
        core::v1::{
            Capabilities, ConfigMapVolumeSource, Container, ContainerPort, HTTPGetAction,
            PodSecurityContext, PodSpec, PodTemplateSpec, Probe, ResourceRequirements,
            SeccompProfile, SecurityContext, Volume, VolumeMount,
        },
    },
    apimachinery::pkg::{
        api::resource::Quantity,
        apis::meta::v1::{LabelSelector, ObjectMeta},
        util::intstr::IntOrString,
    },
};
use kube::ResourceExt as _;
use sandgate_shared::{api::SandboxClaim, names};

use super::{ADMIN_PORT_NAME, PORT_NAME, fixtures::Fixtures};
use crate::claim::plan::{
    Settings,
    deployment::{MESH_ANNOTATIONS, MESH_LABELS, owned},
    intent::{proxy_metadata, proxy_selector, runtime_label},
};

/// Where the image has the proxy.
const PROGRAM: &str = "/sandgate-egress";
/// Where the `ConfigMap` is mounted, as a whole: a single file of it would never change.
const DIRECTORY: &str = "/etc/sandgate-egress";
const CONTAINER: &str = "egress";
const VOLUME: &str = "allowlist";
/// A pod has 30 s to end unless it says otherwise, and a sandbox's says nothing.
const GRACE_OF_SANDBOX: i64 = 30;
/// How much longer the proxy has, so that what the sandbox still sends gets out.
const OUTLASTS_BY: i64 = 10;

/// Renders the Deployment. Its pod says what allowlist it begins with.
pub(super) fn deployment(
    claim: &SandboxClaim,
    fixtures: &Fixtures,
    allowlist: &str,
    settings: &Settings,
) -> Deployment {
    let mut metadata = proxy_metadata(claim);
    if let Some(digest) = fixtures.digest() {
        metadata.annotations = Some(owned(&[(names::ANNOTATION_BINDINGS, &digest)]));
    }
    let mut annotations = owned(&MESH_ANNOTATIONS);
    annotations.insert(names::ANNOTATION_ALLOWLIST.to_owned(), allowlist.to_owned());
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
                match_labels: Some(proxy_selector(claim)),
                ..LabelSelector::default()
            },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(pod_labels(claim)),
                    annotations: Some(annotations),
                    ..ObjectMeta::default()
                }),
                spec: Some(pod_spec(claim, fixtures, settings)),
            },
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

/// The baseline policy shuts the pod until its own policy stands (O-037).
fn pod_labels(claim: &SandboxClaim) -> BTreeMap<String, String> {
    let mut labels = owned(&MESH_LABELS);
    labels.insert(names::LABEL_SANDBOX_POD.to_owned(), "true".to_owned());
    if let Some(runtime) = runtime_label(claim) {
        labels.insert(names::LABEL_AGENT_RUNTIME.to_owned(), runtime);
    }
    labels.extend(proxy_selector(claim));
    labels
}

fn pod_spec(claim: &SandboxClaim, fixtures: &Fixtures, settings: &Settings) -> PodSpec {
    PodSpec {
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        termination_grace_period_seconds: Some(GRACE_OF_SANDBOX + OUTLASTS_BY),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".to_owned(),
                localhost_profile: None,
            }),
            ..PodSecurityContext::default()
        }),
        containers: vec![container(fixtures, settings)],
        volumes: Some(vec![Volume {
            name: VOLUME.to_owned(),
            config_map: Some(ConfigMapVolumeSource {
                name: names::egress(&claim.name_any()),
                default_mode: Some(0o444),
                ..ConfigMapVolumeSource::default()
            }),
            ..Volume::default()
        }]),
        ..PodSpec::default()
    }
}

fn container(fixtures: &Fixtures, settings: &Settings) -> Container {
    let egress = &settings.egress;
    let mut args = vec![
        format!("--listen=[::]:{}", names::EGRESS_PORT),
        format!("--admin-listen=[::]:{}", names::EGRESS_ADMIN_PORT),
        format!("--allowlist={DIRECTORY}/{}", names::ALLOWLIST_FILE),
    ];
    args.extend(
        egress
            .deny
            .iter()
            .map(|network| format!("--deny-cidr={network}")),
    );
    args.extend(fixtures.args());
    let port = |name: &str, number: u16| ContainerPort {
        name: Some(name.to_owned()),
        container_port: number.into(),
        protocol: Some("TCP".to_owned()),
        ..ContainerPort::default()
    };
    Container {
        name: CONTAINER.to_owned(),
        image: Some(egress.image.clone()),
        image_pull_policy: Some(egress.image_pull_policy.as_str().to_owned()),
        command: Some(vec![PROGRAM.to_owned()]),
        args: Some(args),
        ports: Some(vec![
            port(PORT_NAME, names::EGRESS_PORT),
            port(ADMIN_PORT_NAME, names::EGRESS_ADMIN_PORT),
        ]),
        liveness_probe: Some(probe("/healthz", 10)),
        readiness_probe: Some(probe("/readyz", 1)),
        resources: Some(ResourceRequirements {
            requests: Some(quantities("10m", "32Mi")),
            limits: Some(quantities("1", "128Mi")),
            claims: None,
        }),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            capabilities: Some(Capabilities {
                add: None,
                drop: Some(vec!["ALL".to_owned()]),
            }),
            read_only_root_filesystem: Some(true),
            ..SecurityContext::default()
        }),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        volume_mounts: Some(vec![VolumeMount {
            name: VOLUME.to_owned(),
            mount_path: DIRECTORY.to_owned(),
            read_only: Some(true),
            ..VolumeMount::default()
        }]),
        ..Container::default()
    }
}

fn probe(path: &str, period: i32) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.to_owned()),
            port: IntOrString::Int(names::EGRESS_ADMIN_PORT.into()),
            ..HTTPGetAction::default()
        }),
        period_seconds: Some(period),
        ..Probe::default()
    }
}

fn quantities(cpu: &str, memory: &str) -> BTreeMap<String, Quantity> {
    let pairs = [("cpu", cpu), ("memory", memory)];
    let pairs = pairs.map(|(name, amount)| (name.to_owned(), Quantity(amount.to_owned())));
    pairs.into()
}
