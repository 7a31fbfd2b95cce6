//! Bad writes of a class, the same for both kinds.

use sandgate_e2e::Outcome;
use serde_json::{Value, json};

use super::{Attempt, PLACE, created, here, patched, reads_as, replaced, sent, with};

fn class(kind: &str, name: &str) -> Value {
    let metadata = match kind {
        "SandboxClass" => here(name),
        _ => json!({ "name": format!("{PLACE}-{name}") }),
    };
    json!({
        "apiVersion": "omnia.altairalabs.ai/v1alpha1",
        "kind": kind,
        "metadata": metadata,
        "spec": {
            "image": "registry.example/codegen:1",
            "ports": [{ "name": "mcp", "port": 8080 }, { "name": "view", "port": 6080 }],
            "resources": { "limits": { "cpu": "1", "memory": "512Mi" } },
        },
    })
}

fn attempts(kind: &'static str) -> Vec<Attempt> {
    let new = |spec: Value| with(&class(kind, "new"), &json!({ "spec": spec }));
    let standing = |spec: Value| with(&class(kind, "standing"), &json!({ "spec": spec }));
    let resource = kind.to_lowercase();
    let name = match kind {
        "SandboxClass" => "standing".to_owned(),
        _ => format!("{PLACE}-standing"),
    };
    let target = [resource.as_str(), name.as_str()];
    vec![
        created("no limits", new(json!({ "resources": null }))),
        created(
            "a cpu limit only",
            new(json!({ "resources": { "limits": { "memory": null } } })),
        ),
        created(
            "an empty image, and no ports",
            new(json!({ "image": "", "ports": [] })),
        ),
        created(
            "ports that are wrong in four ways",
            new(json!({ "ports": [
                { "name": "MCP", "port": 8080 },
                { "name": "view", "port": 8080 },
                { "name": "view", "port": 70_000 },
            ] })),
        ),
        created(
            "nine ports",
            new(json!({ "ports": (1..10)
                .map(|port| json!({ "name": format!("p{port}"), "port": port }))
                .collect::<Vec<_>>() })),
        ),
        created(
            "a limit that is no quantity",
            new(json!({ "resources": { "limits": { "cpu": "one" } } })),
        ),
        created(
            "dynamic resource claims",
            new(json!({ "resources": { "claims": [{ "name": "gpu" }] } })),
        ),
        created(
            "a variable from a Secret",
            new(json!({ "env": [{
                "name": "TOKEN",
                "valueFrom": { "secretKeyRef": { "name": "s", "key": "k" } },
            }] })),
        ),
        created(
            "a variable whose name is none, and a pull policy that is none",
            new(
                json!({ "env": [{ "name": "1ST", "value": "x" }], "imagePullPolicy": "Sometimes" }),
            ),
        ),
        created(
            "an image that is a list",
            new(json!({ "image": ["a", "b"] })),
        ),
        replaced(
            "a port renumbered",
            standing(json!({ "ports": [
            { "name": "mcp", "port": 8081 }, { "name": "view", "port": 6080 },
        ] })),
        ),
        sent(
            "ports reordered by server-side apply",
            &["apply", "--server-side", "--force-conflicts"],
            standing(json!({ "ports": [
            { "name": "view", "port": 6080 }, { "name": "mcp", "port": 8080 },
        ] })),
        ),
        sent(
            "limits dropped by replace",
            &["replace"],
            standing(json!({ "resources": null })),
        ),
        patched(
            "a workspace added by a merge patch",
            target,
            &["--type=merge"],
            &json!({ "spec": { "filesystem": { "workspace": { "mountPath": "/workspace" } } } }),
        ),
        patched(
            "a port removed by a JSON patch",
            target,
            &["--type=json"],
            &json!([{ "op": "remove", "path": "/spec/ports/1" }]),
        ),
    ]
}

// Proves: W-002, W-021, W-022
#[tokio::test]
async fn kubectl_shows_why_a_class_is_refused() -> Outcome {
    let kind = "SandboxClass";
    reads_as("sandbox-class", &class(kind, "standing"), attempts(kind)).await
}

// Proves: W-002, W-021, W-022
#[tokio::test]
async fn kubectl_shows_why_a_cluster_wide_class_is_refused() -> Outcome {
    let kind = "ClusterSandboxClass";
    let standing = class(kind, "standing");
    reads_as("cluster-sandbox-class", &standing, attempts(kind)).await
}
