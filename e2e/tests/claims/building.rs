//! The objects of a claim, as they stand on the API server, and the pod made of them.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::{DeleteParams, ListParams};
use sandgate_e2e::{Outcome, Stage};
use sandgate_shared::api::SandboxClaim;
use sandgate_shared::names::CLAIM_NAME_MAX;
use serde_json::{Value, json};

use crate::manifests::{self, RUNTIME, class_with};
use crate::scene::{Scene, ready, uid};

fn selector(claim: &SandboxClaim) -> Value {
    let name = claim.metadata.name.clone().unwrap();
    json!({
        "omnia.altairalabs.ai/sandbox-session": claim.spec.session_id,
        "omnia.altairalabs.ai/sandbox-claim": name,
        "omnia.altairalabs.ai/sandbox-claim-uid": uid(claim),
    })
}

/// Takes a field out of `object`, so that the rest can be compared whole.
fn take(object: &mut Value, pointer: &str) -> Value {
    object.pointer_mut(pointer).unwrap().take()
}

// Proves: O-001, O-002, O-004, O-005, O-013, O-022, O-023
#[tokio::test]
async fn a_claim_owns_one_deployment_one_service_and_one_policy_that_select_its_pod_alone()
-> Outcome {
    let scene = Scene::shared("owned").await?;
    scene
        .accepts(&manifests::class("box", Stage::Ready))
        .await?;
    // Two claims of one session: the session alone does not tell their pods apart.
    for name in ["one", "two"] {
        let session = json!({ "sessionID": "shared" });
        let claim = manifests::claim_with(name, "box", &session);
        scene.user().accepts(&claim).await?;
    }
    scene.bound("two").await?;
    let claim = scene.bound("one").await?;
    let both = ["one-sandbox", "two-sandbox"];
    assert_eq!(scene.names::<Deployment>().await?, both);
    assert_eq!(scene.names::<Service>().await?, both);
    let policies = scene.names::<NetworkPolicy>().await?;
    assert_eq!(
        policies,
        ["one-sandbox", "sandgate-baseline", "two-sandbox"]
    );

    let owner = json!([{
        "apiVersion": manifests::API,
        "kind": "SandboxClaim",
        "name": "one",
        "uid": uid(&claim),
        "controller": true,
        "blockOwnerDeletion": true,
    }]);
    let deployment = scene.get::<Deployment>("one-sandbox").await?;
    let service = scene.get::<Service>("one-sandbox").await?;
    let policy = scene.get::<NetworkPolicy>("one-sandbox").await?;
    for object in [&deployment, &service, &policy] {
        assert_eq!(object["metadata"]["ownerReferences"], owner);
    }
    assert_eq!(
        deployment["spec"]["selector"],
        json!({ "matchLabels": selector(&claim) })
    );
    assert_eq!(service["spec"]["selector"], selector(&claim));
    assert_eq!(
        service["spec"]["ports"],
        json!([{ "name": "http", "port": 8080, "targetPort": 8080, "protocol": "TCP" }])
    );
    assert_eq!(service["spec"]["type"], "ClusterIP");
    assert_eq!(
        policy["spec"],
        json!({
            "podSelector": { "matchLabels": selector(&claim) },
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{
                "from": [{ "podSelector": {
                    "matchLabels": { "omnia.altairalabs.ai/agent-runtime": RUNTIME },
                } }],
                "ports": [{ "port": 8080, "protocol": "TCP" }],
            }],
        })
    );

    let labels: BTreeMap<String, String> = serde_json::from_value(selector(&claim))?;
    let labels: Vec<String> = labels
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let chosen = ListParams::default().labels(&labels.join(","));
    let pods = scene.api::<Pod>().list(&chosen).await?.items;
    assert_eq!(pods.len(), 1);
    let baseline = scene.get::<NetworkPolicy>("sandgate-baseline").await?;
    assert_eq!(
        baseline["spec"],
        json!({
            "podSelector": { "matchLabels": { "omnia.altairalabs.ai/sandbox-pod": "true" } },
            "policyTypes": ["Ingress", "Egress"],
        })
    );
    assert_eq!(baseline["metadata"]["ownerReferences"], Value::Null);
    let shut = ListParams::default().labels("omnia.altairalabs.ai/sandbox-pod=true");
    assert_eq!(scene.api::<Pod>().list(&shut).await?.items.len(), 2);
    Ok(())
}

