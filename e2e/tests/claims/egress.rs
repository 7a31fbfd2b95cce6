//! What a sandbox may reach, as its policy says it, and how that follows Services and classes.

use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::DeleteParams;
use sandgate_e2e::{Outcome, Stage};
use sandgate_shared::api::{SandboxClaim, SandboxClass};
use serde_json::{Value, json};

use crate::manifests::{class_with, service};
use crate::scene::{Scene, condition};

/// How soon a policy follows a Service (O-039).
const SOON: Duration = Duration::from_secs(5);

/// Fields of a class that allows these Services, and DNS or not.
pub fn allowing(services: &Value, dns: bool) -> Value {
    json!({ "egress": { "allowedServices": services, "dns": dns } })
}

/// One rule, as the policy of a claim states it.
pub fn rule(namespace: &str, app: &str, ports: &[Value]) -> Value {
    let ports = ports
        .iter()
        .map(|port| json!({ "port": port, "protocol": "TCP" }));
    json!({
        "to": [{
            "namespaceSelector": {
                "matchLabels": { "kubernetes.io/metadata.name": namespace },
            },
            "podSelector": { "matchLabels": { "app": app } },
        }],
        "ports": ports.collect::<Vec<_>>(),
    })
}

/// Waits until the egress rules of the claim's policy are exactly these; nothing at all is `null`.
pub async fn opens(scene: &Scene, claim: &str, rules: &Value) -> Outcome {
    let sentence = format!("opens exactly {rules}");
    let began = Instant::now();
    let policy = format!("{claim}-sandbox");
    scene
        .becomes(&policy, &sentence, |policy: &NetworkPolicy| {
            serde_json::to_value(policy).unwrap()["spec"]["egress"] == *rules
        })
        .await?;
    assert!(began.elapsed() < SOON, "took {:?}", began.elapsed());
    Ok(())
}

async fn services_resolved(scene: &Scene, claim: &str, status: &str) -> Outcome<String> {
    let sentence = format!("has AllowedServicesResolved={status}");
    let resolved = |claim: &SandboxClaim| {
        condition(claim, "AllowedServicesResolved").is_some_and(|found| found.0 == status)
    };
    let claim = scene.becomes(claim, &sentence, resolved).await?;
    Ok(condition(&claim, "AllowedServicesResolved")
        .unwrap()
        .2
        .to_owned())
}

// Proves: O-023, O-024, O-025, O-026, O-027, O-030
#[tokio::test]
async fn an_allowed_service_is_opened_by_its_own_selector_on_its_target_ports_and_no_wider()
-> Outcome {
    let scene = Scene::shared("egress").await?;
    let elsewhere = scene.cluster().namespace("elsewhere").await?;
    let numeric = json!([
        { "name": "https", "port": 443, "targetPort": 8443 },
        { "name": "metrics", "port": 9090 },
    ]);
    let named = json!([{ "name": "web", "port": 80, "targetPort": "http-web" }]);
    scene.accepts(&service("mirror", &numeric)).await?;
    // Of the same name in another namespace: looked up where the class says, and nowhere else.
    elsewhere.accepts(&service("mirror", &named)).await?;
    let mut blind = service("blind", &numeric);
    blind["spec"].as_object_mut().unwrap().remove("selector");
    scene.accepts(&blind).await?;
    let services = json!([
        { "name": "mirror", "ports": [443] },
        { "name": "mirror", "namespace": elsewhere.name(), "ports": [80, 81] },
        { "name": "blind", "ports": [443] },
        { "name": "missing", "ports": [443] },
    ]);
    let class = class_with("reaching", Stage::Ready, &allowing(&services, true));
    scene.claims_class("reaching", &class).await?;
    // What cannot be opened holds nobody up.
    scene.bound("reaching").await?;
    let dns = json!({
        "to": [{
            "namespaceSelector": {
                "matchLabels": { "kubernetes.io/metadata.name": "kube-system" },
            },
            "podSelector": { "matchLabels": { "k8s-app": "kube-dns" } },
        }],
        "ports": [{ "port": 53, "protocol": "UDP" }, { "port": 53, "protocol": "TCP" }],
    });
    let rules = json!([
        rule(scene.name(), "mirror", &[json!(8443)]),
        rule(elsewhere.name(), "mirror", &[json!("http-web")]),
        dns,
    ]);
    opens(&scene, "reaching", &rules).await?;
    let said = services_resolved(&scene, "reaching", "False").await?;
    for words in [
        "/blind selects no pods",
        "/missing does not exist",
        "has no port 81",
    ] {
        assert!(said.contains(words), "{said}");
    }
    Ok(())
}

