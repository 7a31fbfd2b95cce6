//! Each law finds what breaks it, in a history made by hand.

use std::time::Duration;

use rstest::rstest;
use sandgate_shared::names::{
    ANNOTATION_BINDINGS, ANNOTATION_PROXY, BASELINE_POLICY, LABEL_CLAIM_UID,
};
use serde_json::{Value, json};

use super::{constant, judge, unsettled};
use crate::chaos::history::{Change, Kind};

/// Changes a second apart, numbered from one on.
pub fn history(changes: Vec<(Kind, &str, Value)>) -> Vec<Change> {
    let mut version = 0;
    let made = changes.into_iter().map(|(kind, name, object)| {
        version += 1;
        let mut whole = json!({ "metadata": { "name": name, "uid": name } });
        json_patch::merge(&mut whole, &object);
        Change {
            version,
            at: Duration::from_secs(version),
            place: (kind, "here".to_owned(), name.to_owned()),
            gone: whole.get("gone").is_some(),
            object: whole,
        }
    });
    made.collect()
}

/// A claim made at second `created`, in this phase; one that is `Pending` or later was admitted.
pub fn claim(created: u32, phase: &str) -> Value {
    let admitted = if ["Pending", "Bound"].contains(&phase) {
        "True"
    } else {
        "False"
    };
    json!({
        "metadata": { "creationTimestamp": format!("2026-01-01T00:00:{created:02}Z") },
        "spec": { "agentRuntimeRef": { "name": "agent" }, "sessionID": format!("s{created}") },
        "status": { "phase": phase, "conditions": [
            { "type": "Admitted", "status": admitted, "reason": "Admitted" },
            { "type": "Ready", "status": "False", "reason": "Because" },
        ] },
    })
}

pub fn with(mut object: Value, more: &Value) -> Value {
    json_patch::merge(&mut object, more);
    object
}

pub fn of(claim: &str, more: &Value) -> Value {
    with(
        json!({ "metadata": { "labels": { LABEL_CLAIM_UID: claim } } }),
        more,
    )
}

/// A claim that binds both Connections of [`sources`], and has what it asked for.
pub fn binding() -> Value {
    let bound = ["forge", "site"].map(|name| json!({ "role": name, "connection": name }));
    let whole = json!({
        "spec": { "connections": bound },
        "status": { "addresses": { "http": "a:80" } },
    });
    with(claim(1, "Bound"), &whole)
}

/// A Connection with a credential, its Secret, and one without.
pub fn sources() -> Vec<(Kind, &'static str, Value)> {
    let forge = json!({ "spec": {
        "hosts": ["forge.example"],
        "credential": { "kind": "secret", "secretRef": { "name": "token" } },
    } });
    let site = json!({ "spec": { "hosts": ["site.example"], "credential": { "kind": "none" } } });
    vec![
        (Kind::Connection, "forge", forge),
        (Kind::Secret, "token", json!({})),
        (Kind::Connection, "site", site),
    ]
}

fn runtime(most: u32) -> Value {
    json!({ "spec": { "sandbox": { "maxConcurrent": most } } })
}

fn template(image: &str) -> Value {
    json!({ "spec": { "template": { "spec": { "image": image } } } })
}

/// A template of a sandbox that is told of this proxy.
fn template_with(proxy: &str, image: &str) -> Value {
    let told = json!({ "metadata": { "annotations": { ANNOTATION_PROXY: proxy } } });
    with(template(image), &told)
}

fn baseline() -> (Kind, &'static str, Value) {
    (Kind::Policy, BASELINE_POLICY, json!({}))
}

fn ready(status: &str) -> Value {
    json!({ "status": { "conditions": [{ "type": "Ready", "status": status }] } })
}

/// A claim that is dialled at this address.
fn dialled() -> Value {
    with(
        claim(1, "Bound"),
        &json!({ "status": { "addresses": { "http": "box:80" } } }),
    )
}

