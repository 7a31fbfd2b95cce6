//! Claims whose Connections name hosts: their sandboxes reach these through an egress proxy of their own, which
//! follows the Connections.

mod fixtures;
mod previous;
mod strangers;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::{DeleteParams, ListParams};
use sandgate_e2e::audit::{self, CONTROLLER};
use sandgate_e2e::fake_node::STAGE_LABEL;
use sandgate_e2e::pair::Pair;
use sandgate_e2e::scene::manifests::{claim_with, class_with, hosts};
use sandgate_e2e::scene::{Scene, condition, phase, ready};
use sandgate_e2e::{Cluster, Outcome, Stage, Writer};
use sandgate_shared::api::{ClaimPhase, Connection, SandboxClaim};
use serde_json::{Value, json};

use crate::options;

/// A namespace on this cluster with a class that offers roles, and the policy in force.
async fn scene(cluster: &Cluster, prefix: &str) -> Outcome<Scene> {
    let scene = Scene::on(cluster, prefix).await?;
    let roles = json!({ "connections": [{ "role": "api" }, { "role": "site" }] });
    scene
        .accepts(&class_with("agent", Stage::Ready, &roles))
        .await?;
    Pair::ours(cluster).in_force().await?;
    Ok(scene)
}

/// A claim that binds these Connections by roles of the same names.
async fn bind(operator: &Writer, claim: &str, connections: &[&str]) -> Outcome {
    let bound = connections.iter();
    let bound = bound.map(|name| json!({ "role": name, "connection": name }));
    let bindings = json!({ "connections": bound.collect::<Vec<_>>() });
    operator
        .accepts(&claim_with(claim, "agent", &bindings))
        .await?;
    Ok(())
}

/// The claim `agent` that binds one host, once it is bound.
async fn bound(scene: &Scene, operator: &Writer) -> Outcome<SandboxClaim> {
    scene.accepts(&hosts("api", &["api.github.com"])).await?;
    bind(operator, "agent", &["api"]).await?;
    scene.bound("agent").await
}

/// The literal variables of the Deployment's pods.
fn variable<'a>(deployment: &'a Value, name: &str) -> Option<&'a str> {
    let env = &deployment["spec"]["template"]["spec"]["containers"][0]["env"];
    let mut env = env.as_array()?.iter();
    env.find(|it| it["name"] == name)?["value"].as_str()
}

async fn cluster_ip(scene: &Scene) -> Outcome<String> {
    let service = scene.get::<Service>("agent-egress").await?;
    Ok(service["spec"]["clusterIP"].as_str().unwrap().to_owned())
}

/// Waits until the claim's allowlist has exactly these hosts.
async fn lets_through(scene: &Scene, hosts: &[&str]) -> Outcome<ConfigMap> {
    let content = json!({ "hosts": hosts }).to_string();
    let sentence = format!("is {content}");
    scene
        .becomes("agent-egress", &sentence, |map: &ConfigMap| {
            let data = map.data.as_ref();
            data.and_then(|data| data.get("allowlist.json")) == Some(&content)
        })
        .await
}

/// The name of the proxy's one pod.
async fn proxy_pod(scene: &Scene) -> Outcome<String> {
    let of_proxy = ListParams::default().labels("omnia.altairalabs.ai/component=egress");
    let pods = scene.api::<Pod>().list(&of_proxy).await?.items;
    assert_eq!(pods.len(), 1);
    Ok(pods[0].metadata.name.clone().unwrap())
}

/// Waits until nothing of the proxy stands but its pod.
async fn its_objects_go(scene: &Scene) -> Outcome {
    scene.vanishes::<Deployment>("agent-egress").await?;
    scene.vanishes::<ConfigMap>("agent-egress").await?;
    scene.vanishes::<Service>("agent-egress").await?;
    scene.vanishes::<NetworkPolicy>("agent-egress").await
}

