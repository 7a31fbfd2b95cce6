//! Who asks: half of the operator, administrators, components of the cluster, nobody.

use sandgate_shared::rules::Subject;
use serde_json::{Value, json};

use crate::desk::{Decided, Way, decide_dry_too, review};
use crate::objects::{Bend, bent, cut, good, operator, set, user};

const CLAIM: Subject = Subject::SandboxClaim;

/// What is the operator's alone, on each way a claim is written, tried by `writer`.
pub fn tried_by(writer: &Value) -> [Decided; 3] {
    let claim = good(CLAIM);
    let mounting = bent(
        claim.clone(),
        &[set("/spec/mounts", json!([{"role": "session"}]))],
    );
    let requested = bent(
        claim.clone(),
        &[set("/spec/requestedBy", json!({"agent": "a"}))],
    );
    let proven = json!({"phase": "Bound", "addresses": {"mcp": "10.0.0.1:8080"},
        "conditions": [{"type": "ProvenanceVerified", "status": "True"}]});
    let bound = bent(claim.clone(), &[set("/status", proven)]);
    [
        decide_dry_too(&review(CLAIM, Way::Create, &claim, &mounting, writer)),
        decide_dry_too(&review(CLAIM, Way::Update, &claim, &requested, writer)),
        decide_dry_too(&review(CLAIM, Way::Status, &claim, &bound, writer)),
    ]
}

pub fn is_refused(name: &str, writer: &Value) {
    let rules = [
        "claim-operator-mounts",
        "claim-operator-spec",
        "claim-operator-status",
    ];
    for (decided, rule) in tried_by(writer).iter().zip(rules) {
        assert!(decided.is(&format!("403 {rule}")), "{name}: {decided:?}");
        assert!(decided.message.contains("you "), "{name}: {decided:?}");
    }
}

// Proves: W-012, W-016, W-018, P-002, P-003, P-004, P-031
#[test]
fn the_operator_is_let_through_and_every_half_of_it_is_not() {
    for decided in tried_by(&operator()) {
        assert!(decided.is(""), "{decided:?}");
    }
    let group = operator()["groups"][1].clone();
    let other = json!("system:serviceaccounts:default");
    let halves: Vec<(&str, Vec<Bend>)> = vec![
        ("no groups", vec![cut("/groups")]),
        ("groups null", vec![set("/groups", Value::Null)]),
        ("groups empty", vec![set("/groups", json!([]))]),
        (
            "only the group of all accounts",
            vec![set("/groups", json!(["system:serviceaccounts"]))],
        ),
        (
            "only the group of its namespace",
            vec![set("/groups", json!([group]))],
        ),
        (
            "the group of another namespace",
            vec![set("/groups", json!(["system:serviceaccounts", other]))],
        ),
        (
            "a group that only begins like it",
            vec![set(
                "/groups",
                json!([
                    "system:serviceaccounts",
                    format!("{}x", group.as_str().unwrap())
                ]),
            )],
        ),
        ("no uid", vec![cut("/uid")]),
        ("an empty uid", vec![set("/uid", json!(""))]),
        ("no extra", vec![cut("/extra")]),
        ("extra null", vec![set("/extra", Value::Null)]),
        ("an empty extra", vec![set("/extra", json!({}))]),
        (
            "extra that names no pod",
            vec![set(
                "/extra",
                json!({"authentication.kubernetes.io/node-name": ["n"]}),
            )],
        ),
        (
            "a pod under another key",
            vec![set(
                "/extra",
                json!({"authentication.kubernetes.io/pod-uid": ["p"]}),
            )],
        ),
        (
            "another account of its namespace",
            vec![set(
                "/username",
                json!("system:serviceaccount:sandgate-system:default"),
            )],
        ),
        (
            "an account of its name elsewhere",
            vec![set(
                "/username",
                json!("system:serviceaccount:default:sandgate-controller"),
            )],
        ),
        (
            "its name in capitals",
            vec![set(
                "/username",
                json!("SYSTEM:SERVICEACCOUNT:SANDGATE-SYSTEM:SANDGATE-CONTROLLER"),
            )],
        ),
        (
            "its name with a space",
            vec![set(
                "/username",
                json!("system:serviceaccount:sandgate-system:sandgate-controller "),
            )],
        ),
        (
            "a name that is a list",
            vec![set(
                "/username",
                json!(["system:serviceaccount:sandgate-system:sandgate-controller"]),
            )],
        ),
        ("no name", vec![cut("/username")]),
    ];
    for (name, bends) in halves {
        is_refused(name, &bent(operator(), &bends));
    }
}

