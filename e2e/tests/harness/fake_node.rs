//! Pods on the fake node, and the sentences that watch them.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::api::{DeleteParams, Patch, PatchParams};
use sandgate_e2e::fake_node::STAGE_LABEL;
use sandgate_e2e::{Cluster, Namespace, Outcome, Stage};
use serde_json::{Value, json};

fn deployment(name: &str) -> Value {
    let labels = json!({ "app": name });
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": name },
        "spec": {
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "main", "image": "example/app:1" }] },
            },
        },
    })
}

fn pod(stage: Stage) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": stage.label() },
        "spec": { "containers": [{ "name": "main", "image": stage.image() }] },
    })
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_deref());
    conditions
        .unwrap_or_default()
        .iter()
        .any(|it| it.type_ == "Ready" && it.status == "True")
}

fn container(pod: &Pod) -> Option<&ContainerStatus> {
    pod.status.as_ref()?.container_statuses.as_ref()?.first()
}

fn waits_for(pod: &Pod, reason: &str) -> bool {
    let waiting = container(pod).and_then(|it| it.state.as_ref()?.waiting.as_ref());
    waiting.is_some_and(|it| it.reason.as_deref() == Some(reason))
}

async fn relabel(namespace: &Namespace, name: &str, stage: Stage) -> Outcome {
    let patch = json!({ "metadata": { "labels": { STAGE_LABEL: stage.label() } } });
    let pods = namespace.api::<Pod>();
    pods.patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await?;
    Ok(())
}

#[tokio::test]
async fn a_fake_node_leads_each_pod_through_the_stage_its_image_names() -> Outcome {
    let cluster = Cluster::shared().await?;
    let namespace = cluster.namespace("stages").await?;
    for stage in Stage::ALL {
        namespace.accepts(&pod(stage)).await?;
    }
    let name = Stage::label;
    namespace
        .becomes(name(Stage::Ready), "is ready", is_ready)
        .await?;
    let lingering = namespace
        .becomes(name(Stage::Lingering), "is ready", is_ready)
        .await?;
    namespace
        .becomes(name(Stage::Late), "runs unready", |pod: &Pod| {
            !is_ready(pod) && container(pod).is_some()
        })
        .await?;
    namespace
        .becomes(name(Stage::Late), "is ready after all", is_ready)
        .await?;
    for (stage, reason) in [
        (Stage::ImagePullFailure, "ImagePullBackOff"),
        (Stage::ConfigError, "CreateContainerConfigError"),
        (Stage::CrashLoop, "CrashLoopBackOff"),
        (Stage::OutOfMemory, "CrashLoopBackOff"),
    ] {
        let sentence = format!("waits for {reason}");
        namespace
            .becomes(name(stage), &sentence, |pod| waits_for(pod, reason))
            .await?;
    }
    namespace
        .becomes(
            name(Stage::OutOfMemory),
            "was killed for its memory",
            |pod: &Pod| {
                let last =
                    container(pod).and_then(|it| it.last_state.as_ref()?.terminated.as_ref());
                last.is_some_and(|it| it.reason.as_deref() == Some("OOMKilled"))
            },
        )
        .await?;
    namespace
        .becomes(
            name(Stage::LostReadiness),
            "lost its readiness",
            |pod: &Pod| !is_ready(pod) && container(pod).is_some(),
        )
        .await?;
    namespace
        .becomes(name(Stage::Evicted), "was evicted", |pod: &Pod| {
            let status = pod.status.as_ref();
            status.is_some_and(|status| {
                status.phase.as_deref() == Some("Failed")
                    && status.reason.as_deref() == Some("Evicted")
            })
        })
        .await?;
    relabel(&namespace, name(Stage::LostReadiness), Stage::Ready).await?;
    namespace
        .becomes(name(Stage::LostReadiness), "recovers", is_ready)
        .await?;
    relabel(&namespace, name(Stage::NeverReady), Stage::Ready).await?;
    namespace
        .becomes(name(Stage::NeverReady), "is ready once it may", is_ready)
        .await?;

    let pods = namespace.api::<Pod>();
    for stage in [Stage::Lingering, Stage::Ready] {
        pods.delete(name(stage), &DeleteParams::default()).await?;
    }
    namespace.vanishes::<Pod>(name(Stage::Ready)).await?;
    let lingers = pods.get(name(Stage::Lingering)).await?;
    assert_eq!(lingers.metadata.uid, lingering.metadata.uid);
    assert!(lingers.metadata.deletion_timestamp.is_some() && is_ready(&lingers));
    relabel(&namespace, name(Stage::Lingering), Stage::Ready).await?;
    namespace.vanishes::<Pod>(name(Stage::Lingering)).await?;
    Ok(())
}

#[tokio::test]
async fn a_deployment_becomes_ready_and_a_second_one_of_its_name_is_rejected() -> Outcome {
    let cluster = Cluster::shared().await?;
    let namespace = cluster.namespace("deployments").await?;
    namespace.accepts(&deployment("web")).await?;
    namespace
        .becomes("web", "has a ready replica", |deployment: &Deployment| {
            deployment
                .status
                .as_ref()
                .and_then(|status| status.ready_replicas)
                == Some(1)
        })
        .await?;
    let twice = namespace.rejects(&deployment("web")).await?;
    assert_eq!(twice.reason, "AlreadyExists");
    let said = namespace
        .kubectl(&["get", "deployments", "-o", "name"], None)
        .await?;
    assert_eq!(said.stdout, "deployment.apps/web\n");
    Ok(())
}
