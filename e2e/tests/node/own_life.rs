//! Sandboxes whose node or operator is disturbed.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use sandgate_e2e::node_cluster::{Options, UPGRADED_WITHIN};
use sandgate_e2e::scene::manifests::claim;
use sandgate_e2e::scene::{Scene, addresses, condition, phase, ready};
use sandgate_e2e::{NodeCluster, Outcome};
use sandgate_shared::api::{ClaimPhase, SandboxClaim};
use serde_json::json;

use crate::replicas::{leads, operators};
use crate::workload::{answering, bring_caller, container, inside, pod_of, script, until_called};

/// Ready by itself once only: started again, it waits for somebody to [`LET_READY`].
const READY_ONCE: &str = "mkdir /files/first && touch /files/first/ready \
     && exec httpd -f -p 8080 -h /files/first; \
     mkdir -p /files/next; exec httpd -f -p 8080 -h /files/next";

/// Whether or not it has come so far.
const LET_READY: &str = "mkdir -p /files/next && touch /files/next/ready";

/// How often somebody makes a claim while Sandgate is rolled out.
const CLAIM_EVERY: Duration = Duration::from_secs(1);

/// Makes a claim and waits until its sandbox runs: then everything works, and has looked at what was
/// there before.
async fn serves(scene: &Scene, name: &str) -> Outcome<SandboxClaim> {
    scene.user().accepts(&claim(name, "box")).await?;
    scene.bound(name).await
}

fn restarts(pod: &Pod) -> Option<i32> {
    container(pod).map(|container| container.restart_count)
}

// Proves: C-019, C-021, C-029
#[tokio::test]
async fn a_sandbox_outlives_its_kubelet_and_its_runtime_and_comes_back_with_its_node() -> Outcome {
    let mut cluster = Box::pin(NodeCluster::start(Options::default())).await?;
    let scene = Scene::on(&cluster, "node").await?;
    bring_caller(&scene).await?;
    scene.accepts(&answering("box")).await?;
    scene
        .claims_class("kept", &script("kept", READY_ONCE))
        .await?;
    let bound = scene.bound("kept").await?;
    until_called(&scene, &bound, true).await?;
    let pod = pod_of(&scene, "kept").await?;

    Box::pin(cluster.node.restart_kubelet()).await?;
    serves(&scene, "after-kubelet").await?;
    Box::pin(cluster.node.restart_containerd()).await?;
    serves(&scene, "after-containerd").await?;
    // A kubelet that starts calls every pod unready until it has asked it; and nothing worse was said.
    let now = scene.bound("kept").await?;
    let told = scene.events_about("kept").await;
    assert!(told.len() > 1, "{told:?}");
    let harmless = ["SandboxStarting: ", "SandboxReady: ", "SandboxNotReady: "];
    let harmless = |told: &String| harmless.iter().any(|it| told.starts_with(it));
    assert!(told.iter().all(harmless), "{told:?}");
    assert_eq!(addresses(&now), addresses(&bound));
    let same = pod_of(&scene, "kept").await?;
    assert_eq!((same.uid(), restarts(&same)), (pod.uid(), Some(0)));
    until_called(&scene, &now, true).await?;

    Box::pin(cluster.node.reboot()).await?;
    let lost = scene.pending("kept", "ContainerLost").await?;
    assert_eq!(addresses(&lost), Vec::<String>::new());
    assert!(
        ready(&lost).1.contains("started again by itself"),
        "{}",
        ready(&lost).1
    );
    assert_eq!(condition(&lost, "Bound"), condition(&bound, "Bound"));
    let again = scene
        .becomes(&pod.name_any(), "runs again", |pod: &Pod| {
            let state = container(pod).and_then(|it| it.state.as_ref());
            restarts(pod) == Some(1) && state.is_some_and(|it| it.running.is_some())
        })
        .await?;
    assert_eq!(again.uid(), pod.uid());
    inside(&scene, "kept", &["sh", "-c", LET_READY]).await?;
    let back = scene.bound("kept").await?;
    assert_eq!(addresses(&back), addresses(&bound));
    until_called(&scene, &back, true).await?;
    cluster.until_judged().await?;
    serves(&scene, "after-reboot").await?;
    for before in ["after-kubelet", "after-containerd"] {
        scene.bound(before).await?;
    }
    cluster.check()
}

// Proves: C-001, C-034
#[tokio::test]
async fn while_sandgate_is_rolled_out_every_claim_is_taken_and_no_sandbox_is_touched() -> Outcome {
    let cluster = Box::pin(NodeCluster::start(Options::default())).await?;
    let scene = Scene::on(&cluster, "rollout").await?;
    scene.accepts(&answering("box")).await?;
    let before = serves(&scene, "before").await?;
    let pod = pod_of(&scene, "before").await?;
    let old = operators(&cluster).await?;
    assert_eq!(old.len(), 2);
    leads(&cluster, &old).await?;

    let made = async {
        let values = json!({ "podAnnotations": { "rolled-out": "once" } });
        let upgrade = cluster.upgrade(&values);
        let mut upgrade = std::pin::pin!(upgrade);
        let mut upgraded = false;
        let mut made = Vec::new();
        let mut turn = tokio::time::interval(CLAIM_EVERY);
        // Not only until the new pods are there: also while the old ones drain.
        while !upgraded || !operators(&cluster).await?.is_disjoint(&old) {
            tokio::select! {
                done = &mut upgrade, if !upgraded => {
                    done?;
                    upgraded = true;
                }
                _ = turn.tick() => {
                    let name = format!("claim-{}", made.len());
                    scene.user().accepts(&claim(&name, "box")).await?;
                    made.push(name);
                }
            }
        }
        Outcome::Ok(made)
    };
    let made = tokio::time::timeout(UPGRADED_WITHIN, made).await??;
    let new = operators(&cluster).await?;
    assert_eq!(new.len(), 2);
    leads(&cluster, &new).await?;

    assert!(made.len() > 3, "{made:?}");
    for name in &made {
        scene.bound(name).await?;
        assert_eq!(restarts(&pod_of(&scene, name).await?), Some(0), "{name}");
    }
    serves(&scene, "after").await?;
    let now: SandboxClaim = scene.api().get("before").await?;
    assert_eq!(phase(&now), Some(ClaimPhase::Bound));
    assert_eq!(now.status, before.status);
    let same = pod_of(&scene, "before").await?;
    assert_eq!((same.uid(), restarts(&same)), (pod.uid(), Some(0)));
    Ok(())
}
