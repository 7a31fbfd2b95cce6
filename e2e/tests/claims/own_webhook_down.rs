//! Claims while the webhook is down: what runs is looked after, what is deleted goes, nothing new
//! comes in.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::DeleteParams;
use sandgate_e2e::namespace::DEADLINE;
use sandgate_e2e::{Cluster, Options, Outcome, Stage};
use sandgate_shared::api::SandboxClaim;
use serde_json::json;

use crate::manifests;
use crate::scene::{Scene, condition};

// Proves: O-002, O-040
#[tokio::test]
async fn while_the_webhook_is_down_claims_are_looked_after_and_deleted_and_none_is_made() -> Outcome
{
    let mut cluster = Cluster::own(Options::default()).await?;
    let scene = Scene::on(&cluster, "down").await?;
    scene
        .accepts(&manifests::class("box", Stage::Ready))
        .await?;
    for name in ["runs", "goes", "goes-first"] {
        scene.user().accepts(&manifests::claim(name, "box")).await?;
        scene.bound(name).await?;
    }
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
    scene.vanishes::<SandboxClaim>("goes").await?;
    scene.vanishes::<Deployment>("goes-first-sandbox").await?;
    assert_eq!(scene.names::<Deployment>().await?, ["runs-sandbox"]);

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
