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

/// A Connection that holds browser sessions.
fn session(name: &str, further: &Value) -> Value {
    let session = json!({ "encryption": { "kmsProvider": "aws-kms", "keyID": "k" } });
    let credential = json!({ "kind": "browserSession", "browserSession": with(&session, further) });
    with(
        &connection(name),
        &json!({ "spec": { "credential": credential } }),
    )
}

/// A Connection that links accounts of a git host.
fn git_host(further: &Value) -> Value {
    let git_host = json!({
        "provider": "github",
        "oauth": { "clientID": "app", "clientSecretRef": { "name": "app" } },
        "encryption": { "kmsProvider": "aws-kms", "keyID": "k" },
    });
    let credential = json!({ "kind": "gitHost", "gitHost": with(&git_host, further) });
    with(
        &connection("new"),
        &json!({ "spec": { "credential": credential } }),
    )
}

fn attempts() -> Vec<Attempt> {
    let mut attempts = against_the_schema();
    attempts.extend(against_the_rules());
    attempts.extend(changes());
    attempts
}

fn against_the_rules() -> Vec<Attempt> {
    let new = |spec: Value| with(&connection("new"), &json!({ "spec": spec }));
    vec![
        created(
            "hosts that are none",
            new(json!({ "hosts": [
                "*.com", "10.0.0.1", "API.example.com", "api.example.com.", "api.example.com:443",
                "https://api.example.com", "localhost", format!("{}.example.com", "a".repeat(242)),
            ] })),
        ),
        created(
            "a Secret and its placement for nothing",
            new(json!({
                "credential": { "secretRef": { "name": "token" } },
                "placement": { "env": [{ "name": "GH_TOKEN", "key": "token" }] },
            })),
        ),
        created(
            "no Secret, and every placement wrong",
            new(json!({
                "credential": { "kind": "secret" },
                "placement": {
                    "env": [{ "name": "HOME", "key": "a" }, { "name": "https_proxy", "key": "b" }],
                    "files": [
                        { "path": "/etc/passwd", "key": "a" },
                        { "path": "a/../b", "key": "a" },
                        { "path": "none" },
                        { "path": "both", "key": "a", "template": "{{.a}}" },
                        { "path": "open", "template": "{{if .a}}\n  {{.b}}" },
                        { "path": "dashed", "template": "{{.git-credentials}}" },
                        { "path": "defined", "template": "{{define \"x\"}}{{end}}" },
                    ],
                },
            })),
        ),
        created(
            "settings of another kind",
            with(
                &session("new", &json!({})),
                &json!({ "spec": { "credential": { "kind": "gitHost" } } }),
            ),
        ),
        created(
            "pages with more than host and path",
            session(
                "new",
                &json!({
                    "signInURL": "http://api.example.com/login",
                    "signedOutWhen": { "urlPrefixes": [
                        "https://api.example.com:443/login",
                        "https://api.example.com/login?next=x",
                        "https://user@api.example.com/login",
                    ] },
                }),
            ),
        ),
        created("an OAuth app missing", git_host(&json!({ "oauth": null }))),
        created(
            "an OAuth app for tokens, whose web root is none",
            git_host(
                &json!({ "provider": "token", "oauth": { "baseURL": "http://git.example.com" } }),
            ),
        ),
    ]
}

fn changes() -> Vec<Attempt> {
    let session = |change: Value| json!({ "spec": { "credential": { "browserSession": change } } });
    vec![
        patched(
            "a session that becomes shared",
            TARGET,
            &["--type=merge"],
            &session(json!({ "scope": "shared" })),
        ),
        patched(
            "another key of another KMS",
            TARGET,
            &["--type=merge"],
            &session(json!({ "encryption": { "kmsProvider": "vault", "keyID": "other" } })),
        ),
        patched(
            "another kind",
            TARGET,
            &["--type=merge"],
            &json!({ "spec": { "credential": { "kind": "none", "browserSession": null } } }),
        ),
        patched(
            "the settings of a session removed",
            TARGET,
            &["--type=json"],
            &json!([{ "op": "remove", "path": "/spec/credential/browserSession" }]),
        ),
        patched(
            "a key that is null",
            TARGET,
            &["--type=json"],
            &json!([{ "op": "replace", "path": "/spec/credential/browserSession/encryption/keyID", "value": null }]),
        ),
    ]
}

fn against_the_schema() -> Vec<Attempt> {
    let new = |spec: Value| with(&connection("new"), &json!({ "spec": spec }));
    let standing = |spec: Value| with(&session("standing", &json!({})), &json!({ "spec": spec }));
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
            session("new", &json!({ "encryption": null })),
        ),
        created(
            "a key service that is none, and an empty key",
            session(
                "new",
                &json!({ "encryption": { "kmsProvider": "hsm", "keyID": "" } }),
            ),
        ),
        created(
            "a session of no scope",
            session(
                "new",
                &json!({ "scope": "everybody", "signInURL": "https://" }),
            ),
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

// Proves: W-002, W-024, W-025, T-059
#[tokio::test]
async fn kubectl_shows_why_a_connection_is_refused() -> Outcome {
    reads_as("connection", &session("standing", &json!({})), attempts()).await
}
