//! Claims that bind Connections: what their sandboxes get, what ends them before, and what is taken from a
//! bound one when a Connection, Secret or key goes.

mod reasons;
mod revocation;
mod unseen;

use std::time::Instant;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams};
use sandgate_e2e::pair::Pair;
use sandgate_e2e::scene::manifests::{claim_with, class_with, connection};
use sandgate_e2e::scene::{Scene, condition, phase};
use sandgate_e2e::{Cluster, Outcome, Stage, Writer};
use sandgate_shared::api::{ClaimPhase, Connection, SandboxClaim};
use sandgate_shared::names::{COMPONENT_SANDBOX, LABEL_COMPONENT};
use serde_json::{Value, json};

use crate::options;

/// Stands in every value, and may be seen in Secrets alone.
const CANARY: &str = "canary-of-a-secret";

/// A cluster where the operator may bind Connections, with a class that offers roles for them.
async fn connected(cluster: &Cluster, prefix: &str) -> Outcome<Scene> {
    let scene = Scene::on(cluster, prefix).await?;
    let class = json!({
        "env": [{ "name": "HOME", "value": "/home/agent" }],
        "connections": [{ "role": "vcs", "required": true }, { "role": "ticket" }],
    });
    scene
        .accepts(&class_with("agent", Stage::Ready, &class))
        .await?;
    Pair::ours(cluster).in_force().await?;
    Ok(scene)
}

/// As `kubectl apply` leaves it: with a copy of itself among its annotations.
fn secret(name: &str) -> Value {
    let value = format!("{CANARY}-of-{name}");
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": format!("{name}-secret"),
            "annotations": { "kubectl.kubernetes.io/last-applied-configuration": value },
        },
        "stringData": { "token": value, "git-credentials": value },
    })
}

/// Makes two Connections with their Secrets, and a claim that binds them.
async fn bind(scene: &Scene, operator: &Writer, claim: &str) -> Outcome {
    let github = json!({
        "env": [{ "name": "GH_TOKEN", "key": "token" }],
        "files": [
            { "path": ".git-credentials", "key": "git-credentials" },
            { "path": ".config/gh/hosts.yml", "template": "oauth_token: {{.token}}\n" },
        ],
    });
    let jira = json!({ "env": [{ "name": "JIRA_TOKEN", "key": "token" }] });
    for (name, placement) in [("github", github), ("jira", jira)] {
        scene.accepts(&secret(name)).await?;
        scene.accepts(&connection(name, &placement)).await?;
    }
    let bindings = json!({ "connections": [
        { "role": "vcs", "connection": "github" }, { "role": "ticket", "connection": "jira" },
    ] });
    operator
        .accepts(&claim_with(claim, "agent", &bindings))
        .await?;
    Ok(())
}

/// Names of the variables that the Deployment's pods get from Secrets.
fn placed(deployment: &Value) -> Vec<&str> {
    let env = &deployment["spec"]["template"]["spec"]["containers"][0]["env"];
    let env = env.as_array().map(Vec::as_slice).unwrap_or_default();
    let references = env.iter().filter(|it| it.get("valueFrom").is_some());
    references.map(|it| it["name"].as_str().unwrap()).collect()
}

async fn says_current(scene: &Scene, claim: &str, holds: &str) -> Outcome<SandboxClaim> {
    let sentence = format!("says ConnectionsCurrent {holds}");
    scene
        .becomes(claim, &sentence, |claim: &SandboxClaim| {
            condition(claim, "ConnectionsCurrent").is_some_and(|(status, ..)| status == holds)
        })
        .await
}

// Proves: K-005, K-006, K-008, K-029, K-030, K-031, K-032, O-031, O-032, O-033
#[tokio::test]
async fn a_sandbox_gets_what_its_connections_place_and_loses_it_when_they_go() -> Outcome {
    let cluster = Cluster::own(options()).await?;
    let scene = connected(&cluster, "connected").await?;
    bind(&scene, &scene.operator().await?, "agent").await?;
    scene.bound("agent").await?;
    let deployment = scene.get::<Deployment>("agent-sandbox").await?;
    assert_eq!(placed(&deployment), ["GH_TOKEN", "JIRA_TOKEN"]);
    let rendered = scene
        .api::<Secret>()
        .get("agent-sandbox-connections")
        .await?;
    let mut values: Vec<_> = rendered
        .data
        .unwrap()
        .into_values()
        .map(|it| it.0)
        .collect();
    values.sort();
    let value = format!("{CANARY}-of-github");
    let file = format!("oauth_token: {value}\n");
    assert_eq!(values, [value.clone().into_bytes(), file.into_bytes()]);

    // Edited by hand, it is put right; a rotated value is rendered anew, and neither restarts the pod.
    let hand = json!({ "data": { "more": "bW9yZQ==" } });
    scene
        .merge::<Secret>("agent-sandbox-connections", hand)
        .await?;
    scene
        .becomes(
            "agent-sandbox-connections",
            "has two keys",
            |secret: &Secret| secret.data.as_ref().is_some_and(|data| data.len() == 2),
        )
        .await?;
    let rotated = json!({ "stringData": { "token": format!("{CANARY}-rotated") } });
    scene.merge::<Secret>("github-secret", rotated).await?;
    scene
        .becomes(
            "agent-sandbox-connections",
            "has the new value",
            |secret: &Secret| {
                let mut values = secret.data.iter().flatten().map(|(_, value)| &value.0);
                values.any(|value| value.ends_with(b"-rotated\n"))
            },
        )
        .await?;
    let after = scene.get::<Deployment>("agent-sandbox").await?;
    assert_eq!(
        after["metadata"]["generation"],
        deployment["metadata"]["generation"]
    );

    // The Secret goes.
    let of_sandbox = format!("{LABEL_COMPONENT}={COMPONENT_SANDBOX}");
    let of_sandbox = ListParams::default().labels(&of_sandbox);
    let before = scene.api::<Pod>().list(&of_sandbox).await?.items;
    let gone = Instant::now();
    let how = DeleteParams::default();
    scene.api::<Secret>().delete("github-secret", &how).await?;
    let claim = says_current(&scene, "agent", "False").await?;
    assert_eq!(phase(&claim), Some(ClaimPhase::Bound), "the claim stays");
    let (_, reason, message) = condition(&claim, "ConnectionsCurrent").unwrap();
    assert_eq!(reason, "ConnectionSecretNotFound", "{message}");
    scene
        .becomes(
            "agent-sandbox",
            "places no more than the ticket",
            |it: &Deployment| placed(&serde_json::to_value(it).unwrap()) == ["JIRA_TOKEN"],
        )
        .await?;
    for pod in before {
        scene.vanishes::<Pod>(&pod.name_any()).await?;
    }
    println!(
        "from the deletion to the last old pod: {:?}",
        gone.elapsed()
    );
    scene
        .vanishes::<Secret>("agent-sandbox-connections")
        .await?;
    scene.bound("agent").await?;

    // And comes back.
    scene.accepts(&secret("github")).await?;
    says_current(&scene, "agent", "True").await?;
    let deployment = scene.get::<Deployment>("agent-sandbox").await?;
    assert_eq!(placed(&deployment), ["GH_TOKEN", "JIRA_TOKEN"]);

    // A Connection goes, too.
    scene.api::<Connection>().delete("jira", &how).await?;
    scene
        .becomes(
            "agent-sandbox",
            "places the token alone",
            |it: &Deployment| placed(&serde_json::to_value(it).unwrap()) == ["GH_TOKEN"],
        )
        .await?;

    Ok(())
}