#[rstest]
#[case::one_too_many("no ceiling is exceeded", vec![
    (Kind::Runtime, "agent", runtime(1)),
    (Kind::Claim, "a", claim(1, "Pending")),
    (Kind::Claim, "b", claim(2, "Pending")),
])]
#[case::one_too_many_of_a_sandbox("no ceiling is exceeded", vec![
    (Kind::Runtime, "agent", json!({})),
    (Kind::Claim, "a", with(claim(1, "Pending"), &json!({ "spec": { "maxInstances": 9 } }))),
    (Kind::Claim, "b", with(claim(2, "Pending"), &json!({ "spec": { "sessionID": "s1", "maxInstances": 1 } }))),
])]
#[case::one_too_many_beside_one_without_a_limit("no ceiling is exceeded", vec![
    (Kind::Runtime, "agent", json!({})),
    (Kind::Claim, "a", claim(1, "Pending")),
    (Kind::Claim, "b", with(claim(2, "Pending"), &json!({ "spec": { "sessionID": "s1", "maxInstances": 1 } }))),
])]
#[case::one_too_many_of_a_session("no ceiling is exceeded", vec![
    (Kind::Runtime, "agent", json!({ "spec": { "sandbox": { "maxPerSession": 1 } } })),
    (Kind::Claim, "a", claim(1, "Pending")),
    (Kind::Claim, "b", with(claim(2, "Pending"), &json!({ "spec": { "sessionID": "s1" } }))),
])]
#[case::nobody_there("no address is published without a ready pod", vec![
    (Kind::Pod, "pod", of("a", &ready("False"))),
    (Kind::Claim, "a", dialled()),
])]
#[case::built_while_it_waits("nothing is built for a claim that is not admitted", vec![
    baseline(),
    (Kind::Claim, "a", claim(1, "Queued")),
    (Kind::Deployment, "a-sandbox", of("a", &template("one"))),
])]
#[case::back_in_line("an admission is never taken back", vec![
    (Kind::Claim, "a", claim(1, "Pending")),
    (Kind::Claim, "a", claim(1, "Queued")),
])]
#[case::risen_again("a claim that failed stays failed, for the same reason", vec![
    (Kind::Claim, "a", claim(1, "Failed")),
    (Kind::Claim, "a", claim(1, "Pending")),
])]
#[case::moved("status.volumeSubPath never changes", vec![
    (Kind::Claim, "a", with(claim(1, "Pending"), &json!({ "status": { "volumeSubPath": "one" } }))),
    (Kind::Claim, "a", with(claim(1, "Pending"), &json!({ "status": { "volumeSubPath": "two" } }))),
])]
#[case::adopted("somebody else's object is never touched", vec![
    (Kind::Service, "a-sandbox", json!({ "spec": {} })),
    (Kind::Service, "a-sandbox", json!({ "spec": {}, "metadata": { "ownerReferences": [] } })),
])]
#[case::an_adopted_allowlist("somebody else's object is never touched", vec![
    (Kind::Allowlist, "a-egress", json!({ "data": { "theirs": "data" } })),
    (Kind::Allowlist, "a-egress", json!({ "data": { "ours": "data" } })),
])]
#[case::open("the first sandbox of a namespace comes after its baseline policy", vec![
    (Kind::Claim, "a", claim(1, "Pending")),
    (Kind::Deployment, "a-sandbox", of("a", &template("one"))),
])]
#[case::rolled("no sandbox is rolled, bound or not, unless a stranger edited it", vec![
    baseline(),
    (Kind::Claim, "a", claim(1, "Bound")),
    (Kind::Deployment, "a-sandbox", of("a", &template("one"))),
    (Kind::Deployment, "a-sandbox", of("a", &template("two"))),
])]
#[case::rolled_before_it_was_bound("no sandbox is rolled, bound or not, unless a stranger edited it", vec![
    baseline(),
    (Kind::Claim, "a", claim(1, "Pending")),
    (Kind::Deployment, "a-sandbox", of("a", &template("one"))),
    (Kind::Deployment, "a-sandbox", of("a", &template("two"))),
    (Kind::Claim, "a", claim(1, "Bound")),
])]
#[case::rolled_though_its_proxy_is_the_same("no sandbox is rolled, bound or not, unless a stranger edited it", vec![
    baseline(),
    (Kind::Claim, "a", claim(1, "Bound")),
    (Kind::Deployment, "a-sandbox", of("a", &template_with("10.0.0.9:3128", "one"))),
    (Kind::Deployment, "a-sandbox", of("a", &template_with("10.0.0.9:3128", "two"))),
])]
fn a_history_that_breaks_a_law_is_found(
    #[case] law: &str,
    #[case] changes: Vec<(Kind, &str, Value)>,
) {
    let findings = judge(&history(changes));
    let laws: Vec<&str> = findings.iter().map(|it| it.law).collect();
    assert!(laws.contains(&law), "{findings:?}");
}

