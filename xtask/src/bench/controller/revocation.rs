//! How long a sandbox keeps a credential after its Secret was deleted. Does I/O.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::Context;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::ResourceExt;
use kube::api::DeleteParams;
use sandgate_e2e::OwnCluster;
use sandgate_e2e::pair::Pair;
use sandgate_e2e::scene::Scene;
use sandgate_shared::api::SandboxClaim;
use sandgate_shared::names;
use serde_json::{Value, json};

use super::super::figure::Figure;
use super::super::latency::Latencies;
use super::super::manifests::{object, spec};
use super::super::sightings::{self, Sightings, is_bound};
use super::super::{number, said};
use super::PATIENCE;

/// Sandboxes that lose their credential, one after the other at [`PACE`].
const SANDBOXES: u32 = 30;

/// Two a second: each costs a Deployment, two pods and a Secret.
const PACE: Duration = Duration::from_millis(500);

const CLASS: &str = "connected";
const ROLE: &str = "credential";

/// Measures it on `cluster`, where nothing else goes on.
pub async fn measure(cluster: &OwnCluster) -> anyhow::Result<[Figure; 3]> {
    let scene = Scene::on(cluster, "revoked").await.map_err(said)?;
    let mut class = spec("registry.example/python-tools:3.13");
    json_patch::merge(
        &mut class,
        &json!({
            "env": [{ "name": "HOME", "value": "/home/agent" }],
            "connections": [{ "role": ROLE }],
        }),
    );
    scene
        .accepts(&object("SandboxClass", CLASS, &class))
        .await
        .map_err(said)?;
    Pair::ours(cluster).in_force().await.map_err(said)?;
    let names: Vec<_> = (0..SANDBOXES).map(|nth| format!("revoked-{nth}")).collect();
    make(&scene, &names).await?;

    let mut ended = Sightings::of_ends(scene.api::<Pod>(), |pod: &Pod| {
        pod.labels().get(names::LABEL_CLAIM).cloned()
    })
    .await?;
    let secrets = scene.api::<Secret>();
    let how = DeleteParams::default();
    let mut pace = tokio::time::interval(PACE);
    let mut deleted = HashMap::new();
    for name in &names {
        pace.tick().await;
        deleted.insert(name.clone(), Instant::now());
        secrets.delete(name, &how).await?;
    }
    ended.reach(names.len(), PATIENCE).await?;
    figures(&sightings::between(&deleted, &ended.moments()))
}

fn figures(took: &Latencies) -> anyhow::Result<[Figure; 3]> {
    let millis = |percent| {
        let none = "no pod was seen to lose its credential";
        took.millis(percent).context(none)
    };
    Ok([
        Figure::shown("secret_deleted_to_old_pod_gone_p50", millis(50)?, "ms"),
        Figure::shown("secret_deleted_to_old_pod_gone_p99", millis(99)?, "ms"),
        Figure::shown("revocations_measured", number(took.len()), "sandboxes"),
    ])
}

/// A Secret, a Connection and a claim of each name, and the sandboxes are `Bound`.
async fn make(scene: &Scene, names: &[String]) -> anyhow::Result<()> {
    let mut bound = Sightings::follow(scene.api::<SandboxClaim>(), |claim| {
        is_bound(claim).then(|| claim.name_any())
    })
    .await?;
    let operator = scene.operator().await.map_err(said)?;
    for name in names {
        for manifest in [secret(name), connection(name)] {
            scene.accepts(&manifest).await.map_err(said)?;
        }
        operator.accepts(&claim(name)).await.map_err(said)?;
    }
    bound.reach(names.len(), PATIENCE).await
}

fn secret(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": name },
        "stringData": { "token": "measured" },
    })
}

fn connection(name: &str) -> Value {
    let spec = json!({
        "hosts": ["github.com"],
        "credential": { "kind": "secret", "secretRef": { "name": name } },
        "placement": {
            "env": [{ "name": "TOKEN", "key": "token" }],
            "files": [{ "path": "token", "key": "token" }],
        },
    });
    object("Connection", name, &spec)
}

fn claim(name: &str) -> Value {
    let spec = json!({
        "agentRuntimeRef": { "name": "agent" },
        "classRef": { "kind": "SandboxClass", "name": CLASS },
        "sessionID": format!("session-{name}"),
        "connections": [{ "role": ROLE, "connection": name }],
    });
    object("SandboxClaim", name, &spec)
}
