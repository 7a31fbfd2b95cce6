//! The chart is upgraded to a version with other rules while claims are in flight. Helm makes the new
//! policy, then deletes the old one, while the old pod still leads.

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use sandgate_e2e::pair::{Pair, all_verified, is_verified};
use sandgate_e2e::scene::manifests::{self, claim_with, enrolment};
use sandgate_e2e::scene::{Scene, ready};
use sandgate_e2e::{Cluster, Outcome, Stage};
use sandgate_shared::api::{ClaimPhase, SandboxClaim};
use serde_json::{Value, json};

use crate::options;

fn target(name: &str, class: &str) -> Value {
    claim_with(name, class, &json!({ "targetPath": "projects/shop" }))
}

// Proves: P-017, P-022, P-029, P-030
#[tokio::test]
async fn an_upgrade_with_other_rules_fails_no_verified_claim_and_one_made_in_between() -> Outcome {
    let mut cluster = Cluster::own(options()).await?;
    let scene = Scene::on(&cluster, "upgrade").await?;
    scene.with_content().await?;
    for (class, stage) in [("box", Stage::Ready), ("loop", Stage::CrashLoop)] {
        let class = manifests::with_workspace(manifests::class(class, stage));
        scene.accepts(&class).await?;
    }
    let operator = scene.operator().await?;
    let (old, new) = (Pair::ours(&cluster), Pair::of_another_version(&cluster));
    assert_ne!(old.name(), new.name());
    old.in_force().await?;
    let old_record = old.record_to_go().await?;

    // One runs, one is being built, one waits before anything of it is built.
    operator.accepts(&target("runs", "box")).await?;
    operator.accepts(&target("built", "loop")).await?;
    let queued = enrolment("queued", "box", "portal");
    operator.accepts(&queued).await?;
    scene.bound("runs").await?;
    scene.pending("built", "CrashLoopBackOff").await?;
    scene.pending("queued", "PartNotBuilt").await?;

    new.create().await?;
    old.delete().await?;
    operator.accepts(&target("between", "box")).await?;
    let held = scene.pending("between", "ProvenanceUnproven").await?;
    let why = ready(&held).1;
    assert!(why.contains(new.name()), "{why}");
    // The old leader keeps the Lease and serves what needs no proof.
    scene
        .user()
        .accepts(&manifests::claim("scratch", "box"))
        .await?;
    scene.bound("scratch").await?;
    let leases: Api<Lease> = Api::namespaced(cluster.client(), "sandgate-system");
    let lease = leases.get("sandgate-controller").await?.spec.unwrap();
    assert_eq!(
        lease.holder_identity.as_deref(),
        Some("sandgate-controller-0")
    );
    let held: SandboxClaim = scene.api().get("between").await?;
    assert_eq!(ready(&held).0, "ProvenanceUnproven");

    let plane = &cluster.control_plane;
    let more = ["--require-pod-bound-token=false"];
    let pod = "sandgate-controller-1";
    let _upgraded = cluster
        .installation
        .another_controller_with(plane, pod, &more)
        .await?;
    let leader = &mut cluster.installation.controller.as_mut().unwrap().service;
    leader.stop()?;

    let failed = scene.failed("between", "TargetPathNotGranted").await?;
    let why = ready(&failed).1;
    assert!(why.contains("created more than 1 s after"), "{why}");
    new.in_force().await?;
    operator.accepts(&target("after", "box")).await?;
    assert!(is_verified(&scene.bound("after").await?));
    let untouched = [
        ("runs", ClaimPhase::Bound),
        ("built", ClaimPhase::Pending),
        ("queued", ClaimPhase::Pending),
    ];
    all_verified(&scene, &untouched).await?;
    // The record of the old pair goes with its policy.
    old_record.until_gone().await
}