/// All that a class can say about a pod without a workspace.
fn everything(toleration: &Value, runtime_class: &str) -> Value {
    json!({
        "imagePullPolicy": "Always",
        "args": ["-addr=:8080", "-v"],
        "env": [{ "name": "HOME", "value": "/cache" }, { "name": "EMPTY" }],
        "ports": [{ "name": "http", "port": 8080 }, { "name": "tools", "port": 9229 }],
        "readiness": { "port": "tools", "httpGet": { "path": "/ready" } },
        "filesystem": {
            "readOnlyRoot": true,
            "scratch": [
                { "name": "cache", "mountPath": "/cache", "sizeLimit": "64Mi" },
                { "name": "fast", "mountPath": "/fast", "sizeLimit": "8Mi", "medium": "Memory" },
            ],
        },
        "resources": {
            "requests": { "cpu": "5m", "memory": "8Mi" },
            "limits": { "cpu": "10m", "memory": "16Mi" },
        },
        "runtimeClassName": runtime_class,
        "nodeSelector": { "kubernetes.io/hostname": "fake-node" },
        "tolerations": [toleration],
    })
}

/// The container that a class with [`everything`] stands for, as the API server completes it.
fn container_as_written() -> Value {
    json!([{
        "name": "sandbox",
        "image": Stage::Ready.image(),
        "imagePullPolicy": "Always",
        "args": ["-addr=:8080", "-v"],
        "env": [{ "name": "HOME", "value": "/cache" }, { "name": "EMPTY" }],
        "ports": [
            { "name": "http", "containerPort": 8080, "protocol": "TCP" },
            { "name": "tools", "containerPort": 9229, "protocol": "TCP" },
        ],
        "readinessProbe": {
            "httpGet": { "path": "/ready", "port": 9229, "scheme": "HTTP" },
            "periodSeconds": 1,
            "failureThreshold": 10,
            "successThreshold": 1,
            "timeoutSeconds": 1,
        },
        "resources": {
            "requests": { "cpu": "5m", "memory": "8Mi" },
            "limits": { "cpu": "10m", "memory": "16Mi" },
        },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": { "drop": ["ALL"] },
            "readOnlyRootFilesystem": true,
        },
        "volumeMounts": [
            { "name": "cache", "mountPath": "/cache" },
            { "name": "fast", "mountPath": "/fast" },
        ],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }])
}

