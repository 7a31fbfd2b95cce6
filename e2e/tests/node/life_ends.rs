//! Pods that a node gives up: they go at once, and the claim says why until the next is ready.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::EvictParams;
use sandgate_e2e::scene::{Scene, addresses, phase, ready};
use sandgate_e2e::{Cluster, Outcome};
use sandgate_shared::api::{ClaimPhase, SandboxClaim};

use crate::workload::{
    SERVES_WHILE_READY, answering, bring_caller, inside, pod_of, script, until_called,
};

/// How soon a finished pod is gone: long before the grace that it would have if it still ran, and long
/// enough for a busy node to let go of it.
const AT_ONCE: Duration = Duration::from_secs(10);

fn has_finished(pod: &Pod) -> bool {
    let status = pod.status.as_ref();
    status.and_then(|status| status.phase.as_deref()) == Some("Failed")
}

/// Waits until the claim is Bound again; what it was told until then, which held no address.
async fn bound_again(scene: &Scene, claim: &str) -> Outcome<(SandboxClaim, Vec<(String, String)>)> {
    let mut told = Vec::new();
    let again = scene
        .becomes(claim, "is Bound again", |claim: &SandboxClaim| {
            let bound = phase(claim) == Some(ClaimPhase::Bound);
            if !bound {
                assert_eq!(addresses(claim), Vec::<String>::new());
                told.push((ready(claim).0.to_owned(), ready(claim).1.to_owned()));
            }
            bound && !told.is_empty()
        })
        .await?;
    told.dedup();
    Ok((again, told))
}

// Proves: O-038, C-019, C-021, C-029, O-020
#[tokio::test]
async fn a_sandbox_that_writes_more_than_its_scratch_holds_is_evicted_and_comes_anew() -> Outcome {
    let scene = Scene::on(&Cluster::node().await?, "evicted").await?;
    bring_caller(&scene).await?;
    scene
        .claims_class("box", &script("box", SERVES_WHILE_READY))
        .await?;
    let bound = scene.bound("box").await?;
    let old = pod_of(&scene, "box").await?;

    let too_much = ["dd", "if=/dev/zero", "of=/files/full", "bs=64k", "count=64"];
    inside(&scene, "box", &too_much).await?;
    let finished = async {
        scene
            .becomes(&old.name_any(), "has finished", has_finished)
            .await?;
        let began = Instant::now();
        scene.vanishes::<Pod>(&old.name_any()).await?;
        Outcome::Ok(began.elapsed())
    };
    let (took, (again, told)) = tokio::try_join!(finished, bound_again(&scene, "box"))?;
    assert!(took < AT_ONCE, "took {took:?}");
    assert_eq!(told.len(), 1, "{told:?}");
    let (reason, message) = &told[0];
    assert_eq!(reason, "Evicted");
    assert!(message.contains("\"files\" exceeds the limit"), "{message}");
    assert_eq!(addresses(&again), addresses(&bound));
    let new = pod_of(&scene, "box").await?;
    assert_ne!(new.uid(), old.uid());
    until_called(&scene, &again, true).await
}

// Proves: C-019, C-021, C-029
#[tokio::test]
async fn a_sandbox_that_is_drained_off_its_node_comes_anew() -> Outcome {
    let scene = Scene::on(&Cluster::node().await?, "drained").await?;
    scene.claims_class("box", &answering("box")).await?;
    let bound = scene.bound("box").await?;
    let old = pod_of(&scene, "box").await?.name_any();
    let pods = scene.api::<Pod>();
    let evict = async { Outcome::Ok(pods.evict(&old, &EvictParams::default()).await?) };
    let (_, (again, told)) = tokio::try_join!(evict, bound_again(&scene, "box"))?;
    assert!(
        told.iter()
            .any(|(reason, message)| reason == "Evicted" && message.contains("a node is drained")),
        "{told:?}"
    );
    assert_eq!(addresses(&again), addresses(&bound));
    scene.vanishes::<Pod>(&old).await?;
    Ok(())
}
