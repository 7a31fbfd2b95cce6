//! Objects that are right, bent where a test wants them wrong, and who writes them.

use sandgate_shared::render::Installation;
use sandgate_shared::rules::Subject;
use serde_json::{Value, json};

/// A change of one place; parents that are missing are made.
#[derive(Clone, Debug)]
pub enum Bend {
    /// Sets what the pointer names.
    Set(&'static str, Value),
    /// Takes it out.
    Cut(&'static str),
}

pub fn set(pointer: &'static str, value: Value) -> Bend {
    Bend::Set(pointer, value)
}

pub fn cut(pointer: &'static str) -> Bend {
    Bend::Cut(pointer)
}

/// `object` with every bend applied.
pub fn bent(mut object: Value, bends: &[Bend]) -> Value {
    for bend in bends {
        match bend {
            Bend::Set(pointer, value) => *place(&mut object, pointer) = value.clone(),
            Bend::Cut(pointer) => {
                let (parent, name) = pointer.rsplit_once('/').unwrap();
                let parent = object.pointer_mut(parent).unwrap();
                let removed = parent.as_object_mut().unwrap().remove(name);
                assert!(removed.is_some(), "there is no {pointer} to cut");
            }
        }
    }
    object
}

fn place<'a>(mut here: &'a mut Value, pointer: &str) -> &'a mut Value {
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/");
        here = match here {
            Value::Array(items) => &mut items[step.parse::<usize>().unwrap()],
            other => &mut other[&step],
        };
    }
    here
}

/// An object of each kind that every rule admits, whoever writes it, as the API server stores it.
pub fn good(subject: Subject) -> Value {
    let (name, spec) = match subject {
        Subject::SandboxClaim => (
            "my-agent-sbx-7k2qp",
            json!({
                "agentRuntimeRef": {"name": "my-agent"},
                "classRef": {"name": "codegen", "kind": "SandboxClass"},
                "sessionID": "session-7",
                "handle": "codegen/default",
            }),
        ),
        Subject::SandboxClass | Subject::ClusterSandboxClass => (
            "codegen",
            json!({
                "image": "registry.example.org/codegen:1",
                "imagePullPolicy": "IfNotPresent",
                "ports": [{"name": "mcp", "port": 8080}],
                "trusted": false,
                "resources": {"limits": {"cpu": "1", "memory": "512Mi"}},
            }),
        ),
        Subject::Connection => (
            "github",
            json!({
                "hosts": ["github.com", "api.github.com"],
                "credential": {
                    "kind": "gitHost",
                    "gitHost": {
                        "provider": "github",
                        "oauth": {
                            "clientID": "Iv1.0123456789abcdef",
                            "clientSecretRef": {"name": "github-app", "key": "clientSecret"},
                        },
                        "encryption": {"kmsProvider": "aws-kms", "keyID": "alias/connections"},
                    },
                },
            }),
        ),
    };
    let mut object = json!({
        "apiVersion": "omnia.altairalabs.ai/v1alpha1",
        "kind": subject.kind(),
        "metadata": {
            "name": name,
            "uid": "8f1c7a52-6b5a-4a53-9c3e-0d5f6f1a2b3c",
            "resourceVersion": "41",
            "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": spec,
    });
    if subject != Subject::ClusterSandboxClass {
        object["metadata"]["namespace"] = json!("my-agents");
    }
    object
}

/// A person.
pub fn user() -> Value {
    json!({"username": "alice@example.org", "groups": ["team", "system:authenticated"]})
}

/// The operator, with all that its token shows.
pub fn operator() -> Value {
    let username = Installation::default().identity().username;
    let namespace = username.split(':').nth(2).unwrap();
    json!({
        "username": username,
        "uid": "0d9f6c1e-7b0e-4a51-9d0c-2f6a55a1c001",
        "groups": [
            "system:serviceaccounts",
            format!("system:serviceaccounts:{namespace}"),
            "system:authenticated",
        ],
        "extra": {
            "authentication.kubernetes.io/pod-name": ["sandgate-6c9d-abcde"],
            "authentication.kubernetes.io/node-name": ["node-1"],
        },
    })
}
