//! The Deployment of an egress proxy: one restricted pod of the operator's own image (E-003, E-007,
//! E-014). Pure.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        core::v1::{
            ConfigMapVolumeSource, Container, ContainerPort, HTTPGetAction, PodSpec,
            PodTemplateSpec, Probe, ResourceRequirements, Volume, VolumeMount,
        },
    },
    apimachinery::pkg::{
        api::resource::Quantity, apis::meta::v1::ObjectMeta, util::intstr::IntOrString,
    },
};
use kube::ResourceExt as _;
use sandgate_shared::{api::SandboxClaim, names};

use super::{ADMIN_PORT_NAME, PORT_NAME, fixtures::Fixtures};
use crate::claim::plan::{
    Settings,
    intent::{proxy_metadata, proxy_selector},
    workload::{
        of_one_pod, owned, pod_annotations, pod_labels, restricted_container, restricted_pod,
        shut_off,
    },
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
/// What of its time it keeps for itself: it has two seconds for those that read why they were refused.
const LEAVES_BEFORE: i64 = 3;

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
    let mut annotations = pod_annotations();
    annotations.insert(names::ANNOTATION_ALLOWLIST.to_owned(), allowlist.to_owned());
    let selector = proxy_selector(claim);
    let pod = PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(pod_labels(claim, selector.clone())),
            annotations: Some(annotations),
            ..ObjectMeta::default()
        }),
        spec: Some(pod_spec(claim, fixtures, settings)),
    };
    of_one_pod(metadata, selector, pod)
}

fn pod_spec(claim: &SandboxClaim, fixtures: &Fixtures, settings: &Settings) -> PodSpec {
    PodSpec {
        termination_grace_period_seconds: Some(GRACE_OF_SANDBOX + OUTLASTS_BY),
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
        ..shut_off(restricted_pod())
    }
}

fn container(fixtures: &Fixtures, settings: &Settings) -> Container {
    let egress = &settings.egress;
    let mut args = vec![
        format!("--listen=[::]:{}", names::EGRESS_PORT),
        format!("--admin-listen=[::]:{}", names::EGRESS_ADMIN_PORT),
        format!("--allowlist={DIRECTORY}/{}", names::ALLOWLIST_FILE),
        format!(
            "--drain={}s",
            GRACE_OF_SANDBOX + OUTLASTS_BY - LEAVES_BEFORE
        ),
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
        security_context: Some(restricted_container(true)),
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
