//! The policy that shuts every sandbox of a namespace, whatever becomes of the claims' own.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::{DeleteParams, Patch, PatchParams};
use rstest::rstest;
use sandgate_e2e::fake_node::STAGE_LABEL;
use sandgate_e2e::{Outcome, Stage};
use sandgate_shared::api::SandboxClaim;
use serde_json::{Value, json};

use crate::audit::{self, Request};
use crate::scene::Scene;

/// How soon it stands again (O-037).
const AT_ONCE: Duration = Duration::from_secs(1);

// Proves: O-037
#[rstest]
#[case::opened(Some(json!({ "spec": { "egress": [{}] } })))]
#[case::aimed_elsewhere(Some(json!({ "spec": { "podSelector": { "matchLabels": { "a": "b" } } } })))]
#[case::unlabelled(Some(json!({ "metadata": { "labels": null } })))]
#[case::deleted(None)]
#[tokio::test]
async fn the_baseline_policy_stands_again_within_a_second(#[case] edit: Option<Value>) -> Outcome {
    let scene = Scene::shared("baseline").await?;
    scene.claims("plain", Stage::Ready).await?;
    scene.bound("plain").await?;
    let name = "sandgate-baseline";
    let whole = |policy: &NetworkPolicy| json!([policy.spec, policy.metadata.labels]);
    let before: NetworkPolicy = scene.api().get(name).await?;
    let began = Instant::now();
    let policies = scene.api::<NetworkPolicy>();
    let edited = if let Some(edit) = edit {
        let patch = Patch::Merge(edit);
        let edited = policies
            .patch(name, &PatchParams::default(), &patch)
            .await?;
        assert_ne!(whole(&edited), whole(&before));
        edited.metadata.resource_version
    } else {
        policies.delete(name, &DeleteParams::default()).await?;
        before.metadata.resource_version.clone()
    };
    scene
        .becomes(name, "stands as before", |policy: &NetworkPolicy| {
            policy.metadata.resource_version != edited && whole(policy) == whole(&before)
        })
        .await?;
    assert!(began.elapsed() < AT_ONCE, "took {:?}", began.elapsed());
    Ok(())
}

// Proves: O-037, O-002
#[rstest]
#[case::opened(Some(json!({ "spec": { "egress": [{}] } })), "update")]
#[case::deleted(None, "create")]
#[tokio::test]
async fn the_baseline_policy_stands_again_within_a_second_for_a_pod_whose_claim_is_gone(
    #[case] edit: Option<Value>,
    #[case] verb: &str,
) -> Outcome {
    let scene = Scene::shared("left-behind").await?;
    scene.claims("gone", Stage::Lingering).await?;
    scene.bound("gone").await?;
    let pod = scene.names::<Pod>().await?.remove(0);
    let before = audit::of_controller(&scene).await?.len();
    let how = DeleteParams::default();
    scene.api::<SandboxClaim>().delete("gone", &how).await?;
    scene.vanishes::<SandboxClaim>("gone").await?;
    scene.vanishes::<NetworkPolicy>("gone-sandbox").await?;
    scene
        .becomes(&pod, "is terminating", |pod: &Pod| {
            pod.metadata.deletion_timestamp.is_some()
        })
        .await?;

    let name = "sandgate-baseline";
    let stood: NetworkPolicy = scene.api().get(name).await?;
    let began = Instant::now();
    match edit {
        Some(edit) => scene.merge::<NetworkPolicy>(name, edit).await?,
        None => drop(scene.api::<NetworkPolicy>().delete(name, &how).await?),
    }
    scene
        .becomes(name, "stands as before", |policy: &NetworkPolicy| {
            policy.metadata.resource_version != stood.metadata.resource_version
                && policy.spec == stood.spec
        })
        .await?;
    assert!(began.elapsed() < AT_ONCE, "took {:?}", began.elapsed());
    // And that is all that was written since the claim began to go.
    let asked = audit::of_controller(&scene).await?;
    let writes = asked.iter().skip(before).filter(|it| it.wrote());
    let writes: Vec<String> = writes.map(Request::sentence).collect();
    assert_eq!(writes, [format!("{verb} networkpolicies {name}")]);
    let end = json!({ "metadata": { "labels": { STAGE_LABEL: Stage::Ready.label() } } });
    scene.merge::<Pod>(&pod, end).await?;
    Ok(())
}

// Proves: O-037
#[tokio::test]
async fn a_foreign_policy_by_the_name_of_the_baseline_is_put_in_order_before_any_pod() -> Outcome {
    let scene = Scene::shared("reserved").await?;
    let theirs = json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": { "name": "sandgate-baseline" },
        "spec": { "podSelector": {}, "egress": [{}], "policyTypes": ["Egress"] },
    });
    scene.accepts(&theirs).await?;
    scene.claims("plain", Stage::Ready).await?;
    scene.bound("plain").await?;
    let asked = audit::of_controller(&scene).await?;
    // The admission is no object.
    let told = ["sandboxclaims/status", "events"];
    let mut objects = asked
        .iter()
        .filter(|it| it.wrote())
        .map(Request::sentence)
        .filter(|it| !told.iter().any(|told| it.contains(told)));
    let first = objects.next();
    assert_eq!(
        first.as_deref(),
        Some("update networkpolicies sandgate-baseline")
    );
    let policy = scene.get::<NetworkPolicy>("sandgate-baseline").await?;
    assert_eq!(
        policy["spec"],
        json!({
            "podSelector": { "matchLabels": { "omnia.altairalabs.ai/sandbox-pod": "true" } },
            "policyTypes": ["Ingress", "Egress"],
        })
    );
    Ok(())
}
