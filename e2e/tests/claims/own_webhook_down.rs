//! Claims while the webhook is down: what runs is looked after, what is deleted goes, nothing new
//! comes in.

use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PropagationPolicy};
use kube::runtime::conditions::is_deleted;
use kube::runtime::wait::await_condition;
use sandgate_e2e::namespace::DEADLINE;
use sandgate_e2e::{Cluster, Options, Outcome, OwnCluster, Stage};
use sandgate_shared::api::SandboxClaim;
use sandgate_shared::{names, reason};
use serde_json::{Value, json};

use crate::manifests;
use crate::own_configurations::told;
use crate::scene::{Scene, condition};

/// The API server tells nobody when it has let go of a webhook; it is asked this often.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// A kind of nobody's.
fn bystander_kind() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "bystanders.example.com" },
        "spec": {
            "group": "example.com",
            "names": { "kind": "Bystander", "plural": "bystanders" },
            "scope": "Namespaced",
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object" } },
            }],
        },
    })
}

/// Makes, changes and deletes objects that are none of ours.
async fn nothing_else_is_held_up(cluster: &OwnCluster) -> Outcome {
    let namespace = cluster.namespace("bystanders").await?;
    let whole_namespace = json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": { "name": "bystanding" },
    });
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": "bystander" },
        "spec": { "containers": [{ "name": "main", "image": "example/app:1" }] },
    });
    let config = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": "bystander" },
        "data": { "a": "b" },
    });
    for mut manifest in [whole_namespace, bystander_kind(), pod, config] {
        manifest = serde_json::to_value(namespace.accepts(&manifest).await?)?;
        manifest["metadata"]["labels"]["seen"] = json!("yes");
        let objects = namespace.api_of(&manifest).await?;
        let name = manifest["metadata"]["name"].as_str().unwrap();
        let label = Patch::Merge(json!({ "metadata": { "labels": { "seen": "yes" } } }));
        objects.patch(name, &PatchParams::default(), &label).await?;
        objects.delete(name, &DeleteParams::default()).await?;
    }
    Ok(())
}

/// Deletes a namespace and waits until it is gone.
async fn goes_with_all_in_it(cluster: &OwnCluster, scene: Scene) -> Outcome {
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    let uid = namespaces.get(scene.name()).await?.metadata.uid;
    let uid = uid.unwrap_or_default();
    namespaces
        .delete(scene.name(), &DeleteParams::default())
        .await?;
    let gone = await_condition(namespaces, scene.name(), is_deleted(&uid));
    tokio::time::timeout(DEADLINE, gone).await??;
    Ok(())
}

// Proves: O-002, O-040, P-031, X-013
#[tokio::test]
async fn while_the_webhook_is_down_claims_are_looked_after_and_deleted_and_none_is_made() -> Outcome
{
    let mut cluster = Cluster::own(Options::default()).await?;
    let scene = Scene::on(&cluster, "down").await?;
    scene
        .accepts(&manifests::class("box", Stage::Ready))
        .await?;
    for name in ["runs", "goes", "goes-first", "leaves-its-own"] {
        scene.user().accepts(&manifests::claim(name, "box")).await?;
        scene.bound(name).await?;
    }
    let leaving = Scene::on(&cluster, "leaving").await?;
    leaving.claims("stays-until-then", Stage::Ready).await?;
    leaving.bound("stays-until-then").await?;
    cluster.installation.webhook.as_mut().unwrap().kill();

    let refused = scene
        .user()
        .rejects(&manifests::claim("new", "box"))
        .await?;
    assert!(
        refused.message.contains("failed calling webhook"),
        "{}",
        refused.message
    );
    // Whose status may be written is the policy's to say, and the policy asks nobody.
    let mut forged = serde_json::to_value(scene.api::<SandboxClaim>().get("runs").await?)?;
    forged["status"]["phase"] = json!("Failed");
    let refused = scene.user().rejects_status(&forged).await?;
    assert_eq!(refused.code, 403);
    assert!(
        refused.message.contains("[claim-operator-status]"),
        "{}",
        refused.message
    );
    // The controller's own status writes pass no webhook of ours.
    let open = json!({ "spec": { "egress": [{}] } });
    scene.merge::<NetworkPolicy>("runs-sandbox", open).await?;
    scene
        .becomes("runs", "says that it was healed", |claim: &SandboxClaim| {
            condition(claim, "SandboxModified").is_some_and(|it| it.1 == "Healed")
        })
        .await?;
    // Deletion needs nobody of ours; with foreground deletion the collector's last act is an UPDATE of
    // the claim itself.
    let controller = cluster.installation.controller.as_mut().unwrap();
    controller.service.kill();
    let claims = scene.api::<SandboxClaim>();
    claims.delete("goes", &DeleteParams::foreground()).await?;
    claims
        .delete("goes-first", &DeleteParams::background())
        .await?;
    let orphan = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Orphan),
        ..DeleteParams::default()
    };
    claims.delete("leaves-its-own", &orphan).await?;
    for name in ["goes", "leaves-its-own"] {
        scene.vanishes::<SandboxClaim>(name).await?;
    }
    scene.vanishes::<Deployment>("goes-first-sandbox").await?;
    let left = ["leaves-its-own-sandbox", "runs-sandbox"];
    assert_eq!(scene.names::<Deployment>().await?, left);
    nothing_else_is_held_up(&cluster).await?;
    goes_with_all_in_it(&cluster, leaving).await?;

    let controller = cluster.installation.controller.as_mut().unwrap();
    controller.service.start()?;
    let webhook = cluster.installation.webhook.as_mut().unwrap();
    webhook.start()?;
    webhook.answers("/readyz", DEADLINE).await?;
    scene
        .user()
        .accepts(&manifests::claim("new", "box"))
        .await?;
    scene.bound("new").await?;
    Ok(())
}

