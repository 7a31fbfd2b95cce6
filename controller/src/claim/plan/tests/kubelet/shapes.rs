//! Pods as a real kubelet, a container runtime and the cluster's controllers describe them.

use serde_json::{Value, json};

use crate::claim::observed::ObservedPod;

pub(super) const SCHEDULED: &str = "2026-11-20T10:00:00Z";
pub(super) const IMAGE: &str = "sandgate.local/tool:1";

/// A pod with this status, as the API server returns it.
pub(super) fn pod(metadata: &Value, status: &Value) -> ObservedPod {
    let mut whole = json!({
        "name": "my-agent-sbx-7k2qp-sandbox-5d8f6c9b7d-x2x4z",
        "uid": "5d1f3a52-0e5b-4a55-8a44-1f0e5d8d8a61",
        "creationTimestamp": SCHEDULED,
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "x",
            "uid": "uid-replica-set", "controller": true, "blockOwnerDeletion": true}],
    });
    for (key, value) in metadata.as_object().into_iter().flatten() {
        whole[key] = value.clone();
    }
    let pod = json!({"metadata": whole, "status": status});
    ObservedPod::read(&serde_json::from_value(pod).unwrap())
}

/// Conditions of a pod that its node runs, `Ready` since `since` for what `ready` and `containers` say.
pub(super) fn conditions(ready: &str, containers: &str, since: &str) -> Value {
    let unready = json!({"reason": "ContainersNotReady",
        "message": "containers with unready status: [sandbox]"});
    let condition = |kind: &str, status: &str, why: &Value| {
        let mut condition = json!({"type": kind, "status": status, "lastProbeTime": null,
            "lastTransitionTime": since, "observedGeneration": 1});
        for (key, value) in why.as_object().into_iter().flatten() {
            condition[key] = value.clone();
        }
        condition
    };
    let why = if containers == "True" {
        &Value::Null
    } else {
        &unready
    };
    json!([
        condition("PodReadyToStartContainers", "True", &Value::Null),
        condition("Initialized", "True", &Value::Null),
        condition("Ready", ready, why),
        condition("ContainersReady", containers, why),
        condition("PodScheduled", "True", &Value::Null),
    ])
}

pub(super) fn container(state: &Value, last: &Value, restarts: u32) -> Value {
    json!({
        "name": "sandbox", "image": IMAGE, "imageID": "", "ready": false, "started": false,
        "restartCount": restarts, "state": state, "lastState": last,
    })
}

/// A pod that its node runs and that is not ready, of this one container.
pub(super) fn unready(state: &Value, last: &Value, restarts: u32) -> ObservedPod {
    let phase = if restarts == 0 && state.get("waiting").is_some() {
        "Pending"
    } else {
        "Running"
    };
    let status = json!({
        "phase": phase, "qosClass": "Burstable", "startTime": SCHEDULED,
        "conditions": conditions("False", "False", SCHEDULED),
        "containerStatuses": [container(state, last, restarts)],
    });
    pod(&Value::Null, &status)
}

pub(super) fn waiting(reason: &str, message: &str) -> Value {
    json!({"waiting": {"reason": reason, "message": message}})
}

pub(super) fn terminated(reason: &str, code: i32, message: &str) -> Value {
    json!({"terminated": {"reason": reason, "exitCode": code, "message": message,
        "startedAt": "2026-11-20T10:00:01Z", "finishedAt": "2026-11-20T10:00:05Z",
        "containerID": "containerd://6c1b"}})
}

pub(super) fn running(since: &str) -> Value {
    json!({"running": {"startedAt": since}})
}

pub(super) const POD: &str = "(pod: \"my-agent-sbx-7k2qp-sandbox-5d8f6c9b7d-x2x4z_my-agents(5d1f3a52-0e5b-4a55-8a44-1f0e5d8d8a61)\", container: sandbox)";
pub(super) const NOT_FOUND: &str = "rpc error: code = NotFound desc = failed to pull and unpack image \"sandgate.local/tool:1\": failed to resolve image: sandgate.local/tool:1: not found";
pub(super) const NO_PROGRAM: &str = "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: exec: \"/tool\": stat /tool: no such file or directory: unknown";

pub(super) fn failed(reason: &str, message: &str) -> ObservedPod {
    let mut conditions = conditions("False", "False", SCHEDULED);
    conditions.as_array_mut().unwrap().push(json!({
        "type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet",
        "message": message, "lastTransitionTime": SCHEDULED,
    }));
    let status = json!({
        "phase": "Failed", "reason": reason, "message": message, "startTime": SCHEDULED,
        "conditions": conditions,
        "containerStatuses": [container(&terminated("Error", 137, ""), &json!({}), 0)],
    });
    pod(&Value::Null, &status)
}

pub(super) fn refused(reason: &str, message: &str) -> ObservedPod {
    let message = format!("Pod was rejected: {message}");
    let status = json!({"phase": "Failed", "reason": reason, "message": message,
        "startTime": SCHEDULED, "qosClass": "Burstable"});
    pod(&Value::Null, &status)
}

pub(super) fn deleted(by: &str, message: &str) -> ObservedPod {
    let mut conditions = conditions("True", "True", SCHEDULED);
    conditions.as_array_mut().unwrap().push(json!({
        "type": "DisruptionTarget", "status": "True", "reason": by, "message": message,
        "lastTransitionTime": SCHEDULED,
    }));
    let mut runs = container(&running(SCHEDULED), &json!({}), 0);
    runs["ready"] = json!(true);
    let status = json!({"phase": "Running", "conditions": conditions, "containerStatuses": [runs]});
    pod(
        &json!({"deletionTimestamp": SCHEDULED, "deletionGracePeriodSeconds": 30}),
        &status,
    )
}

/// A pod whose one container runs since 10:00:10 and which is unready since `since`.
pub(super) fn runs_unready(
    ready: &str,
    containers: &str,
    since: &str,
    last: &Value,
) -> ObservedPod {
    let mut runs = container(&running("2026-11-20T10:00:10Z"), last, 1);
    runs["started"] = json!(true);
    runs["ready"] = json!(containers == "True");
    let conditions = conditions(ready, containers, since);
    pod(
        &Value::Null,
        &json!({"phase": "Running", "conditions": conditions, "containerStatuses": [runs]}),
    )
}

/// A pod that somebody's webhook gave a container that initialises it.
pub(super) fn initialised(first: &Value, state: &Value, ready: bool) -> ObservedPod {
    let mut init = container(first, &json!({}), 0);
    init["name"] = json!("mesh-init");
    init["ready"] = json!(first.pointer("/terminated/exitCode") == Some(&json!(0)));
    let mut main = container(state, &json!({}), 0);
    main["ready"] = json!(ready);
    let said = if ready { "True" } else { "False" };
    pod(
        &Value::Null,
        &json!({"phase": "Pending", "conditions": conditions(said, said, SCHEDULED),
            "initContainerStatuses": [init], "containerStatuses": [main]}),
    )
}
