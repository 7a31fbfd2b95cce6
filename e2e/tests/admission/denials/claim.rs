//! Bad writes of a claim.

use sandgate_e2e::Outcome;
use serde_json::{Value, json};

use super::{Attempt, applied, created, here, patched, reads_as, replaced, sent, with};

const AS_A_USER: [&str; 4] = ["--as", "alice", "--as-group", "sandgate.dev/editors"];
const TARGET: [&str; 2] = ["sandboxclaim", "standing"];

fn claim(name: &str) -> Value {
    json!({
        "apiVersion": "omnia.altairalabs.ai/v1alpha1",
        "kind": "SandboxClaim",
        "metadata": here(name),
        "spec": {
            "agentRuntimeRef": { "name": "my-agent" },
            "classRef": { "name": "codegen-default", "kind": "ClusterSandboxClass" },
            "sessionID": "session-7",
            "handle": "codegen/default",
        },
    })
}

fn attempts() -> Vec<Attempt> {
    let new = |spec: Value| with(&claim("new"), &json!({ "spec": spec }));
    let standing = |spec: Value| with(&claim("standing"), &json!({ "spec": spec }));
    let project = json!({ "role": "project", "id": "checkout", "path": "a/b" });
    let create_as_a_user = [["create"].as_slice(), &AS_A_USER].concat();
    let mut attempts = vec![
        created(
            "no runtime, and a handle that is none",
            new(json!({ "agentRuntimeRef": null, "handle": "codegen" })),
        ),
        created(
            "no session, and a class of no kind",
            new(json!({ "sessionID": null, "classRef": { "kind": "Class" } })),
        ),
        created(
            "a session of more than 63 characters",
            new(json!({ "sessionID": "s".repeat(64) })),
        ),
        created("a session that is a number", new(json!({ "sessionID": 7 }))),
        created(
            "a field that does not exist",
            new(json!({ "sesionID": "session-7" })),
        ),
        created(
            "a name too long for <claim>-sandbox",
            claim(&"n".repeat(56)),
        ),
        created(
            "an enrolment that is wrong in every way, by an administrator",
            new(json!({
                "targetPath": "/x",
                "enrolment": { "connection": "portal", "maxDuration": "1h" },
            })),
        ),
        created(
            "a project mounted by an administrator",
            new(json!({ "mounts": [project] })),
        ),
        sent(
            "everything that is the operator's, by a user",
            &create_as_a_user,
            new(json!({
                "mounts": [project],
                "connections": [{ "role": "vcs", "connection": "github" }],
                "targetPath": "projects/checkout",
            })),
        ),
        sent(
            "a forbidden mount that is also wrong, by a user",
            &create_as_a_user,
            new(json!({ "mounts": [{ "role": "project" }] })),
        ),
        replaced(
            "another session",
            standing(json!({ "sessionID": "session-8" })),
        ),
        applied(
            "a mount added by server-side apply",
            standing(json!({ "mounts": [{ "role": "scratch" }] })),
        ),
        sent(
            "requestedBy added by apply",
            &["apply"],
            standing(json!({ "requestedBy": { "subject": "u1" } })),
        ),
        patched(
            "the class changed by a merge patch",
            TARGET,
            &["--type=merge"],
            &json!({ "spec": { "classRef": { "name": "other" } } }),
        ),
        patched(
            "the handle removed by a JSON patch",
            TARGET,
            &["--type=json"],
            &json!([{ "op": "remove", "path": "/spec/handle" }]),
        ),
        patched(
            "the status written by an administrator",
            TARGET,
            &["--subresource=status", "--type=merge"],
            &json!({ "status": { "phase": "Bound" } }),
        ),
    ];
    let status_as_a_user = [
        ["--subresource=status", "--type=merge"].as_slice(),
        &AS_A_USER,
    ];
    attempts.push(patched(
        "the status written by a user, in a phase that does not exist",
        TARGET,
        &status_as_a_user.concat(),
        &json!({ "status": { "phase": "Ready" } }),
    ));
    attempts
}

// Proves: W-002, W-009, W-011, W-012, W-013, W-014, W-016, P-031
#[tokio::test]
async fn kubectl_shows_why_a_claim_is_refused() -> Outcome {
    reads_as("sandbox-claim", &claim("standing"), attempts()).await
}
