//! The chart is upgraded by Helm to other rules while claims are in flight.

use kube::ResourceExt;
use kube::runtime::wait::{await_condition, conditions};
use sandgate_e2e::namespace::DEADLINE;
use sandgate_e2e::node_cluster::Options;
use sandgate_e2e::pair::{GRACE, Pair, all_verified, is_verified};
use sandgate_e2e::scene::manifests::{claim_with, enrolment, with_workspace};
use sandgate_e2e::scene::{Scene, ready};
use sandgate_e2e::{Identity, NodeCluster, Outcome};
use sandgate_shared::api::ClaimPhase;
use serde_json::{Value, json};

use crate::replicas::{leads, operators};
use crate::workload::{answering, pod_of, script};

fn target(name: &str, class: &str) -> Value {
    claim_with(name, class, &json!({ "targetPath": "projects/shop" }))
}

/// The values of the release, with these rules for who is the operator.
fn release(require_pod_bound_token: bool) -> Value {
    json!({
        "operator": { "sandboxAPI": { "claimPolicyGrace": format!("{}s", GRACE.as_secs()) } },
        "requirePodBoundToken": require_pod_bound_token,
    })
}

// Proves: P-013, P-017, P-022, P-030, X-007
#[tokio::test]
async fn a_helm_upgrade_to_other_rules_fails_no_verified_claim_and_one_made_in_between() -> Outcome
{
    let options = Options {
        values: release(true),
        ..Options::default()
    };
    let mut cluster = Box::pin(NodeCluster::start(options)).await?;
    let scene = Scene::on(&cluster, "upgrade").await?;
    scene.with_content().await?;
    scene.accepts(&with_workspace(answering("box"))).await?;
    scene
        .accepts(&with_workspace(script("loop", "exit 3")))
        .await?;
    let operator = scene.operator_as(&Identity::ImpersonatedOperator).await?;
    let (old, new) = (Pair::ours(&cluster), Pair::of_another_version(&cluster));
    assert_ne!(old.name(), new.name());
    old.in_force().await?;

    // One runs, one is being built, one waits before anything of it is built.
    operator.accepts(&target("runs", "box")).await?;
    operator.accepts(&target("built", "loop")).await?;
    let queued = enrolment("queued", "box", "portal");
    operator.accepts(&queued).await?;
    scene.bound("runs").await?;
    scene.pending("built", "CrashLoopBackOff").await?;
    scene.pending("queued", "PartNotBuilt").await?;
    let pod = pod_of(&scene, "runs").await?;
    let replicas = operators(&cluster).await?;
    leads(&cluster, &replicas).await?;

    // Helm deletes the old policy as soon as it has made the new one, and then waits for the new pods.
    let values = release(false);
    let upgrade = cluster.upgrade(&values);
    let policy = old.policies().get(old.name()).await?;
    let between = async {
        let uid = policy.uid().unwrap_or_default();
        let gone = await_condition(old.policies(), old.name(), conditions::is_deleted(&uid));
        tokio::time::timeout(DEADLINE, gone).await??;
        operator.accepts(&target("between", "box")).await?;
        let held = scene.pending("between", "ProvenanceUnproven").await?;
        let why = ready(&held).1;
        assert!(why.contains(new.name()), "{why}");
        leads(&cluster, &replicas).await
    };
    let (upgraded, held) = tokio::join!(upgrade, between);
    upgraded?;
    held?;

    let untouched = [
        ("runs", ClaimPhase::Bound),
        ("built", ClaimPhase::Pending),
        ("queued", ClaimPhase::Pending),
    ];
    all_verified(&scene, &untouched).await?;
    assert_eq!(pod_of(&scene, "runs").await?.uid(), pod.uid());
    let failed = scene.failed("between", "TargetPathNotGranted").await?;
    let (_, why) = ready(&failed);
    assert!(why.contains("created more than 1 s after"), "{why}");
    let claim = target("after", "box");
    new.in_force().await?;
    operator.accepts(&claim).await?;
    assert!(is_verified(&scene.bound("after").await?));
    cluster.check()
}