// Proves: W-018
#[test]
fn an_identity_of_types_that_no_api_server_sends_admits_nothing() {
    for bends in [
        vec![set("/groups", json!("system:serviceaccounts"))],
        vec![set("/groups", json!({"system:serviceaccounts": true}))],
        vec![set(
            "/extra",
            json!("authentication.kubernetes.io/pod-name"),
        )],
        vec![set("/uid", json!(["u"])), set("/username", json!(7))],
    ] {
        for decided in tried_by(&bent(operator(), &bends)) {
            assert!(decided.code >= 403, "{bends:?}: {decided:?}");
        }
    }
}

// Proves: W-018, P-004
#[test]
fn a_uid_of_another_account_is_not_told_apart_since_no_layer_knows_the_right_one() {
    let writer = bent(
        operator(),
        &[set("/uid", json!("00000000-0000-0000-0000-000000000000"))],
    );
    for decided in tried_by(&writer) {
        assert!(decided.is(""), "{decided:?}");
    }
}

// Proves: W-018, P-004
#[test]
fn a_user_of_any_size_is_decided_on() {
    let crowd: Vec<String> = (0..10_000)
        .map(|number| format!("group-{number}"))
        .collect();
    let large = json!({"example.org/scopes": ["s".repeat(1024 * 1024)]});
    is_refused(
        "10,000 groups",
        &bent(user(), &[set("/groups", json!(crowd))]),
    );
    is_refused(
        "a mebibyte of extra",
        &bent(user(), &[set("/extra", large.clone())]),
    );
    is_refused(
        "a name of a mebibyte",
        &bent(user(), &[set("/username", json!("u".repeat(1024 * 1024)))]),
    );
    let mut groups = crowd;
    groups.extend(
        operator()["groups"]
            .as_array()
            .unwrap()
            .iter()
            .map(|group| group.as_str().unwrap().to_owned()),
    );
    let loaded = bent(
        operator(),
        &[
            set("/groups", json!(groups)),
            set(
                "/extra/example.org~1scopes",
                large["example.org/scopes"].clone(),
            ),
        ],
    );
    for decided in tried_by(&loaded) {
        assert!(decided.is(""), "{decided:?}");
    }
}

// Proves: W-018, P-003
#[test]
fn what_an_object_says_of_its_maker_proves_nothing() {
    let name = operator()["username"].clone();
    for bends in [
        vec![set(
            "/metadata/annotations/example.org~1created-by",
            name.clone(),
        )],
        vec![set(
            "/metadata/labels/app.kubernetes.io~1managed-by",
            json!("sandgate"),
        )],
        vec![set(
            "/metadata/managedFields",
            json!([{"manager": "sandgate-controller", "operation": "Apply"}]),
        )],
        vec![
            set("/spec/requestedBy", json!({"subject": name})),
            set("/spec/declaredBy", json!("sandgate")),
        ],
        vec![set(
            "/metadata/ownerReferences",
            json!([{"apiVersion": "v1", "kind": "ServiceAccount", "name": "sandgate-controller", "uid": "u"}]),
        )],
    ] {
        let mut all = bends.clone();
        all.push(set("/spec/mounts", json!([{"role": "session"}])));
        let decided = decide_dry_too(&review(
            CLAIM,
            Way::Create,
            &good(CLAIM),
            &bent(good(CLAIM), &all),
            &user(),
        ));
        assert!(
            decided.is("403 claim-operator-mounts"),
            "{bends:?}: {decided:?}"
        );
    }
}