#[test]
fn a_history_in_which_all_is_well_breaks_no_law() {
    let waits = with(
        claim(3, "Queued"),
        &json!({ "spec": { "sessionID": "s1" } }),
    );
    let per_session = json!({ "spec": { "sandbox": { "maxConcurrent": 2, "maxPerSession": 1 } } });
    let well = history(vec![
        (Kind::Runtime, "agent", per_session),
        baseline(),
        (Kind::Claim, "a", claim(1, "Pending")),
        (Kind::Deployment, "a-sandbox", of("a", &template("one"))),
        (Kind::Pod, "pod", of("a", &ready("True"))),
        (Kind::Claim, "a", dialled()),
        // It waits for its session, which nobody else is in the way of.
        (Kind::Claim, "c", waits),
        (Kind::Claim, "d", claim(4, "Pending")),
        (Kind::Claim, "a", with(dialled(), &json!({ "gone": true }))),
    ]);
    assert_eq!(judge(&well), []);
}

#[rstest]
#[case::of_its_bindings(ANNOTATION_BINDINGS)]
#[case::of_its_proxy(ANNOTATION_PROXY)]
fn a_sandbox_may_be_rolled_for_another_value(#[case] annotation: &str) {
    let written_from = |value: &str, image: &str| {
        let told = json!({ "metadata": { "annotations": { annotation: value } } });
        of("a", &with(template(image), &told))
    };
    let rolled = history(vec![
        (Kind::Deployment, "a-sandbox", written_from("one", "one")),
        (Kind::Deployment, "a-sandbox", written_from("two", "two")),
    ]);
    assert_eq!(constant::templates(&rolled), []);
}

/// Somebody else's Service is deleted, after its namespace or without it.
fn deleted(namespace: Value) -> Vec<Change> {
    history(vec![
        (Kind::Namespace, "here", json!({})),
        (Kind::Service, "a-sandbox", json!({ "spec": {} })),
        (Kind::Namespace, "here", namespace),
        (
            Kind::Service,
            "a-sandbox",
            json!({ "spec": {}, "gone": true }),
        ),
    ])
}

#[test]
fn what_is_somebody_elses_may_go_with_its_namespace_and_not_without() {
    let leaves = json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:03Z" } });
    assert_eq!(judge(&deleted(leaves)), []);
    let found = judge(&deleted(json!({})));
    let laws: Vec<&str> = found.iter().map(|it| it.law).collect();
    assert_eq!(laws, ["somebody else's object is never touched"]);
}

#[test]
fn nothing_outlives_its_namespace() {
    let left = history(vec![
        (Kind::Service, "somebody-elses", json!({})),
        (Kind::Namespace, "here", json!({ "gone": true })),
    ]);
    let told = unsettled(&left, &[]);
    assert!(told.len() == 1 && told[0].contains("outlives"), "{told:?}");
}

#[test]
fn what_is_left_of_a_claim_and_what_waits_for_nothing_is_unsettled() {
    let left = history(vec![
        (Kind::Runtime, "agent", runtime(1)),
        (Kind::Service, "gone-sandbox", of("gone", &json!({}))),
        (Kind::Claim, "a", claim(1, "Queued")),
    ]);
    let told = unsettled(&left, &[]);
    assert_eq!(told.len(), 2, "{told:?}");
}
