//! A stranger's edit of the controller's objects is undone and told.

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use rstest::rstest;
use sandgate_e2e::{Outcome, Stage};
use sandgate_shared::api::SandboxClaim;
use serde_json::{Value, json};

use crate::audit;
use crate::scene::{Scene, condition};

/// Kind and apiVersion of one of the three objects.
fn object(kind: &str) -> Value {
    let version = match kind {
        "Deployment" => "apps/v1",
        "Service" => "v1",
        _ => "networking.k8s.io/v1",
    };
    json!({ "apiVersion": version, "kind": kind })
}

/// What a controller of the API server keeps in an object, and what tells one write from another.
fn content(object: &DynamicObject) -> Value {
    let labels = object.labels();
    json!({ "spec": object.data["spec"], "owners": object.owner_references(), "labels": labels })
}

async fn modified(scene: &Scene, claim: &str, words: &str) -> Outcome<SandboxClaim> {
    let sentence = format!("says SandboxModified with {words}");
    scene
        .becomes(claim, &sentence, |claim: &SandboxClaim| {
            condition(claim, "SandboxModified")
                .is_some_and(|(status, _, said)| status == "True" && said.contains(words))
        })
        .await
}

// Proves: O-040
#[rstest]
#[case::open_egress(
    "NetworkPolicy",
    json!({ "spec": { "egress": [{}] } }),
    "NetworkPolicy .spec.egress"
)]
#[case::open_ingress(
    "NetworkPolicy",
    json!({ "spec": { "ingress": [{}] } }),
    "NetworkPolicy .spec.ingress[0]"
)]
#[case::wider_selector(
    "NetworkPolicy",
    json!({ "spec": { "podSelector": { "matchLabels": { "omnia.altairalabs.ai/sandbox-claim": "another" } } } }),
    "NetworkPolicy .spec.podSelector.matchLabels.omnia.altairalabs.ai/sandbox-claim"
)]
#[case::a_second_container(
    "Deployment",
    json!({ "spec": { "template": { "spec": { "containers": [{ "name": "evil", "image": "evil:1" }] } } } }),
    "Deployment .spec.template.spec.containers[evil]"
)]
#[case::the_nodes_network(
    "Deployment",
    json!({ "spec": { "template": { "spec": { "hostNetwork": true } } } }),
    ".spec.template.spec.hostNetwork"
)]
#[case::a_variable(
    "Deployment",
    json!({ "spec": { "template": { "spec": { "containers": [
        { "name": "sandbox", "env": [{ "name": "LD_PRELOAD", "value": "evil.so" }] },
    ] } } } }),
    "Deployment .spec.template.spec.containers[sandbox].env"
)]
#[case::another_port(
    "Service",
    json!({ "spec": { "ports": [{ "name": "evil", "port": 22, "targetPort": 22 }] } }),
    "Service .spec.ports[evil]"
)]
#[case::a_label(
    "Service",
    json!({ "metadata": { "labels": { "omnia.altairalabs.ai/sandbox-session": "another" } } }),
    "Service .metadata.labels.omnia.altairalabs.ai/sandbox-session"
)]
#[case::a_label_the_watch_needs(
    "Deployment",
    json!({ "metadata": { "labels": { "omnia.altairalabs.ai/sandbox-claim-uid": null } } }),
    "Deployment .metadata.labels.omnia.altairalabs.ai/sandbox-claim-uid"
)]
#[tokio::test]
async fn an_edit_of_an_object_is_undone_once_and_told_with_its_path(
    #[case] kind: &str,
    #[case] edit: Value,
    #[case] path: &str,
) -> Outcome {
    let scene = Scene::shared("heals").await?;
    scene.claims("healed", Stage::Ready).await?;
    scene.bound("healed").await?;
    let api = scene.api_of(&object(kind)).await?;
    let before = api.get("healed-sandbox").await?;
    // Lists of named things are merged by name, as `kubectl patch` does it.
    let how = PatchParams::default();
    let edited = api
        .patch("healed-sandbox", &how, &Patch::Strategic(edit))
        .await?;
    assert_ne!(content(&edited), content(&before));
    modified(&scene, "healed", path).await?;
    let after = api.get("healed-sandbox").await?;
    assert_eq!(content(&after), content(&before));
    assert_eq!(after.uid(), before.uid());
    scene.bound("healed").await?;
    let said = scene.events_about("healed").await;
    assert!(said.iter().any(|it| it.starts_with("Healed: ")), "{said:?}");
    let asked = audit::of_controller(&scene).await?.into_iter();
    let updates = asked.filter(|it| it.verb() == "update" && it.wrote());
    let updates: Vec<String> = updates.map(|it| it.sentence()).collect();
    assert_eq!(updates.len(), 1, "{updates:?}");
    Ok(())
}