/// What the controller made in the namespace, and in which order; and how often it wrote there, Events and
/// the baseline apart.
async fn made(scene: &Scene) -> Outcome<(Vec<String>, usize)> {
    let asked = audit::up_to_now(scene, CONTROLLER).await?;
    let here = asked.iter().filter(|it| {
        // The claim itself is the test's, made in the operator's name.
        let apart = ["events", "sandboxclaims"].contains(&it.resource().as_str());
        let counts = !apart && it.name() != "sandgate-baseline";
        it.wrote() && it.namespace() == scene.name() && counts
    });
    let here: Vec<_> = here.collect();
    let made = here.iter().filter(|it| it.verb() == "create");
    let made = made.map(|it| format!("{} {}", it.resource(), it.name()));
    Ok((made.collect(), here.len()))
}

// Proves: E-001, E-002, E-003, E-004, E-005, E-006, E-007, E-011, E-012, E-014, O-028
#[tokio::test]
async fn a_claim_comes_to_bound_through_its_proxy_which_follows_its_connections() -> Outcome {
    let cluster = Cluster::own(options()).await?;
    let scene = scene(&cluster, "egress").await?;
    scene.accepts(&hosts("api", &["api.github.com"])).await?;
    scene.accepts(&hosts("site", &["*.example.com"])).await?;
    bind(&scene.operator().await?, "agent", &["api", "site"]).await?;
    scene.bound("agent").await?;
    let (made, writes) = made(&scene).await?;
    assert_eq!(
        made,
        [
            "networkpolicies agent-egress",
            "configmaps agent-egress",
            "services agent-egress",
            "deployments agent-egress",
            "networkpolicies agent-sandbox",
            "services agent-sandbox",
            "deployments agent-sandbox",
        ]
    );
    assert!(writes <= 9, "{writes} writes");
    lets_through(&scene, &["*.example.com", "api.github.com"]).await?;
    let address = cluster_ip(&scene).await?;
    let sandbox = scene.get::<Deployment>("agent-sandbox").await?;
    let url = format!("http://{address}:3128");
    for name in ["HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"] {
        assert_eq!(variable(&sandbox, name), Some(url.as_str()), "{name}");
    }
    let direct = variable(&sandbox, "NO_PROXY").unwrap();
    assert!(
        direct.contains("localhost") && direct.contains(".cluster.local"),
        "{direct}"
    );
    assert_eq!(variable(&sandbox, "no_proxy"), Some(direct));
    let proxy = scene.get::<Deployment>("agent-egress").await?;
    let pod = &proxy["spec"]["template"]["spec"];
    assert_eq!(pod["automountServiceAccountToken"], false);

    // An edit starts nothing anew, and the proxy's kubelet is told of it.
    let name = proxy_pod(&scene).await?;
    let before = scene.get::<Pod>(&name).await?;
    let edit = json!({ "spec": { "hosts": ["api.github.com", "github.com"] } });
    scene.merge::<Connection>("api", edit).await?;
    let map = lets_through(&scene, &["*.example.com", "api.github.com", "github.com"]).await?;
    let annotation = |of: &Value, key: &str| -> String {
        let all = &of["metadata"]["annotations"];
        all[format!("omnia.altairalabs.ai/{key}")]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let hash = annotation(&serde_json::to_value(&map)?, "intent-hash");
    assert_ne!(annotation(&before, "allowlist"), hash);
    scene
        .becomes(&name, "was told of its hosts twice", |pod: &Pod| {
            annotation(&serde_json::to_value(pod).unwrap(), "allowlist") == hash
        })
        .await?;
    for (name, before) in [("agent-sandbox", &sandbox), ("agent-egress", &proxy)] {
        let after = scene.get::<Deployment>(name).await?;
        assert_eq!(
            after["metadata"]["generation"], before["metadata"]["generation"],
            "{name}"
        );
    }
    assert_eq!(proxy_pod(&scene).await?, name);

    // A Connection goes, and with it its hosts; then the last.
    let how = DeleteParams::default();
    scene.api::<Connection>().delete("api", &how).await?;
    lets_through(&scene, &["*.example.com"]).await?;
    scene.api::<Connection>().delete("site", &how).await?;
    its_objects_go(&scene).await?;
    scene.vanishes::<Pod>(&name).await?;
    let claim = scene
        .becomes(
            "agent",
            "is Bound without a proxy",
            |claim: &SandboxClaim| {
                let applied = claim
                    .status
                    .as_ref()
                    .and_then(|status| status.applied.as_ref());
                let of_proxy = |kind: &str| kind.ends_with("/egress");
                phase(claim) == Some(ClaimPhase::Bound)
                    && applied.is_some_and(|all| all.iter().all(|it| !of_proxy(&it.kind)))
            },
        )
        .await?;
    assert_eq!(
        condition(&claim, "SandboxModified"),
        None,
        "no stranger did that"
    );
    scene
        .becomes("agent-sandbox", "is told of no proxy", |it: &Deployment| {
            variable(&serde_json::to_value(it).unwrap(), "HTTPS_PROXY").is_none()
        })
        .await?;
    Ok(())
}

// Proves: C-029
#[tokio::test]
async fn a_proxy_that_fails_later_is_told_beside_a_sandbox_that_stays_ready() -> Outcome {
    let cluster = Cluster::own(options()).await?;
    let scene = scene(&cluster, "failing").await?;
    bound(&scene, &scene.operator().await?).await?;
    let pod = proxy_pod(&scene).await?;
    for (stage, holds, reason) in [
        (Stage::LostReadiness, "False", "EgressProxyNotReady"),
        (Stage::Ready, "True", "EgressProxyReady"),
    ] {
        let label = json!({ "metadata": { "labels": { STAGE_LABEL: stage.label() } } });
        scene.merge::<Pod>(&pod, label).await?;
        let sentence = format!("says that its proxy is {reason}");
        let claim = scene
            .becomes("agent", &sentence, |claim: &SandboxClaim| {
                let told = condition(claim, "EgressProxyReady");
                told.is_some_and(|it| (it.0, it.1) == (holds, reason))
            })
            .await?;
        assert_eq!(phase(&claim), Some(ClaimPhase::Bound), "{reason}");
        assert_eq!(ready(&claim).0, "SandboxReady", "{reason}");
    }
    Ok(())
}

// Proves: C-034, E-002, E-004, O-002
#[tokio::test]
async fn a_service_made_anew_is_told_to_the_sandbox_and_a_foreign_one_fails_the_claim() -> Outcome {
    let cluster = Cluster::own(options()).await?;
    let scene = scene(&cluster, "moved").await?;
    let operator = scene.operator().await?;
    bound(&scene, &operator).await?;
    let before = cluster_ip(&scene).await?;
    let how = DeleteParams::default();
    scene.api::<Service>().delete("agent-egress", &how).await?;
    let old = format!("http://{before}:3128");
    let moved = scene
        .becomes(
            "agent-sandbox",
            "is told of another address",
            |it: &Deployment| {
                let it = serde_json::to_value(it).unwrap();
                variable(&it, "HTTPS_PROXY").is_some_and(|url| url != old)
            },
        )
        .await?;
    let now = cluster_ip(&scene).await?;
    let moved = serde_json::to_value(&moved)?;
    assert_eq!(
        variable(&moved, "HTTPS_PROXY"),
        Some(format!("http://{now}:3128").as_str())
    );
    scene.told("agent", "EgressProxyMoved").await?;

    // Everything of the proxy is the claim's, and goes with it.
    let how = DeleteParams::background();
    scene.api::<SandboxClaim>().delete("agent", &how).await?;
    its_objects_go(&scene).await?;

    let foreign = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": "other-egress" },
        "data": { "theirs": "data" },
    });
    scene.accepts(&foreign).await?;
    bind(&operator, "other", &["api"]).await?;
    let claim = scene.failed("other", "NameConflict").await?;
    let (_, _, message) = condition(&claim, "Ready").unwrap();
    assert!(message.contains("ConfigMap other-egress"), "{message}");
    let theirs = scene.get::<ConfigMap>("other-egress").await?;
    assert_eq!(theirs["data"], json!({ "theirs": "data" }));
    Ok(())
}
