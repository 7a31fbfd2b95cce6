//! Each reason for which a claim with Connections ends before it is bound, or waits, on the real API server.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Secret};
use sandgate_e2e::pair::Pair;
use sandgate_e2e::scene::manifests::{claim_with, class_with};
use sandgate_e2e::scene::{Scene, phase, ready};
use sandgate_e2e::{Cluster, Outcome, Stage};
use sandgate_shared::api::{ClaimPhase, SandboxClaim};
use sandgate_shared::reason;
use serde_json::{Value, json};

use super::{CANARY, connection};
use crate::options;

/// A claim that does not get its sandbox, and what it says.
struct Case {
    /// Its name.
    name: &'static str,
    class: &'static str,
    /// Each role with the Connection bound to it.
    binds: &'static [(&'static str, &'static str)],
    phase: ClaimPhase,
    reason: &'static str,
    /// What the message names, with what to do.
    says: &'static [&'static str],
}

impl Case {
    /// A claim of the class that most are of.
    const fn fails(
        name: &'static str,
        binds: &'static [(&'static str, &'static str)],
        reason: &'static str,
        says: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            class: "agent",
            binds,
            phase: ClaimPhase::Failed,
            reason,
            says,
        }
    }

    const fn of(self, class: &'static str) -> Self {
        Self { class, ..self }
    }

    const fn waits(self) -> Self {
        Self {
            phase: ClaimPhase::Pending,
            ..self
        }
    }
}

/// In the order of the table of reasons.
const CASES: &[Case] = &[
    Case::fails(
        "undeclared",
        &[("nobody", "good")],
        reason::CONNECTION_ROLE_UNDECLARED,
        &[
            "role \"nobody\"",
            "Connection \"good\"",
            "bind a role that it declares",
        ],
    ),
    Case::fails(
        "unbound",
        &[("vcs", "good")],
        reason::CONNECTION_ROLE_UNBOUND,
        &["role \"needed\"", "spec.sandbox.connections"],
    )
    .of("demanding"),
    Case::fails(
        "absent",
        &[("vcs", "absent")],
        reason::CONNECTION_NOT_FOUND,
        &["\"vcs\"", "\"absent\"", "create it here"],
    ),
    Case::fails(
        "kind",
        &[("vcs", "portal")],
        reason::CONNECTION_KIND_NOT_ACCEPTED,
        &["\"vcs\"", "\"portal\"", "has session in the class"],
    ),
    Case::fails(
        "collision",
        &[("vcs", "good"), ("ticket", "twin")],
        reason::CONNECTION_PLACEMENT_COLLISION,
        &[
            "\"vcs\"",
            "\"good\"",
            "\"ticket\"",
            "\"twin\"",
            "\"GOOD\"",
            "another name",
        ],
    ),
    Case::fails(
        "secretless",
        &[("vcs", "secretless")],
        reason::CONNECTION_SECRET_NOT_FOUND,
        &[
            "\"vcs\"",
            "\"secretless\"",
            "Secret \"no-such-secret\"",
            "create it here",
        ],
    ),
    Case::fails(
        "keyless",
        &[("vcs", "keyless")],
        reason::CONNECTION_SECRET_KEY_MISSING,
        &[
            "\"vcs\"",
            "\"keyless\"",
            "key \"no-such-key\"",
            "Secret \"values\"",
            "add it there",
        ],
    ),
    Case::fails(
        "template",
        &[("vcs", "template")],
        reason::CONNECTION_TEMPLATE_INVALID,
        &[
            "\"vcs\"",
            "\"template\"",
            "\"written\"",
            "line 1",
            "Secret \"values\"",
            "add the key",
        ],
    ),
    Case::fails(
        "sessions",
        &[("site", "portal"), ("other", "portal-2")],
        reason::CONNECTION_SESSION_CONFLICT,
        &[
            "\"site\"",
            "\"portal\"",
            "\"other\"",
            "\"portal-2\"",
            "bind one of them",
        ],
    ),
    Case::fails(
        "unreachable",
        &[("site", "unreachable")],
        reason::CONNECTION_SIGNED_OUT_HOST_UNREACHABLE,
        &[
            "\"site\"",
            "\"unreachable\"",
            "urlPrefixes[0]",
            "add the host to hosts",
        ],
    ),
    Case::fails(
        "variable",
        &[("vcs", "variable")],
        reason::CONNECTION_ENV_RESERVED,
        &[
            "\"vcs\"",
            "\"variable\"",
            "\"GOCACHE\"",
            "the class sets",
            "another name",
        ],
    ),
    Case::fails(
        "path",
        &[("vcs", "path")],
        reason::CONNECTION_PATH_RESERVED,
        &[
            "\"vcs\"",
            "\"path\"",
            "\".cache/go-build/x\"",
            "\"GOCACHE\"",
            "place it elsewhere",
        ],
    ),
    Case::fails(
        "homeless",
        &[("vcs", "files")],
        reason::CONNECTION_FILES_UNSUPPORTED,
        &["\"vcs\"", "\"files\"", "\".token\"", "HOME", "set it there"],
    )
    .of("homeless"),
    Case::fails(
        "large",
        &[("vcs", "large")],
        reason::SANDBOX_REJECTED,
        &["1048576 bytes", "place fewer or smaller ones"],
    ),
    Case::fails(
        "unfetched",
        &[("fetched", "portal")],
        reason::SESSION_FETCH_UNAVAILABLE,
        &["role \"fetched\"", "stateFile", "waits for one that does"],
    )
    .waits(),
    Case::fails(
        "arguments",
        &[("site", "portal")],
        reason::INVALID_CLASS,
        &[
            "session.args[1]",
            "role \"site\"",
            "Connection \"portal\"",
            "correct it in the class",
        ],
    )
    .of("misargued"),
    // Of several the first of the table is told, whatever the order of the bindings.
    Case::fails(
        "several",
        &[("ticket", "path"), ("vcs", "keyless")],
        reason::CONNECTION_SECRET_KEY_MISSING,
        &["\"vcs\"", "\"keyless\""],
    ),
];

