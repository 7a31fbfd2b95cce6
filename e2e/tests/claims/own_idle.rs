//! Claims that are left alone for too long. Their last use is written into the past, as the operator
//! writes it; no clock is moved.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::Api;
use kube::api::{Patch, PatchParams};
use sandgate_e2e::namespace::DEADLINE;
use sandgate_e2e::{Cluster, Options, Outcome, OwnCluster, Stage};
use sandgate_shared::api::{ClaimPhase, SandboxClaim};
use sandgate_shared::names;
use sandgate_shared::render::Installation as Names;
use serde_json::json;

use crate::queue::{claims, limited};
use crate::scene::{Scene, phase, ready};

/// How long a silent leader keeps the Lease.
const LEASE: Duration = Duration::from_secs(4);

fn leases(cluster: &OwnCluster) -> Api<Lease> {
    Api::namespaced(cluster.client(), &Names::default().namespace)
}

async fn leaderless(cluster: &OwnCluster) -> Outcome<String> {
    let lease = leases(cluster).get("sandgate-controller").await?;
    let annotations = lease.metadata.annotations.unwrap_or_default();
    let text = annotations.get(names::ANNOTATION_LEADERLESS);
    Ok(text.cloned().unwrap_or_default())
}

/// Says that somebody led always.
async fn somebody_led_always(cluster: &OwnCluster) -> Outcome {
    let told = json!({"metadata": {"annotations": {names::ANNOTATION_LEADERLESS: "[]"}}});
    let patch = Patch::Merge(&told);
    let params = PatchParams::default();
    leases(cluster)
        .patch("sandgate-controller", &params, &patch)
        .await?;
    Ok(())
}

/// Writes it as the operator, whose claims these are.
async fn used_two_hours_ago(claims: &Api<SandboxClaim>, claim: &str) -> Outcome {
    let used = Timestamp::now() - SignedDuration::from_hours(2);
    let used = Timestamp::from_second(used.as_second())?;
    let status = json!({"status": {"lastUsedAt": used.to_string()}});
    let patch = Patch::Merge(&status);
    claims
        .patch_status(claim, &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

async fn fails(scene: &Scene, claim: &str, reason: &str) -> Outcome<String> {
    let failed = scene
        .becomes(claim, "has failed", |claim: &SandboxClaim| {
            phase(claim) == Some(ClaimPhase::Failed)
        })
        .await?;
    let (told, message) = ready(&failed);
    assert_eq!(told, reason, "{message}");
    Ok(message.to_owned())
}

// Proves: R-003, R-004, R-005, R-006
#[tokio::test]
async fn claims_left_alone_fail_and_go_but_not_for_time_in_which_nobody_led() -> Outcome {
    let mut options = Options::default();
    let lease = format!("--lease-duration={}s", LEASE.as_secs());
    options.installation.controller_arguments = vec![lease];
    let mut cluster = Cluster::own(options).await?;
    let scene = Scene::on(&cluster, "idle").await?;
    let scene = limited(scene, json!({"maxConcurrent": 0})).await?;
    claims(&scene, &["waits"]).await?;
    scene.claims("stuck", Stage::CrashLoop).await?;
    scene.claims("runs", Stage::Ready).await?;
    scene.pending("stuck", "CrashLoopBackOff").await?;
    scene.bound("runs").await?;
    scene
        .becomes("waits", "is queued", |claim: &SandboxClaim| {
            phase(claim) == Some(ClaimPhase::Queued)
        })
        .await?;

    let operator: Api<SandboxClaim> =
        Api::namespaced(scene.operator().await?.client(), scene.name());
    // Nobody led before this installation began: what was not used for two hours is as good as new.
    for claim in ["waits", "stuck", "runs"] {
        used_two_hours_ago(&operator, claim).await?;
    }
    let told = leaderless(&cluster).await?;
    assert!(told.starts_with(r#"[["1970-01-01T00:00:00Z","#), "{told}");
    scene.claims("later", Stage::Ready).await?;
    scene.bound("later").await?;
    for claim in ["waits", "stuck"] {
        let seen = scene.api::<SandboxClaim>().get(claim).await?;
        assert_ne!(phase(&seen), Some(ClaimPhase::Failed), "{claim}");
    }

    let first = &mut cluster.installation.controller.as_mut().unwrap().service;
    first.kill();
    somebody_led_always(&cluster).await?;
    let mut second = cluster.second_controller().await?;
    second.service.answers("/readyz", DEADLINE).await?;
    let message = fails(&scene, "stuck", "SandboxNeverReady").await?;
    assert!(message.contains("within 30m"), "{message}");
    assert!(message.contains("CrashLoopBackOff"), "{message}");
    fails(&scene, "waits", "QueueWaitExceeded").await?;
    let seen = scene.api::<SandboxClaim>().get("runs").await?;
    assert_eq!(phase(&seen), Some(ClaimPhase::Bound));
    // Only the time between the two of them counts as without a leader.
    let told: Vec<(Timestamp, Timestamp)> = serde_json::from_str(&leaderless(&cluster).await?)?;
    let [(from, to)] = told[..] else {
        panic!("{told:?} is not one interval");
    };
    let gap = to.duration_since(from).as_secs();
    assert!((2..60).contains(&gap), "{gap} s");

    // Failing was a use.
    assert!(
        scene
            .api::<SandboxClaim>()
            .get_opt("stuck")
            .await?
            .is_some()
    );
    used_two_hours_ago(&operator, "stuck").await?;
    scene.vanishes::<SandboxClaim>("stuck").await?;
    scene.vanishes::<Deployment>("stuck-sandbox").await?;
    let stays = scene.api::<SandboxClaim>().get_opt("waits").await?;
    assert!(stays.is_some(), "it failed just now");
    Ok(())
}
