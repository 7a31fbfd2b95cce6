//! A claim that is deleted and made again under its name while objects of the one before still stand.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use rstest::rstest;
use sandgate_e2e::{Outcome, Stage};
use sandgate_shared::api::SandboxClaim;
use serde_json::{Value, json};

use crate::conflicts::others_vanish;
use crate::manifests;
use crate::queue;
use crate::scene::{Scene, condition, ready, uid};

/// Keeps an object from going, until it is taken off.
fn finalizers(of: &[&str]) -> Value {
    json!({ "metadata": { "finalizers": of } })
}

async fn hold(scene: &Scene, kind: &str, of: &[&str]) -> Outcome {
    match kind {
        "Deployment" => {
            scene
                .merge::<Deployment>("again-sandbox", finalizers(of))
                .await
        }
        "Service" => {
            scene
                .merge::<Service>("again-sandbox", finalizers(of))
                .await
        }
        _ => {
            scene
                .merge::<NetworkPolicy>("again-sandbox", finalizers(of))
                .await
        }
    }
}

// Proves: O-001, O-002, C-029
#[rstest]
#[case("Deployment")]
#[case("Service")]
#[case("NetworkPolicy")]
#[tokio::test]
async fn a_claim_made_again_at_once_waits_until_what_was_made_for_the_one_before_is_gone(
    #[case] kind: &str,
) -> Outcome {
    let scene = Scene::shared("again").await?;
    scene.claims("again", Stage::Ready).await?;
    let before = scene.bound("again").await?;
    hold(&scene, kind, &["sandgate.dev/of-a-test"]).await?;
    queue::delete(&scene, "again").await?;
    scene.vanishes::<SandboxClaim>("again").await?;
    let again = manifests::claim("again", "again");
    scene.user().accepts(&again).await?;
    others_vanish(&scene, "again-sandbox", kind).await?;
    let named = format!("{kind} again-sandbox ");
    let waits = scene
        .becomes("again", "waits for what is held", |claim: &SandboxClaim| {
            let (reason, message) = ready(claim);
            reason == "PreviousObjectsRemain" && message.starts_with(&named)
        })
        .await?;
    assert_ne!(uid(&waits), uid(&before));
    assert!(condition(&waits, "Admitted").is_some());
    // Nothing was made in the place of what is gone.
    let left = [
        scene.names::<Deployment>().await?,
        scene.names::<Service>().await?,
        scene.names::<NetworkPolicy>().await?,
    ];
    let left = left.concat().into_iter();
    let left: Vec<_> = left.filter(|name| name == "again-sandbox").collect();
    assert_eq!(left.len(), 1, "{left:?}");

    hold(&scene, kind, &[]).await?;
    scene.bound("again").await?;
    Ok(())
}

// Proves: O-001
#[tokio::test]
async fn what_a_claim_of_another_name_owns_is_no_left_over() -> Outcome {
    let scene = Scene::shared("other").await?;
    scene.claims("other", Stage::Ready).await?;
    let other = scene.bound("other").await?;
    let mut theirs = manifests::service("taken-sandbox", &json!([{ "port": 80 }]));
    theirs["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "omnia.altairalabs.ai/v1alpha1", "kind": "SandboxClaim", "name": "other",
        "uid": uid(&other), "controller": true,
    }]);
    scene.accepts(&theirs).await?;
    let taken = manifests::claim("taken", "other");
    scene.user().accepts(&taken).await?;
    scene.failed("taken", "NameConflict").await?;
    assert_eq!(scene.names::<Pod>().await?.len(), 1);
    Ok(())
}
