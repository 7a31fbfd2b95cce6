//! A leader that is gone while claims wait to be verified.

use kube::ResourceExt;
use sandgate_e2e::namespace::DEADLINE;
use sandgate_e2e::pair::{Pair, is_verified};
use sandgate_e2e::scene::manifests::{self, claim_with};
use sandgate_e2e::scene::{Scene, condition};
use sandgate_e2e::{Cluster, Outcome, Stage};
use sandgate_shared::api::SandboxClaim;
use serde_json::json;

use crate::options;

/// How many claims wait.
const WAITING: usize = 20;

// Proves: P-029
#[tokio::test]
async fn a_leader_change_makes_none_of_twenty_waiting_claims_unprovable() -> Outcome {
    let mut options = options();
    // Long enough for the claims to be made while nobody leads.
    let arguments = &mut options.installation.controller_arguments;
    arguments.push("--lease-duration=10s".to_owned());
    let mut cluster = Cluster::own(options).await?;
    let mut standby = cluster.second_controller().await?;
    standby.service.answers("/readyz", DEADLINE).await?;
    let scene = Scene::on(&cluster, "waiting").await?;
    scene
        .accepts(&manifests::class("box", Stage::Ready))
        .await?;
    let operator = scene.operator().await?;
    let pair = Pair::ours(&cluster);
    pair.in_force().await?;
    let record = pair.record().await?;

    let leader = &mut cluster.installation.controller.as_mut().unwrap().service;
    leader.kill();
    let connects = json!({ "connections": [{ "role": "vcs", "connection": "github" }] });
    let names: Vec<String> = (0..WAITING).map(|turn| format!("claim-{turn}")).collect();
    for name in &names {
        operator
            .accepts(&claim_with(name, "box", &connects))
            .await?;
    }
    for name in &names {
        let claim: SandboxClaim = scene.api().get(name).await?;
        assert_eq!(
            condition(&claim, "ProvenanceVerified"),
            None,
            "nobody leads"
        );
    }
    for name in &names {
        scene
            .becomes(name, "is verified", |claim: &SandboxClaim| {
                is_verified(claim)
            })
            .await?;
    }
    // The new leader tried the policy itself and left the record as it was.
    let records = pair.all_records().await?;
    assert_eq!(records.len(), 1, "{records:?}");
    assert_eq!(records[0].uid(), record.uid());
    assert_eq!(records[0].resource_version(), record.resource_version());
    Ok(())
}