fn session(name: &str, page: &str) -> Value {
    json!({
        "apiVersion": "omnia.altairalabs.ai/v1alpha1",
        "kind": "Connection",
        "metadata": { "name": name },
        "spec": {
            "hosts": ["portal.example.com"],
            "credential": { "kind": "browserSession", "browserSession": {
                "signedOutWhen": { "urlPrefixes": [page] },
                "encryption": { "kmsProvider": "local", "keyID": "k" },
            } },
        },
    })
}

/// A Connection whose Secret is the one with the values.
fn placing(name: &str, placement: &Value) -> Value {
    naming(name, "values", placement)
}

fn naming(name: &str, secret: &str, placement: &Value) -> Value {
    let mut connection = connection(name, placement);
    connection["spec"]["credential"]["secretRef"]["name"] = json!(secret);
    connection
}

fn classes() -> [Value; 4] {
    let home = json!({ "name": "HOME", "value": "/home/agent" });
    let cache = json!({ "name": "GOCACHE", "value": "$(HOME)/.cache/go-build" });
    let agent = json!({
        "env": [home, cache],
        "filesystem": { "scratch": [
            { "name": "session", "mountPath": "/session", "sizeLimit": "1Mi", "medium": "Memory" },
        ] },
        "connections": [
            { "role": "vcs" },
            { "role": "ticket" },
            { "role": "site", "session": {} },
            { "role": "other", "session": {} },
            { "role": "fetched", "session": { "stateFile": "/session/state.json" } },
        ],
    });
    let demanding = json!({ "connections": [
        { "role": "vcs" }, { "role": "needed", "required": true },
    ] });
    // What a class may say, and what fails only with the name of a Connection in it.
    let misargued = json!({ "connections": [
        { "role": "site", "session": { "args": ["--site", "{{ index .Connection 4096 }}"] } },
    ] });
    let homeless = json!({ "connections": [{ "role": "vcs" }] });
    [
        class_with("agent", Stage::Ready, &agent),
        class_with("misargued", Stage::Ready, &misargued),
        class_with("demanding", Stage::Ready, &demanding),
        class_with("homeless", Stage::Ready, &homeless),
    ]
}