// Proves: O-006, O-007, O-008, O-009, O-011, O-012, O-013, O-014, O-015, O-016, O-017, O-020, O-035, O-036
#[tokio::test]
async fn a_pod_runs_what_its_class_says_and_a_restricted_namespace_admits_it() -> Outcome {
    let scene = Scene::shared("pod").await?;
    let toleration = json!({ "key": "dedicated", "operator": "Exists", "effect": "NoSchedule" });
    // Cluster-wide, hence named after the namespace.
    let isolated = format!("isolated-{}", scene.name());
    let runtime_class = json!({
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": { "name": isolated },
        "handler": "isolated",
    });
    scene.accepts(&runtime_class).await?;
    let class = class_with("full", Stage::Ready, &everything(&toleration, &isolated));
    scene.claims_class("full", &class).await?;
    let claim = scene.bound("full").await?;

    let deployment = scene.get::<Deployment>("full-sandbox").await?;
    let spec = &deployment["spec"];
    assert_eq!(spec["replicas"], 1);
    assert_eq!(spec["strategy"], json!({ "type": "Recreate" }));
    assert_eq!(spec["revisionHistoryLimit"], 1);

    let mut pod = serde_json::to_value(scene.api::<Pod>().list(&ListParams::default()).await?)?;
    let mut pod = pod["items"][0].take();
    for (label, value) in selector(&claim).as_object().unwrap() {
        assert_eq!(pod["metadata"]["labels"][label], *value);
    }
    assert_eq!(
        pod["metadata"]["labels"]["omnia.altairalabs.ai/sandbox-pod"],
        "true"
    );
    assert_eq!(take(&mut pod, "/spec/containers"), container_as_written());
    let tolerations = take(&mut pod, "/spec/tolerations");
    assert!(tolerations.as_array().unwrap().contains(&toleration));
    assert_eq!(
        take(&mut pod, "/spec"),
        json!({
            "containers": null,
            "tolerations": null,
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "securityContext": {
                "runAsNonRoot": true,
                "seccompProfile": { "type": "RuntimeDefault" },
            },
            "volumes": [
                { "name": "cache", "emptyDir": { "sizeLimit": "64Mi" } },
                { "name": "fast", "emptyDir": { "sizeLimit": "8Mi", "medium": "Memory" } },
            ],
            "runtimeClassName": isolated,
            "nodeSelector": { "kubernetes.io/hostname": "fake-node" },
            // From here on what the API server and the scheduler fill in.
            "nodeName": "fake-node",
            "dnsPolicy": "ClusterFirst",
            "preemptionPolicy": "PreemptLowerPriority",
            "priority": 0,
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "serviceAccount": "default",
            "serviceAccountName": "default",
            "terminationGracePeriodSeconds": 30,
        })
    );
    let classes = scene.api_of(&runtime_class).await?;
    classes.delete(&isolated, &DeleteParams::default()).await?;
    Ok(())
}

// Proves: O-003, O-017
#[tokio::test]
async fn a_claim_of_the_longest_name_is_bound_and_one_of_an_unknown_runtime_class_waits() -> Outcome
{
    let scene = Scene::shared("longest").await?;
    let name = "n".repeat(CLAIM_NAME_MAX);
    scene
        .accepts(&manifests::class("box", Stage::Ready))
        .await?;
    let session = json!({ "sessionID": "s".repeat(63) });
    let claim = manifests::claim_with(&name, "box", &session);
    scene.user().accepts(&claim).await?;
    scene.bound(&name).await?;
    let service = scene.names::<Service>().await?;
    assert_eq!(service, [format!("{name}-sandbox")]);
    assert_eq!(service[0].len(), 63);

    let unknown = json!({ "runtimeClassName": "nobody-knows-it" });
    let class = class_with("unknown", Stage::Ready, &unknown);
    scene.claims_class("unknown", &class).await?;
    let waits = scene.pending("unknown", "PodRefused").await?;
    let said = ready(&waits).1;
    assert!(said.contains("nobody-knows-it"), "{said}");
    Ok(())
}

// Proves: O-011, O-014, O-016
#[tokio::test]
async fn a_trusted_class_without_limits_gets_those_of_the_namespace_and_a_tcp_probe() -> Outcome {
    let scene = Scene::shared("trusted").await?;
    let limits = json!({
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": { "name": "limits" },
        "spec": { "limits": [{
            "type": "Container",
            "default": { "cpu": "20m" },
            "defaultRequest": { "cpu": "10m" },
        }] },
    });
    scene.accepts(&limits).await?;
    let fields = json!({ "trusted": true, "resources": {} });
    let class = class_with("trusted", Stage::Ready, &fields);
    scene.claims_class("trusted", &class).await?;
    scene.bound("trusted").await?;
    let deployment = scene.get::<Deployment>("trusted-sandbox").await?;
    let written = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(written["resources"], json!({}));
    assert_eq!(
        written["readinessProbe"]["tcpSocket"],
        json!({ "port": 8080 })
    );
    assert_eq!(written["securityContext"]["readOnlyRootFilesystem"], false);
    let pods = scene.api::<Pod>().list(&ListParams::default()).await?;
    let pod = serde_json::to_value(&pods.items[0])?;
    let given = json!({ "limits": { "cpu": "20m" }, "requests": { "cpu": "10m" } });
    assert_eq!(pod["spec"]["containers"][0]["resources"], given);
    Ok(())
}
