//! The objects that claims are measured with. Pure.

use sandgate_shared::names::{GROUP, VERSION};
use serde_json::{Value, json};

/// An object of ours.
pub fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/{VERSION}"),
        "kind": kind,
        "metadata": { "name": name },
        "spec": spec,
    })
}

/// A class with nothing special; pods of it become ready where nothing runs.
pub fn class() -> Value {
    object(
        "SandboxClass",
        "python",
        &spec("registry.example/python-tools:3.13"),
    )
}

/// The same for a node that runs pods: of `image`, which holds the probe, and is there already.
pub fn class_on_node(image: &str) -> Value {
    let mut spec = spec(image);
    let differs = json!({
        "imagePullPolicy": "Never",
        "args": ["/sandgate-probe", "serve", "--name", "sandbox", "--tcp", "8080"],
    });
    json_patch::merge(&mut spec, &differs);
    object("SandboxClass", "python", &spec)
}

/// The spec of a class of this image.
pub fn spec(image: &str) -> Value {
    json!({
        "image": image,
        "ports": [{ "name": "mcp", "port": 8080 }],
        // Small enough that the one node has room for all.
        "resources": {
            "requests": { "cpu": "1m", "memory": "1Mi" },
            "limits": { "cpu": "1", "memory": "512Mi" },
        },
    })
}

/// The runtime that asks for sandboxes.
pub fn runtime() -> Value {
    object(
        "AgentRuntime",
        "agent",
        &json!({ "sandbox": { "enabled": true } }),
    )
}

/// A claim that needs neither mounts nor Connections.
pub fn claim(name: &str) -> Value {
    let spec = json!({
        "agentRuntimeRef": { "name": "agent" },
        "classRef": { "kind": "SandboxClass", "name": "python" },
        "sessionID": format!("session-{name}"),
        "handle": "python/main",
    });
    object("SandboxClaim", name, &spec)
}

/// Label of the pods that no claim of ours asks for; its value is what they are called.
pub const APP: &str = "app";

/// What a user without an operator would write for a sandbox: a policy that lets nobody in or out, a Service
/// and a Deployment.
pub fn triple(name: &str) -> [Value; 3] {
    let pods = json!({ "matchLabels": { APP: name } });
    let object = |group: &str, kind: &str, spec: Value| {
        json!({
            "apiVersion": format!("{group}v1"),
            "kind": kind,
            "metadata": { "name": name },
            "spec": spec,
        })
    };
    [
        object(
            "networking.k8s.io/",
            "NetworkPolicy",
            json!({ "podSelector": pods, "policyTypes": ["Ingress", "Egress"] }),
        ),
        object(
            "",
            "Service",
            json!({ "selector": { APP: name }, "ports": [{ "name": "mcp", "port": 8080 }] }),
        ),
        object(
            "apps/",
            "Deployment",
            json!({ "selector": pods, "template": pod(name) }),
        ),
    ]
}

/// A sandbox of the operator that ours is measured beside, with a Service.
pub fn sandbox(name: &str) -> Value {
    json!({
        "apiVersion": "agents.x-k8s.io/v1beta1",
        "kind": "Sandbox",
        "metadata": { "name": name },
        "spec": { "service": true, "podTemplate": pod(name) },
    })
}

/// The pod of either.
fn pod(name: &str) -> Value {
    let class = spec("registry.example/python-tools:3.13");
    let of_class = |field: &str| class.get(field).cloned().unwrap_or_default();
    json!({
        "metadata": { "labels": { APP: name } },
        "spec": {
            "automountServiceAccountToken": false,
            "containers": [{
                "name": "sandbox",
                "image": of_class("image"),
                "ports": [{ "name": "mcp", "containerPort": 8080 }],
                "resources": of_class("resources"),
            }],
        },
    })
}
