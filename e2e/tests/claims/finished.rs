//! Pods that finished: they go at once, and what ended them stays told.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Patch, PatchParams};
use sandgate_e2e::fake_node::STAGE_LABEL;
use sandgate_e2e::{Outcome, Stage};
use sandgate_shared::api::{ClaimPhase, SandboxClaim};
use sandgate_shared::names;
use serde_json::{Value, json};

use crate::audit::{self, Request};
use crate::scene::{Scene, addresses, phase, ready};

/// How soon a finished pod is gone: long before the grace that it would have if it still ran.
const AT_ONCE: Duration = Duration::from_secs(5);

fn has_finished(pod: &Pod) -> bool {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    phase == Some("Failed")
}

/// The only pod of the namespace.
async fn pod(scene: &Scene) -> Outcome<Value> {
    let names = scene.names::<Pod>().await?;
    assert_eq!(names.len(), 1, "{names:?}");
    scene.get::<Pod>(&names[0]).await
}

async fn evict(scene: &Scene, pod: &str) -> Outcome {
    let label = json!({ "metadata": { "labels": { STAGE_LABEL: Stage::Evicted.label() } } });
    scene.merge::<Pod>(pod, label).await
}

/// What the controller wrote in the namespace after the first `before` requests, Events aside.
async fn writes(scene: &Scene, before: usize) -> Outcome<Vec<Request>> {
    let asked = audit::of_controller(scene).await?.into_iter().skip(before);
    let writes = asked.filter(|it| it.wrote() && it.resource() != "events");
    Ok(writes.collect())
}

// Proves: O-038, C-019, C-021, C-029
#[tokio::test]
async fn an_evicted_pod_goes_at_once_and_its_claim_says_why_until_the_next_pod_is_ready() -> Outcome
{
    let scene = Scene::shared("evicted").await?;
    scene.claims("evicted", Stage::Late).await?;
    let bound = scene.bound("evicted").await?;
    let old = pod(&scene).await?;
    let name = old["metadata"]["name"].as_str().unwrap();
    let before = audit::of_controller(&scene).await?.len();
    evict(&scene, name).await?;
    scene
        .becomes(name, "has finished", |pod: &Pod| has_finished(pod))
        .await?;
    let began = Instant::now();
    scene.vanishes::<Pod>(name).await?;
    assert!(began.elapsed() < AT_ONCE, "took {:?}", began.elapsed());

    // Whatever it says until the next pod is ready, it says why the last one went.
    let mut told = Vec::new();
    let again = scene
        .becomes("evicted", "is Bound again", |claim: &SandboxClaim| {
            let is_bound = phase(claim) == Some(ClaimPhase::Bound);
            if !is_bound {
                assert_eq!(addresses(claim), Vec::<String>::new());
                told.push(ready(claim).0.to_owned());
                assert!(ready(claim).1.contains("low on resource: memory"));
            }
            is_bound && !told.is_empty()
        })
        .await?;
    told.dedup();
    assert_eq!(told, ["Evicted"]);
    assert_eq!(addresses(&again), addresses(&bound));
    let new = pod(&scene).await?;
    assert_ne!(new["metadata"]["uid"], old["metadata"]["uid"]);

    // One report, one deletion of exactly that pod, and the report of the new one.
    let writes = writes(&scene, before).await?;
    let sentences: Vec<String> = writes.iter().map(Request::sentence).collect();
    assert_eq!(
        sentences,
        [
            "patch sandboxclaims/status evicted".to_owned(),
            format!("delete pods {name}"),
            "patch sandboxclaims/status evicted".to_owned(),
        ]
    );
    assert_eq!(
        writes[1].precondition("uid"),
        old["metadata"]["uid"].as_str().unwrap()
    );
    assert!(writes[1].without_grace());
    Ok(())
}

// Proves: O-038
#[tokio::test]
async fn a_pod_that_finished_while_it_is_being_deleted_goes_without_its_node() -> Outcome {
    let scene = Scene::shared("ending").await?;
    scene.claims("ending", Stage::Lingering).await?;
    scene.bound("ending").await?;
    let name = scene.names::<Pod>().await?.remove(0);
    let pods = scene.api::<Pod>();
    pods.delete(&name, &DeleteParams::default()).await?;
    scene
        .becomes(&name, "is terminating", |pod: &Pod| {
            pod.metadata.deletion_timestamp.is_some()
        })
        .await?;
    // What its node says once its programs ended, a while before it lets the pod go.
    let ended = Patch::Merge(json!({ "status": { "phase": "Succeeded" } }));
    let began = Instant::now();
    pods.patch_status(&name, &PatchParams::default(), &ended)
        .await?;
    scene.vanishes::<Pod>(&name).await?;
    assert!(began.elapsed() < AT_ONCE, "took {:?}", began.elapsed());
    scene.bound("ending").await?;
    Ok(())
}

// Proves: O-038
#[tokio::test]
async fn a_sandbox_that_is_evicted_again_and_again_costs_one_deletion_for_each_pod() -> Outcome {
    let scene = Scene::shared("again").await?;
    scene.claims("again", Stage::Evicted).await?;
    let mut bound_by = Vec::new();
    while bound_by.len() < 3 {
        scene.bound("again").await?;
        scene.pending("again", "Evicted").await?;
        let writes = writes(&scene, 0).await?;
        let deleted = writes.iter().filter(|it| it.verb() == "delete");
        bound_by = deleted.map(|it| it.name().to_owned()).collect();
    }
    let mut times = BTreeMap::new();
    for name in bound_by {
        *times.entry(name).or_insert(0) += 1;
    }
    assert!(times.values().all(|times| *times == 1), "{times:?}");
    // Bound, evicted and gone: three writes a pod, besides the admission and what built it.
    let all = writes(&scene, 0).await?;
    let reports = all.iter().filter(|it| it.verb() == "patch").count();
    assert!(reports <= 3 + 2 * times.len(), "{reports} for {times:?}");
    Ok(())
}

// Proves: O-038
#[tokio::test]
async fn a_finished_pod_of_somebody_else_that_bears_a_claims_labels_stays() -> Outcome {
    let scene = Scene::shared("forged").await?;
    scene.claims("plain", Stage::Late).await?;
    scene.bound("plain").await?;
    let ours = pod(&scene).await?;
    let mut labels = ours["metadata"]["labels"].clone();
    assert!(labels.get(names::LABEL_CLAIM_UID).is_some());
    labels["pod-template-hash"] = json!("none-of-ours");
    labels[STAGE_LABEL] = json!(Stage::Evicted.label());
    let mut forged = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": "forged", "labels": labels },
        "spec": { "securityContext": ours["spec"]["securityContext"] },
    });
    let container = &ours["spec"]["containers"][0];
    forged["spec"]["containers"] = json!([{
        "name": "forged",
        "image": container["image"],
        "securityContext": container["securityContext"],
    }]);
    scene.accepts(&forged).await?;
    scene
        .becomes("forged", "has finished", |pod: &Pod| has_finished(pod))
        .await?;
    // Ours finishes after it, and goes.
    let name = ours["metadata"]["name"].as_str().unwrap();
    evict(&scene, name).await?;
    scene.pending("plain", "Evicted").await?;
    scene.bound("plain").await?;
    let stays: Pod = scene.api().get("forged").await?;
    assert!(has_finished(&stays) && stays.metadata.deletion_timestamp.is_none());
    let writes = writes(&scene, 0).await?;
    let deleted = writes.iter().filter(|it| it.verb() == "delete");
    let deleted: Vec<&str> = deleted.map(Request::name).collect();
    assert_eq!(deleted, [name]);
    Ok(())
}
