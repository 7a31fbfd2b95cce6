//! The objects that claims are measured with. Pure.

use sandgate_shared::names::{GROUP, VERSION};
use serde_json::{Value, json};

fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/{VERSION}"),
        "kind": kind,
        "metadata": { "name": name },
        "spec": spec,
    })
}

/// A class with nothing special.
pub fn class() -> Value {
    let spec = json!({
        "image": "registry.example/python-tools:3.13",
        "ports": [{ "name": "mcp", "port": 8080 }],
        // Small enough that the one node has room for all.
        "resources": {
            "requests": { "cpu": "1m", "memory": "1Mi" },
            "limits": { "cpu": "1", "memory": "512Mi" },
        },
    });
    object("SandboxClass", "python", &spec)
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
