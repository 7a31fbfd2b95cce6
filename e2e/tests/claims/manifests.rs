//! Manifests that many tests use. Pure.

use sandgate_e2e::Stage;
use serde_json::{Value, json};

/// Of Sandgate's own kinds.
pub const API: &str = "omnia.altairalabs.ai/v1alpha1";
/// The one runtime of a [`crate::scene::Scene`].
pub const RUNTIME: &str = "agent";

/// An agent runtime that may have sandboxes.
pub fn runtime(name: &str) -> Value {
    odd_runtime(name, &json!({ "sandbox": { "enabled": true } }))
}

/// An agent runtime with whatever spec.
pub fn odd_runtime(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": API,
        "kind": "AgentRuntime",
        "metadata": { "name": name },
        "spec": spec,
    })
}

/// A class whose pods go through `stage` on the fake node.
pub fn class(name: &str, stage: Stage) -> Value {
    class_with(name, stage, &json!({}))
}

/// The same, with `fields` laid over its spec.
pub fn class_with(name: &str, stage: Stage, fields: &Value) -> Value {
    let mut spec = json!({
        "image": stage.image(),
        "ports": [{ "name": "http", "port": 8080 }],
        "resources": { "limits": { "cpu": "10m", "memory": "16Mi" } },
    });
    for (name, value) in fields.as_object().unwrap() {
        spec[name] = value.clone();
    }
    json!({
        "apiVersion": API,
        "kind": "SandboxClass",
        "metadata": { "name": name },
        "spec": spec,
    })
}

/// The same class as one of the platform.
pub fn of_the_platform(mut class: Value) -> Value {
    class["kind"] = json!("ClusterSandboxClass");
    class
}

/// A plain claim on a class of its own namespace.
pub fn claim(name: &str, class: &str) -> Value {
    claim_with(name, class, &json!({}))
}

/// The same, with `fields` laid over its spec.
pub fn claim_with(name: &str, class: &str, fields: &Value) -> Value {
    let mut spec = json!({
        "agentRuntimeRef": { "name": RUNTIME },
        "classRef": { "name": class },
        "sessionID": format!("session-of-{name}"),
    });
    for (name, value) in fields.as_object().unwrap() {
        spec[name] = value.clone();
    }
    json!({
        "apiVersion": API,
        "kind": "SandboxClaim",
        "metadata": { "name": name },
        "spec": spec,
    })
}

/// A Service that selects `app: <name>`.
pub fn service(name: &str, ports: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": name },
        "spec": { "selector": { "app": name }, "ports": ports },
    })
}

/// A Deployment of no pods that nothing of ours knows.
pub fn deployment(name: &str) -> Value {
    let labels = json!({ "app": "somebody-elses" });
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": name },
        "spec": {
            "replicas": 0,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "main", "image": "example/app:1" }] },
            },
        },
    })
}
