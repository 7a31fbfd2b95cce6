//! Claims that get no sandbox, or not yet: names taken, refusals of the API server, missing proof.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, ResourceQuota, Service};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::DeleteParams;
use rstest::rstest;
use sandgate_e2e::{Outcome, Stage};
use sandgate_shared::api::SandboxClass;
use serde_json::{Value, json};

use crate::manifests::{self, claim_with};
use crate::scene::{Scene, condition, ready};

/// A policy of somebody else that takes no Deployment in the scene's namespace.
fn no_deployments(name: &str, namespace: &str, reason: &str) -> [Value; 2] {
    let api = "admissionregistration.k8s.io/v1";
    let rule = json!({
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["deployments"],
    });
    let there = json!({ "matchLabels": { "kubernetes.io/metadata.name": namespace } });
    [
        json!({
            "apiVersion": api,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": { "name": name },
            "spec": {
                "matchConstraints": { "resourceRules": [rule], "namespaceSelector": there },
                "validations": [{
                    "expression": "false",
                    "message": "no workloads on a Friday",
                    "reason": reason,
                }],
            },
        }),
        json!({
            "apiVersion": api,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": { "name": name },
            "spec": { "policyName": name, "validationActions": ["Deny"] },
        }),
    ]
}

// Proves: C-007, C-029, C-032, C-035
#[rstest]
#[case::forbidden("Forbidden")]
#[case::invalid("Invalid")]
#[tokio::test]
async fn an_object_the_api_server_refuses_fails_the_claim_with_the_servers_own_words(
    #[case] reason: &str,
) -> Outcome {
    let scene = Scene::shared("friday").await?;
    let name = format!("friday-{}", scene.name());
    let foreign = no_deployments(&name, scene.name(), reason);
    for manifest in &foreign {
        scene.accepts(manifest).await?;
    }
    until_refused(&scene, &manifests::deployment("somebody-elses")).await?;
    scene.claims("refused", Stage::Ready).await?;
    let failed = scene.failed("refused", "SandboxRejected").await?;
    let said = ready(&failed).1;
    assert!(said.contains("no workloads on a Friday"), "{said}");
    assert!(said.contains("Deployment"), "{said}");
    assert_eq!(condition(&failed, "Stalled").unwrap().0, "True");
    scene.vanishes::<Service>("refused-sandbox").await?;
    scene.vanishes::<NetworkPolicy>("refused-sandbox").await?;
    scene.get::<NetworkPolicy>("sandgate-baseline").await?;

    for manifest in &foreign {
        let api = scene.api_of(manifest).await?;
        api.delete(&name, &DeleteParams::default()).await?;
    }
    Ok(())
}

// Proves: C-035
#[tokio::test]
async fn a_claim_that_fails_while_its_pod_stands_keeps_its_policy_until_the_pod_is_gone() -> Outcome
{
    let scene = Scene::shared("fails").await?;
    scene.claims("fails", Stage::NeverReady).await?;
    let starting = |deployment: &Deployment| {
        deployment
            .status
            .as_ref()
            .is_some_and(|status| status.replicas == Some(1))
    };
    scene
        .becomes("fails-sandbox", "has a pod", starting)
        .await?;
    let pod = scene.names::<Pod>().await?.remove(0);
    let held = json!({ "metadata": { "finalizers": ["sandgate.dev/held"] } });
    scene.merge::<Pod>(&pod, held).await?;

    // Its class gone before the first bind, a claim fails at the next look at it.
    let classes = scene.api::<SandboxClass>();
    classes.delete("fails", &DeleteParams::default()).await?;
    scene.failed("fails", "ClassNotFound").await?;
    scene.vanishes::<Deployment>("fails-sandbox").await?;
    scene
        .becomes(&pod, "is terminating", |pod: &Pod| {
            pod.metadata.deletion_timestamp.is_some()
        })
        .await?;
    // A claim made and bound meanwhile: all that was to be deleted now is.
    scene.claims("after", Stage::Ready).await?;
    scene.bound("after").await?;
    scene.get::<Service>("fails-sandbox").await?;
    scene.get::<NetworkPolicy>("fails-sandbox").await?;

    scene
        .merge::<Pod>(&pod, json!({ "metadata": { "finalizers": null } }))
        .await?;
    scene.vanishes::<Pod>(&pod).await?;
    scene.vanishes::<Service>("fails-sandbox").await?;
    scene.vanishes::<NetworkPolicy>("fails-sandbox").await?;
    Ok(())
}

/// A policy takes effect a moment after it is written, and no event tells when.
async fn until_refused(scene: &Scene, manifest: &Value) -> Outcome {
    let mut turn = tokio::time::interval(Duration::from_millis(50));
    let refused = async {
        loop {
            turn.tick().await;
            if scene.would_reject(manifest).await.is_ok() {
                return;
            }
        }
    };
    tokio::time::timeout(sandgate_e2e::namespace::DEADLINE, refused).await?;
    Ok(())
}

async fn quota(scene: &Scene, hard: Value) -> Outcome {
    scene
        .accepts(&json!({
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": { "name": "small" },
            "spec": { "hard": hard },
        }))
        .await?;
    scene
        .becomes("small", "is counted", |quota: &ResourceQuota| {
            quota
                .status
                .as_ref()
                .is_some_and(|status| status.used.is_some())
        })
        .await?;
    Ok(())
}

// Proves: C-032
#[tokio::test]
async fn an_exhausted_quota_for_deployments_delays_a_claim_and_ends_none() -> Outcome {
    let scene = Scene::shared("quota").await?;
    quota(&scene, json!({ "count/deployments.apps": "0" })).await?;
    scene.claims("delayed", Stage::Ready).await?;
    let waits = scene.pending("delayed", "WriteRetried").await?;
    assert!(
        ready(&waits).1.contains("exceeded quota: small"),
        "{}",
        ready(&waits).1
    );
    let more = json!({ "spec": { "hard": { "count/deployments.apps": "1" } } });
    scene.merge::<ResourceQuota>("small", more).await?;
    scene.bound("delayed").await?;
    Ok(())
}

// Proves: C-018, C-029, C-032
#[tokio::test]
async fn an_exhausted_quota_for_pods_is_told_on_the_claim_in_the_servers_words() -> Outcome {
    let scene = Scene::shared("pods").await?;
    quota(&scene, json!({ "pods": "0" })).await?;
    scene.claims("delayed", Stage::Ready).await?;
    let waits = scene.pending("delayed", "PodRefused").await?;
    assert!(
        ready(&waits).1.contains("exceeded quota: small"),
        "{}",
        ready(&waits).1
    );
    let more = json!({ "spec": { "hard": { "pods": "1" } } });
    scene.merge::<ResourceQuota>("small", more).await?;
    scene.bound("delayed").await?;
    Ok(())
}

// Proves: C-005, C-029
#[tokio::test]
async fn a_claim_that_mounts_fails_on_a_class_without_a_workspace() -> Outcome {
    let scene = Scene::shared("mounts").await?;
    scene
        .accepts(&manifests::class("plain", Stage::Ready))
        .await?;
    let scratch = json!({ "mounts": [{ "role": "scratch" }] });
    scene
        .user()
        .accepts(&claim_with("mounting", "plain", &scratch))
        .await?;
    let failed = scene.failed("mounting", "WorkspaceNotSupported").await?;
    assert!(ready(&failed).1.contains("filesystem.workspace"));
    assert_eq!(scene.names::<Deployment>().await?, Vec::<String>::new());
    Ok(())
}