// Proves: O-040
#[tokio::test]
async fn a_foreign_owner_is_taken_off_an_object_and_told() -> Outcome {
    let scene = Scene::shared("owners").await?;
    scene.claims("healed", Stage::Ready).await?;
    scene.bound("healed").await?;
    let stranger: ConfigMap =
        serde_json::from_value(json!({ "metadata": { "name": "stranger" } }))?;
    let stranger = scene
        .api()
        .create(&PostParams::default(), &stranger)
        .await?;
    let foreign = json!([{
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "stranger",
        "uid": stranger.uid(),
    }]);
    for kind in ["Deployment", "Service", "NetworkPolicy"] {
        let api = scene.api_of(&object(kind)).await?;
        let before = api.get("healed-sandbox").await?;
        let added = json!({ "metadata": { "ownerReferences": foreign } });
        let how = PatchParams::default();
        let edited = api
            .patch("healed-sandbox", &how, &Patch::Strategic(added))
            .await?;
        assert_eq!(edited.owner_references().len(), 2);
        let uid = stranger.uid().unwrap();
        let path = format!("{kind} .metadata.ownerReferences[{uid}]");
        modified(&scene, "healed", &path).await?;
        let after = api.get("healed-sandbox").await?;
        assert_eq!(after.owner_references(), before.owner_references());
    }
    Ok(())
}

// Proves: O-040
#[tokio::test]
async fn an_owner_reference_that_was_stripped_off_is_put_back() -> Outcome {
    let scene = Scene::shared("orphans").await?;
    scene.claims("healed", Stage::Ready).await?;
    scene.bound("healed").await?;
    for kind in ["Deployment", "Service", "NetworkPolicy"] {
        let api = scene.api_of(&object(kind)).await?;
        let before = api.get("healed-sandbox").await?;
        let patch = json!({ "metadata": { "ownerReferences": null } });
        let how = PatchParams::default();
        let edited = api
            .patch("healed-sandbox", &how, &Patch::Merge(patch))
            .await?;
        assert_eq!(edited.owner_references().len(), 0);
        modified(
            &scene,
            "healed",
            &format!("{kind} .metadata.ownerReferences"),
        )
        .await?;
        let after = api.get("healed-sandbox").await?;
        assert_eq!(after.owner_references(), before.owner_references());
        assert_eq!(after.uid(), before.uid());
    }
    Ok(())
}

// Proves: O-040
#[tokio::test]
async fn an_object_that_was_deleted_is_made_again_and_told() -> Outcome {
    let scene = Scene::shared("deleted").await?;
    scene.claims("healed", Stage::Ready).await?;
    scene.bound("healed").await?;
    for kind in ["NetworkPolicy", "Service", "Deployment"] {
        let api = scene.api_of(&object(kind)).await?;
        let before = api.get("healed-sandbox").await?;
        api.delete("healed-sandbox", &DeleteParams::background())
            .await?;
        modified(&scene, "healed", &format!("{kind} was deleted")).await?;
        let after = api.get("healed-sandbox").await?;
        assert_ne!(after.uid(), before.uid());
        assert_eq!(after.owner_references(), before.owner_references());
    }
    scene.bound("healed").await?;
    Ok(())
}

// Proves: O-040
#[tokio::test]
async fn an_edit_that_comes_back_a_third_time_is_left_for_a_while_and_told() -> Outcome {
    let scene = Scene::shared("again").await?;
    scene.claims("healed", Stage::Ready).await?;
    scene.bound("healed").await?;
    let open = json!({ "spec": { "egress": [{}] } });
    for _ in 0..2 {
        scene
            .merge::<NetworkPolicy>("healed-sandbox", open.clone())
            .await?;
        scene
            .becomes(
                "healed-sandbox",
                "is shut again",
                |policy: &NetworkPolicy| policy.spec.as_ref().unwrap().egress.is_none(),
            )
            .await?;
    }
    scene.merge::<NetworkPolicy>("healed-sandbox", open).await?;
    let told = scene
        .becomes("healed", "says HealBackedOff", |claim: &SandboxClaim| {
            condition(claim, "SandboxModified").is_some_and(|found| found.1 == "HealBackedOff")
        })
        .await?;
    let said = condition(&told, "SandboxModified").unwrap().2;
    assert!(said.contains("NetworkPolicy .spec.egress until"), "{said}");
    let policy = scene.get::<NetworkPolicy>("healed-sandbox").await?;
    assert_eq!(policy["spec"]["egress"], json!([{}]));
    // What rests is that path alone: another edit of the same object is undone, and takes it along.
    let selector = json!({ "spec": { "policyTypes": ["Ingress"] } });
    scene
        .merge::<NetworkPolicy>("healed-sandbox", selector)
        .await?;
    scene
        .becomes(
            "healed-sandbox",
            "is whole again",
            |policy: &NetworkPolicy| {
                policy
                    .spec
                    .as_ref()
                    .unwrap()
                    .policy_types
                    .as_ref()
                    .unwrap()
                    .len()
                    == 2
            },
        )
        .await?;
    Ok(())
}