fn connections() -> Vec<Value> {
    let variable = |name: &str, key: &str| json!({ "env": [{ "name": name, "key": key }] });
    let file = |path: &str| json!({ "files": [{ "path": path, "key": "token" }] });
    let template = json!({ "files": [{ "path": "written", "template": "{{ .absent }}" }] });
    let large = json!({ "files": [
        { "path": "one", "key": "large" }, { "path": "two", "key": "large" },
    ] });
    vec![
        placing("good", &variable("GOOD", "token")),
        placing("twin", &variable("GOOD", "token")),
        naming("secretless", "no-such-secret", &variable("A", "token")),
        placing("keyless", &variable("A", "no-such-key")),
        placing("template", &template),
        placing("variable", &variable("GOCACHE", "token")),
        placing("path", &file(".cache/go-build/x")),
        placing("files", &file(".token")),
        naming("large", "large-values", &large),
        session("portal", "https://portal.example.com/login"),
        session("portal-2", "https://portal.example.com/login"),
        session("unreachable", "https://elsewhere.example.com/login"),
    ]
}

fn secret(name: &str, key: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": name },
        "stringData": { key: value },
    })
}

/// What is wrong with what the claim of a case became.
async fn wrong(scene: &Scene, case: &Case) -> Outcome<Vec<String>> {
    let name = case.name;
    let claim = scene
        .becomes(name, "has come to its end", |claim: &SandboxClaim| {
            phase(claim) == Some(case.phase) && ready(claim).0 == case.reason
                || phase(claim) == Some(ClaimPhase::Failed)
                || phase(claim) == Some(ClaimPhase::Bound)
        })
        .await?;
    let (reason, message) = ready(&claim);
    let mut wrong = Vec::new();
    if phase(&claim) != Some(case.phase) || reason != case.reason {
        let phase = phase(&claim);
        wrong.push(format!("{name} is {phase:?} for {reason}: {message}"));
    }
    let missing = case.says.iter().filter(|words| !message.contains(**words));
    wrong.extend(missing.map(|words| format!("{name} does not say {words}: {message}")));
    if message.contains(CANARY) {
        wrong.push(format!("{name} tells a value"));
    }
    Ok(wrong)
}

// Proves: K-010, K-011, K-012, K-013, K-014, K-015, K-016, K-017, K-018, K-019, K-020, K-021, K-022, K-023, K-024, C-036
#[tokio::test]
async fn a_claim_whose_connections_do_not_check_says_which_role_connection_and_key_and_gets_nothing()
-> Outcome {
    let cluster = Cluster::own(options()).await?;
    let scene = Scene::on(&cluster, "unchecked").await?;
    let large = format!("{CANARY}{}", "x".repeat(600 << 10));
    let secrets = [
        secret("values", "token", CANARY),
        secret("large-values", "large", &large),
    ];
    for manifest in classes().iter().chain(&secrets).chain(&connections()) {
        scene.accepts(manifest).await?;
    }
    Pair::ours(&cluster).in_force().await?;
    let operator = scene.operator().await?;
    for case in CASES {
        let binds = case.binds.iter();
        let bindings: Vec<_> = binds
            .map(|(role, connection)| json!({ "role": role, "connection": connection }))
            .collect();
        let claim = claim_with(case.name, case.class, &json!({ "connections": bindings }));
        operator.accepts(&claim).await?;
    }
    let mut faults = Vec::new();
    for case in CASES {
        faults.extend(wrong(&scene, case).await?);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(scene.names::<Deployment>().await?, Vec::<String>::new());
    assert_eq!(scene.names::<Pod>().await?, Vec::<String>::new());
    let secrets = scene.names::<Secret>().await?;
    assert_eq!(secrets, ["large-values", "values"]);
    Ok(())
}
