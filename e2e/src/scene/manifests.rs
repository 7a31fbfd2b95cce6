//! Manifests of what a test's namespace holds. Pure.

use serde_json::{Value, json};

use crate::fake_node::Stage;

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
    class_of(name, &stage.image(), fields)
}

/// A small class of this image, with `fields` laid over its spec.
pub fn class_of(name: &str, image: &str, fields: &Value) -> Value {
    let mut spec = json!({
        "image": image,
        "ports": [{ "name": "http", "port": 8080 }],
        "resources": { "limits": { "cpu": "10m", "memory": "16Mi" } },
    });
    lay_over(&mut spec, fields);
    json!({
        "apiVersion": API,
        "kind": "SandboxClass",
        "metadata": { "name": name },
        "spec": spec,
    })
}

/// The same class with a workspace, which a claim with mounts or a `targetPath` needs.
pub fn with_workspace(mut class: Value) -> Value {
    let workspace = json!({ "workspace": { "mountPath": "/workspace" } });
    json_patch::merge(&mut class, &json!({ "spec": { "filesystem": workspace } }));
    class
}

/// A workspace that owns `namespace`, with storage that no provisioner makes.
pub fn workspace(name: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": API,
        "kind": "Workspace",
        "metadata": { "name": name },
        "spec": {
            "namespace": { "name": namespace },
            "storage": { "enabled": true, "storageClass": "", "size": "1Gi" },
        },
    })
}

/// A volume that is kept for the content of a workspace, in a folder of the node.
pub fn content_volume(workspace: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": { "name": format!("content-of-{workspace}") },
        "spec": {
            "capacity": { "storage": "1Gi" },
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "",
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": { "namespace": namespace, "name": content_claim(workspace) },
            "hostPath": {
                "path": format!("/var/lib/sandgate-content/{workspace}"),
                "type": "DirectoryOrCreate",
            },
        },
    })
}

/// What the volume claim of a workspace's content is called.
pub fn content_claim(workspace: &str) -> String {
    format!("workspace-{workspace}-content")
}

/// The same class as one of the platform.
pub fn of_the_platform(mut class: Value) -> Value {
    lay_over(&mut class, &json!({ "kind": "ClusterSandboxClass" }));
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
    lay_over(&mut spec, fields);
    json!({
        "apiVersion": API,
        "kind": "SandboxClaim",
        "metadata": { "name": name },
        "spec": spec,
    })
}

/// A claim that signs somebody in to `connection`, which only the operator may make.
pub fn enrolment(name: &str, class: &str, connection: &str) -> Value {
    let fields = json!({
        "connections": [{ "role": "site", "connection": connection }],
        "enrolment": { "connection": connection },
    });
    let mut claim = claim_with(name, class, &fields);
    json_patch::merge(&mut claim, &json!({ "spec": { "agentRuntimeRef": null } }));
    claim
}

/// A Connection to a host, whose credential is [`secret`] of the same name.
pub fn connection(name: &str, placement: &Value) -> Value {
    json!({
        "apiVersion": API,
        "kind": "Connection",
        "metadata": { "name": name },
        "spec": {
            "hosts": ["github.com"],
            "credential": { "kind": "secret", "secretRef": { "name": format!("{name}-secret") } },
            "placement": placement,
        },
    })
}

/// A Connection that names hosts, has no credential and places nothing.
pub fn hosts(name: &str, hosts: &[&str]) -> Value {
    json!({
        "apiVersion": API,
        "kind": "Connection",
        "metadata": { "name": name },
        "spec": { "hosts": hosts, "credential": { "kind": "none" } },
    })
}

/// The Secret of a Connection; its value is at key `token`.
pub fn secret(connection: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": format!("{connection}-secret") },
        "stringData": { "token": value },
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

/// Each of `fields` takes the place of what `under` has by its name.
fn lay_over(under: &mut Value, fields: &Value) {
    if let (Some(under), Some(fields)) = (under.as_object_mut(), fields.as_object()) {
        under.extend(fields.clone());
    }
}