// Proves: P-031
#[tokio::test]
async fn without_configurations_the_rules_of_kinds_and_policy_refuse_and_nobody_makes_them_again()
-> Outcome {
    let mut cluster = Cluster::own(Options::default()).await?;
    let scene = Scene::on(&cluster, "gone").await?;
    scene
        .accepts(&manifests::class("box", Stage::Ready))
        .await?;
    cluster.installation.webhook.as_mut().unwrap().kill();
    let name = names::webhook_configuration("sandgate");
    let mutating: Api<MutatingWebhookConfiguration> = Api::all(cluster.client());
    let validating: Api<ValidatingWebhookConfiguration> = Api::all(cluster.client());
    mutating.delete(&name, &DeleteParams::default()).await?;
    validating.delete(&name, &DeleteParams::default()).await?;
    for kind in [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ] {
        let missing = reason::WEBHOOK_CONFIGURATION_MISSING;
        let event = told(&cluster, &name, missing, kind).await?;
        let note = event.note.unwrap_or_default();
        assert!(note.contains("install the chart again"), "{note}");
    }

    // As soon as the API server has let go of them, only what it knows by itself judges.
    let good = manifests::claim("good", "box");
    let mut turn = tokio::time::interval(ASK_EVERY);
    let let_go = async {
        loop {
            turn.tick().await;
            if scene.user().would_accept(&good).await.is_ok() {
                return;
            }
        }
    };
    tokio::time::timeout(DEADLINE, let_go).await?;
    scene.user().accepts(&good).await?;
    let bound = scene.bound("good").await?;
    let slashed = json!({ "handle": "python/" });
    let refused = scene
        .user()
        .rejects(&manifests::claim_with("bad", "box", &slashed))
        .await?;
    assert_eq!(refused.code, 422);
    assert!(
        refused.message.contains("[claim-handle"),
        "{}",
        refused.message
    );
    let target = json!({ "targetPath": "projects/shop" });
    let refused = scene
        .user()
        .rejects(&manifests::claim_with("bad", "box", &target))
        .await?;
    assert_eq!(refused.code, 403);
    assert!(
        refused.message.contains("[claim-operator-target-path]"),
        "{}",
        refused.message
    );
    let mut forged = serde_json::to_value(&bound)?;
    forged["status"]["phase"] = json!("Failed");
    let refused = scene.user().rejects_status(&forged).await?;
    assert!(
        refused.message.contains("[claim-operator-status]"),
        "{}",
        refused.message
    );

    // All the while a leader looked on, and left it to whoever installs them.
    assert!(mutating.get_opt(&name).await?.is_none());
    assert!(validating.get_opt(&name).await?.is_none());
    Ok(())
}