// Proves: O-024, O-030, O-039
#[tokio::test]
async fn a_policy_follows_a_service_that_appears_selects_anew_and_goes() -> Outcome {
    let scene = Scene::shared("follows").await?;
    let services = json!([{ "name": "mirror", "ports": [443] }]);
    let class = class_with("waiting", Stage::Ready, &allowing(&services, false));
    scene.claims_class("waiting", &class).await?;
    scene.bound("waiting").await?;
    opens(&scene, "waiting", &Value::Null).await?;
    services_resolved(&scene, "waiting", "False").await?;

    let port = json!([{ "port": 443, "targetPort": 8443 }]);
    scene.accepts(&service("mirror", &port)).await?;
    let there = json!([rule(scene.name(), "mirror", &[json!(8443)])]);
    opens(&scene, "waiting", &there).await?;
    services_resolved(&scene, "waiting", "True").await?;

    let reselected = json!({ "spec": { "selector": { "app": "cache" } } });
    scene.merge::<Service>("mirror", reselected).await?;
    let anew = json!([rule(scene.name(), "cache", &[json!(8443)])]);
    opens(&scene, "waiting", &anew).await?;

    let how = DeleteParams::default();
    scene.api::<Service>().delete("mirror", &how).await?;
    opens(&scene, "waiting", &Value::Null).await?;
    services_resolved(&scene, "waiting", "False").await?;
    Ok(())
}

// Proves: C-034, O-023
#[tokio::test]
async fn an_edited_class_opens_the_policy_at_once_and_rolls_no_running_sandbox() -> Outcome {
    let scene = Scene::shared("edited").await?;
    let pod = async || Outcome::Ok(scene.names::<Pod>().await?);
    scene.claims("running", Stage::Ready).await?;
    let bound = scene.bound("running").await?;
    opens(&scene, "running", &Value::Null).await?;
    let before = scene.get::<Deployment>("running-sandbox").await?;
    let pods = pod().await?;
    assert_eq!(pods.len(), 1);

    scene
        .accepts(&service("mirror", &json!([{ "port": 443 }])))
        .await?;
    let edit = json!({ "spec": {
        "image": "registry.example/another:2",
        "egress": { "allowedServices": [{ "name": "mirror", "ports": [443] }] },
    } });
    scene.merge::<SandboxClass>("running", edit).await?;
    let opened = json!([rule(scene.name(), "mirror", &[json!(443)])]);
    opens(&scene, "running", &opened).await?;

    // A claim made now runs the new image; the one that ran before is as it was.
    scene
        .user()
        .accepts(&crate::manifests::claim("fresh", "running"))
        .await?;
    scene.bound("fresh").await?;
    let fresh = scene.get::<Deployment>("fresh-sandbox").await?;
    let image = |it: &Value| it["spec"]["template"]["spec"]["containers"][0]["image"].clone();
    assert_eq!(image(&fresh), "registry.example/another:2");
    let after = scene.get::<Deployment>("running-sandbox").await?;
    assert_eq!(
        after["metadata"]["generation"],
        before["metadata"]["generation"]
    );
    assert_eq!(after["spec"], before["spec"]);
    assert!(pod().await?.contains(&pods[0]));
    let now: SandboxClaim = scene.api().get("running").await?;
    assert_eq!(
        now.status.clone().unwrap().addresses,
        bound.status.clone().unwrap().addresses
    );
    assert_eq!(
        now.status.unwrap().template_hash,
        bound.status.unwrap().template_hash
    );
    // The class gone, the sandbox runs on.
    let how = DeleteParams::default();
    scene.api::<SandboxClass>().delete("running", &how).await?;
    scene
        .user()
        .accepts(&crate::manifests::claim("too-late", "running"))
        .await?;
    scene.failed("too-late", "ClassNotFound").await?;
    scene.bound("running").await?;
    assert!(pod().await?.contains(&pods[0]));
    // Until something of it has to be written, which nothing says any more how to.
    scene
        .api::<Service>()
        .delete("running-sandbox", &how)
        .await?;
    scene.failed("running", "ClassNotFound").await?;
    scene.vanishes::<Deployment>("running-sandbox").await?;
    Ok(())
}
