//! A name that is taken: nothing of somebody else's is ever adopted.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use rstest::rstest;
use sandgate_e2e::{Outcome, Stage};
use serde_json::{Value, json};

use crate::manifests;
use crate::scene::{Scene, ready};

fn foreign_service() -> Value {
    manifests::service("taken-sandbox", &json!([{ "port": 80 }]))
}

fn foreign_policy() -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": { "name": "taken-sandbox" },
        "spec": { "podSelector": {}, "egress": [{}], "policyTypes": ["Egress"] },
    })
}

/// What of an object a stranger of ours could have changed; its status is its controller's.
fn content(mut object: Value) -> Value {
    object.as_object_mut().unwrap().remove("status");
    let metadata = object["metadata"].as_object_mut().unwrap();
    for field in ["managedFields", "resourceVersion", "annotations"] {
        metadata.remove(field);
    }
    object
}

/// Waits until of the sandbox's objects none stands but the one of this kind.
pub async fn others_vanish(scene: &Scene, name: &str, kind: &str) -> Outcome {
    for other in ["Deployment", "Service", "NetworkPolicy"] {
        match other {
            _ if other == kind => {}
            "Deployment" => scene.vanishes::<Deployment>(name).await?,
            "Service" => scene.vanishes::<Service>(name).await?,
            _ => scene.vanishes::<NetworkPolicy>(name).await?,
        }
    }
    Ok(())
}

// Proves: C-029, C-035
#[rstest]
#[case::deployment(manifests::deployment("taken-sandbox"))]
#[case::service(foreign_service())]
#[case::policy(foreign_policy())]
#[tokio::test]
async fn an_object_of_the_same_name_fails_the_claim_and_is_never_adopted(
    #[case] foreign: Value,
) -> Outcome {
    let scene = Scene::shared("taken").await?;
    let kind = foreign["kind"].as_str().unwrap().to_owned();
    let theirs = scene.accepts(&foreign).await?;
    let api = scene.api_of(&foreign).await?;
    scene.claims("taken", Stage::Ready).await?;
    let failed = scene.failed("taken", "NameConflict").await?;
    let named = format!("{kind} taken-sandbox");
    assert!(ready(&failed).1.contains(&named), "{}", ready(&failed).1);

    // What was built before the conflict was found goes again.
    others_vanish(&scene, "taken-sandbox", &kind).await?;
    assert_eq!(scene.names::<Pod>().await?, Vec::<String>::new());
    let now = serde_json::to_value(api.get("taken-sandbox").await?)?;
    assert_eq!(content(now), content(serde_json::to_value(theirs)?));
    // The failure is the claim's alone: under another name it goes on.
    scene
        .user()
        .accepts(&manifests::claim("free", "taken"))
        .await?;
    scene.bound("free").await?;
    Ok(())
}
