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
