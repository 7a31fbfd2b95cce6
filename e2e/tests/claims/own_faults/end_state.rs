//! All that is left of a scenario, without what differs between any two plays of it: names that the API
//! server gives, times, and hashes of them.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Secret, Service};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::ResourceExt as _;
use kube::api::ListParams;
use sandgate_e2e::Outcome;
use sandgate_shared::api::SandboxClaim;
use serde_json::{Value, json};

use super::content::Content;
use crate::scene::{Scene, uid};

/// What there is in the scene's namespace now, and in its workspace's directory.
pub async fn end_state(scene: &Scene, content: &Content) -> Outcome<Value> {
    let every = ListParams::default();
    let claims = scene.api::<SandboxClaim>().list(&every).await?.items;
    let replica_sets = scene.api::<ReplicaSet>().list(&every).await?;
    let pods = scene.api::<Pod>().list(&every).await?;
    let policies = scene.api::<NetworkPolicy>().list(&every).await?;
    let services = scene.api::<Service>().list(&every).await?;
    let secrets = scene.api::<Secret>().list(&every).await?;
    let deployments = scene.api::<Deployment>().list(&every).await?.items;
    let volumes = scene.api::<PersistentVolumeClaim>();
    let volumes = volumes.list(&every).await?.items;
    let statuses = claims
        .iter()
        .map(|it| json!([it.name_any(), it.metadata.generation, it.status]));
    let addresses = services.iter().filter_map(|service| {
        let address = service.spec.as_ref()?.cluster_ip.as_ref()?;
        // With what follows it in a URL: one address may be the beginning of another.
        Some((format!("{address}:"), format!("{}:", service.name_any())))
    });
    let addresses: Vec<_> = addresses.collect();
    let deployments = deployments.iter().map(|it| json!([it.metadata, it.spec]));
    let volumes = volumes
        .iter()
        .map(|it| json!([it.name_any(), it.metadata.labels, it.owner_references()]));
    let mut state = json!({
        "claims": statuses.collect::<Vec<_>>(),
        "policies": policies.items,
        "services": services.items,
        "secrets": secrets.items,
        "deployments": deployments.collect::<Vec<_>>(),
        "volume claims": volumes.collect::<Vec<_>>(),
        "replica sets": replica_sets.items.len(),
        "pods": pods.items.iter().map(|it| &it.metadata.labels).collect::<Vec<_>>(),
        "directories": content.directories(scene)?,
    });
    forget(&mut state);
    let mut text = state.to_string();
    for claim in &claims {
        text = text.replace(&uid(claim), &format!("UID of {}", claim.name_any()));
    }
    for (address, service) in addresses {
        text = text.replace(&address, &service);
    }
    Ok(serde_json::from_str(
        &text.replace(scene.name(), "NAMESPACE"),
    )?)
}

fn forget(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for gone in [
                "uid",
                "resourceVersion",
                "creationTimestamp",
                "managedFields",
                "clusterIP",
                "clusterIPs",
                "lastTransitionTime",
                "lastUsedAt",
                "digest",
                "templateHash",
                "pod-template-hash",
                "omnia.altairalabs.ai/intent-hash",
                "omnia.altairalabs.ai/allowlist",
                // What it names stands in the variables, too.
                "omnia.altairalabs.ai/egress-proxy",
                // Its controller's.
                "deployment.kubernetes.io/revision",
            ] {
                fields.remove(gone);
            }
            fields.values_mut().for_each(forget);
        }
        Value::Array(items) => items.iter_mut().for_each(forget),
        _ => {}
    }
}
