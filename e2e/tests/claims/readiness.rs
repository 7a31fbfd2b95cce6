//! Why a sandbox is not ready, told by the cause itself.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use rstest::rstest;
use sandgate_e2e::fake_node::{NODE, STAGE_LABEL};
use sandgate_e2e::{Outcome, Stage};
use sandgate_shared::api::{ClaimPhase, SandboxClaim};
use serde_json::json;

use crate::manifests::class_with;
use crate::scene::{Scene, addresses, condition, phase, ready};

async fn pod(scene: &Scene) -> Outcome<Pod> {
    let pods = scene.api::<Pod>().list(&ListParams::default()).await?;
    assert_eq!(pods.items.len(), 1);
    Ok(pods.items.into_iter().next().unwrap())
}

// Proves: C-018, C-019, C-029
#[rstest]
#[case(
    Stage::ImagePullFailure,
    "ImagePullFailed",
    "sandgate.dev/stage/image-pull-failure:1"
)]
#[case(Stage::CrashLoop, "CrashLoopBackOff", "exit code 1")]
#[case(Stage::OutOfMemory, "OOMKilled", "resources.limits.memory")]
#[case(Stage::ConfigError, "CreateContainerConfigError", "cannot be started")]
#[case(Stage::NeverReady, "SandboxStarting", "has not reported ready")]
#[tokio::test]
async fn a_pod_that_does_not_start_keeps_its_claim_pending_with_the_cause(
    #[case] stage: Stage,
    #[case] reason: &str,
    #[case] words: &str,
) -> Outcome {
    let scene = Scene::shared("causes").await?;
    scene.claims("stuck", stage).await?;
    let stuck = scene
        .becomes("stuck", reason, |claim: &SandboxClaim| {
            ready(claim).0 == reason && ready(claim).1.contains(words)
        })
        .await?;
    assert_eq!(phase(&stuck), Some(ClaimPhase::Pending));
    assert_eq!(addresses(&stuck), Vec::<String>::new());
    assert_eq!(condition(&stuck, "Bound"), None);
    Ok(())
}

// Proves: C-018, C-029, O-038
#[rstest]
#[case::node_is_silent(
    json!({ "conditions": [
        { "type": "Ready", "status": "False", "reason": null },
        { "type": "ContainersReady", "status": "True" },
    ] }),
    "NodeLost",
    "does not answer"
)]
#[case::node_refuses(
    json!({
        "phase": "Failed",
        "reason": "OutOfcpu",
        "message": "Pod was rejected: Node didn't have enough resource: cpu, requested: 10, used: 9, capacity: 8",
    }),
    "PodRefusedByNode",
    "Node didn't have enough resource: cpu"
)]
#[tokio::test]
async fn what_becomes_of_a_pods_node_keeps_its_claim_pending_with_the_cause(
    #[case] status: serde_json::Value,
    #[case] reason: &str,
    #[case] words: &str,
) -> Outcome {
    let scene = Scene::shared("nodes").await?;
    scene.claims("stuck", Stage::NeverReady).await?;
    scene.pending("stuck", "SandboxStarting").await?;
    let running = |deployment: &Deployment| {
        let status = deployment.status.as_ref();
        status.is_some_and(|status| status.replicas == Some(1))
    };
    scene.becomes("stuck-sandbox", "has a pod", running).await?;
    let name = pod(&scene).await?.metadata.name.unwrap();
    let started = |pod: &Pod| {
        let status = pod.status.as_ref();
        status.is_some_and(|status| status.phase.as_deref() == Some("Running"))
    };
    scene.becomes(&name, "runs", started).await?;
    // As the node's own controller, or its kubelet, would write it.
    let patch = Patch::Strategic(json!({ "status": status }));
    let how = PatchParams::default();
    scene.api::<Pod>().patch_status(&name, &how, &patch).await?;
    let stuck = scene.pending("stuck", reason).await?;
    assert!(ready(&stuck).1.contains(words), "{}", ready(&stuck).1);
    Ok(())
}

// Proves: C-022
#[tokio::test]
async fn a_pod_without_a_node_keeps_its_claim_pending_with_the_schedulers_own_words() -> Outcome {
    let scene = Scene::shared("nowhere").await?;
    // A label of this test alone: the node is everybody's.
    let label = format!("sandgate.dev/{}", scene.name());
    let fields = json!({ "nodeSelector": { &label: "yes" } });
    let class = class_with("picky", Stage::Ready, &fields);
    scene.claims_class("picky", &class).await?;
    let waits = scene.pending("picky", "Unschedulable").await?;
    let status = pod(&scene).await?.status.unwrap();
    let mut conditions = status.conditions.unwrap().into_iter();
    let scheduled = conditions.find(|it| it.type_ == "PodScheduled").unwrap();
    let words = scheduled.message.unwrap();
    assert!(words.contains("0/1 nodes are available"), "{words}");
    assert_eq!(ready(&waits).1, words);

    // It has not failed: a node that fits, and it goes on.
    let nodes: Api<Node> = Api::all(scene.client());
    let fits = |value: Option<&str>| json!({ "metadata": { "labels": { &label: value } } });
    let how = PatchParams::default();
    nodes
        .patch(NODE, &how, &Patch::Merge(fits(Some("yes"))))
        .await?;
    scene.bound("picky").await?;
    nodes.patch(NODE, &how, &Patch::Merge(fits(None))).await?;
    Ok(())
}

// Proves: C-019, C-021, C-027
#[tokio::test]
async fn a_lost_readiness_withdraws_the_addresses_and_a_recovery_brings_them_back() -> Outcome {
    let scene = Scene::shared("lost").await?;
    scene.claims("lost", Stage::LostReadiness).await?;
    let bound = scene.bound("lost").await?;
    let had = addresses(&bound);
    assert_eq!(had.len(), 1);
    let lost = scene.pending("lost", "SandboxNotReady").await?;
    assert_eq!(addresses(&lost), Vec::<String>::new());
    assert_eq!(condition(&lost, "Bound"), condition(&bound, "Bound"));
    assert_eq!(condition(&lost, "Ready").unwrap().0, "False");
    let used = |claim: &SandboxClaim| claim.status.clone().unwrap().last_used_at.unwrap().0;
    assert!(used(&lost) > used(&bound));

    let name = pod(&scene).await?.metadata.name.unwrap();
    let recover = json!({ "metadata": { "labels": { STAGE_LABEL: Stage::Ready.label() } } });
    scene.merge::<Pod>(&name, recover).await?;
    let again = scene.bound("lost").await?;
    assert_eq!(addresses(&again), had);
    assert_eq!(condition(&again, "Bound"), condition(&bound, "Bound"));
    assert!(used(&again) >= used(&lost));
    Ok(())
}
