//! A claim that was bound before the admission policy was installed.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::Api;
use kube::api::{Patch, PatchParams};
use sandgate_controller::claim::plan::may_be_promoted;
use sandgate_e2e::namespace::DEADLINE;
use sandgate_e2e::pair::Pair;
use sandgate_e2e::scene::manifests::{self, claim_with};
use sandgate_e2e::scene::{Scene, condition, phase};
use sandgate_e2e::{Cluster, Outcome, Stage};
use sandgate_shared::api::{ClaimPhase, SandboxClaim};
use sandgate_shared::reason;
use serde_json::json;

use crate::options;

// Proves: P-018, P-019, P-025
#[tokio::test]
async fn a_claim_bound_before_the_policy_runs_on_is_marked_and_promotes_nothing() -> Outcome {
    let mut cluster = Cluster::own(options()).await?;
    let scene = Scene::on(&cluster, "older").await?;
    scene.with_content().await?;
    let class = manifests::with_workspace(manifests::class("box", Stage::Ready));
    scene.accepts(&class).await?;
    let operator = scene.operator().await?;
    let pair = Pair::ours(&cluster);
    pair.in_force().await?;
    // As an operator left it that knew no policy: bound, and nothing recorded of who wrote it.
    let first = &mut cluster.installation.controller.as_mut().unwrap().service;
    first.kill();
    pair.delete().await?;
    let target = json!({ "targetPath": "projects/shop" });
    operator
        .accepts(&claim_with("older", "box", &target))
        .await?;
    let claims: Api<SandboxClaim> = Api::namespaced(operator.client(), scene.name());
    let status = json!({ "status": { "phase": "Bound", "conditions": [{
        "type": "Bound", "status": "True", "reason": "SandboxReady", "message": "it was ready once",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }] } });
    let how = PatchParams::default();
    claims
        .patch_status("older", &how, &Patch::Merge(&status))
        .await?;
    // Creation times are of whole seconds: the policy's is to be a later one.
    let made = scene.api::<SandboxClaim>().get("older").await?;
    let made = made.metadata.creation_timestamp.unwrap().0;
    let left = (made + Duration::from_secs(1)).duration_since(Timestamp::now());
    tokio::time::sleep(Duration::try_from(left).unwrap_or_default()).await;
    pair.create().await?;

    let mut second = cluster.second_controller().await?;
    second.service.answers("/readyz", DEADLINE).await?;
    let marked = scene
        .becomes("older", "is marked", |claim: &SandboxClaim| {
            condition(claim, "ProvenanceVerified").is_some()
                && phase(claim) == Some(ClaimPhase::Bound)
                && claim
                    .status
                    .as_ref()
                    .is_some_and(|it| it.addresses.is_some())
        })
        .await?;
    let (status, told, _) = condition(&marked, "ProvenanceVerified").unwrap();
    assert_eq!((status, told), ("True", reason::BOUND_BEFORE_POLICY));
    assert!(!may_be_promoted(&marked));

    pair.in_force().await?;
    operator
        .accepts(&claim_with("younger", "box", &target))
        .await?;
    let younger = scene.bound("younger").await?;
    assert!(may_be_promoted(&younger));
    Ok(())
}
