//! Bad writes of a Connection.

use sandgate_e2e::Outcome;
use serde_json::{Value, json};

use super::{Attempt, applied, created, here, patched, reads_as, replaced, with};

const TARGET: [&str; 2] = ["connection", "standing"];

fn connection(name: &str) -> Value {
    json!({
        "apiVersion": "omnia.altairalabs.ai/v1alpha1",
        "kind": "Connection",
        "metadata": here(name),
        "spec": { "hosts": ["github.com"], "credential": { "kind": "none" } },
    })
}

fn attempts() -> Vec<Attempt> {
    let new = |spec: Value| with(&connection("new"), &json!({ "spec": spec }));
    let standing = |spec: Value| with(&connection("standing"), &json!({ "spec": spec }));
    let session = |further: Value| {
        let session = json!({ "encryption": { "kmsProvider": "local", "keyID": "k" } });
        new(json!({ "credential": {
            "kind": "browserSession",
            "browserSession": with(&session, &further),
        } }))
    };
    vec![
        created("no hosts", new(json!({ "hosts": [] }))),
        created(
            "thirty-three hosts",
            new(json!({ "hosts": (0..33).map(|it| format!("h{it}.com")).collect::<Vec<_>>() })),
        ),
        created(
            "a host twice",
            new(json!({ "hosts": ["github.com", "github.com"] })),
        ),
        created("no credential", new(json!({ "credential": null }))),
        created(
            "a credential of no kind, for a host too short",
            new(json!({ "hosts": ["a"], "credential": { "kind": "password" } })),
        ),
        created(
            "a session without encryption",
            session(json!({ "encryption": null })),
        ),
        created(
            "a key service that is none, and an empty key",
            session(json!({ "encryption": { "kmsProvider": "hsm", "keyID": "" } })),
        ),
        created(
            "a session of no scope",
            session(json!({ "scope": "everybody", "signInURL": "https://" })),
        ),
        created(
            "a git host of no kind, without its Secret",
            new(json!({ "credential": { "kind": "gitHost", "gitHost": {
                "provider": "bitbucket",
                "oauth": { "clientID": "id" },
                "encryption": { "kmsProvider": "local", "keyID": "k" },
            } } })),
        ),
        created(
            "a variable whose name is none, and a file twice",
            new(json!({ "placement": {
                "env": [{ "name": "GH-TOKEN=", "key": "token" }],
                "files": [{ "path": ".netrc", "key": "a" }, { "path": ".netrc", "key": "b" }],
            } })),
        ),
        replaced("no hosts any more", standing(json!({ "hosts": null }))),
        applied(
            "an unknown field by server-side apply",
            standing(json!({ "port": 443 })),
        ),
        patched(
            "an unknown kind by a merge patch",
            TARGET,
            &["--type=merge"],
            &json!({ "spec": { "credential": { "kind": "oauth" } } }),
        ),
        patched(
            "the last host removed by a JSON patch",
            TARGET,
            &["--type=json"],
            &json!([{ "op": "remove", "path": "/spec/hosts/0" }]),
        ),
    ]
}

// Proves: W-002
#[tokio::test]
async fn kubectl_shows_why_a_connection_is_refused() -> Outcome {
    reads_as("connection", &connection("standing"), attempts()).await
}
