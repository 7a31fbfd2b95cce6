//! Connections in raw JSON: how many hosts there may be, and changes that a merge cannot write, nulls
//! and empty values in the place of what is for ever.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a failing test stops where it stands, and tables pass their rows by value"
)]

use std::collections::BTreeSet;

use rstest::rstest;
use sandgate_shared::{
    render::Installation,
    rules::{Attempt, Operation, Phase, Rulebook, Subject},
};
use serde_json::{Value, json};

fn stored(kind: &str) -> Value {
    let encryption = json!({ "kmsProvider": "aws-kms", "keyID": "key-1" });
    let credential = match kind {
        "browserSession" => json!({
            "kind": kind,
            "browserSession": { "scope": "shared", "encryption": encryption },
        }),
        _ => json!({
            "kind": kind,
            "gitHost": {
                "provider": "github",
                "oauth": { "clientID": "app", "clientSecretRef": { "name": "app", "key": "k" } },
                "encryption": encryption,
            },
        }),
    };
    json!({
        "apiVersion": "omnia.altairalabs.ai/v1alpha1",
        "kind": "Connection",
        "metadata": { "name": "c", "namespace": "n" },
        "spec": { "hosts": ["api.example.com"], "credential": credential },
    })
}

fn broken(old: Option<&Value>, new: &Value, phase: Phase) -> BTreeSet<String> {
    let rulebook = Rulebook::compile(&Installation::default().identity()).unwrap();
    let operation = old.map_or(Operation::Create, |_| Operation::Update);
    let verdict = rulebook.judge(&Attempt {
        subject: Subject::Connection,
        operation,
        subresource: None,
        phase,
        object: new,
        old_object: old,
        user_info: &json!({ "username": "alice" }),
    });
    assert!(verdict.faults.is_empty(), "{:?}", verdict.faults);
    let violations = verdict.violations.into_iter();
    violations.map(|violation| violation.rule).collect()
}

// Proves: W-025, T-063, T-064, T-068, T-069
#[rstest]
#[case::no_scope("browserSession", "/browserSession/scope", json!(null), "connection-scope-immutable")]
#[case::an_empty_scope("browserSession", "/browserSession/scope", json!(""), "schema-enum")]
#[case::no_kms("browserSession", "/browserSession/encryption/kmsProvider", json!(null), "schema-required")]
#[case::no_key("browserSession", "/browserSession/encryption/keyID", json!(null), "schema-required")]
#[case::an_empty_key("browserSession", "/browserSession/encryption/keyID", json!(""), "connection-key-immutable")]
#[case::no_encryption("browserSession", "/browserSession/encryption", json!(null), "schema-required")]
#[case::an_empty_encryption("browserSession", "/browserSession/encryption", json!({}), "schema-required")]
#[case::no_session("browserSession", "/browserSession", json!(null), "connection-browser-session-required")]
#[case::an_empty_session("browserSession", "/browserSession", json!({}), "schema-required")]
#[case::no_kind("browserSession", "/kind", json!(null), "schema-required")]
#[case::no_git_kms("gitHost", "/gitHost/encryption/kmsProvider", json!(null), "schema-required")]
#[case::an_empty_git_key("gitHost", "/gitHost/encryption/keyID", json!(""), "connection-key-immutable")]
#[case::no_provider("gitHost", "/gitHost/provider", json!(null), "schema-required")]
#[case::no_app("gitHost", "/gitHost/oauth", json!(null), "connection-oauth-required")]
#[case::no_git_host("gitHost", "/gitHost", json!(null), "connection-git-host-required")]
#[case::no_git_kind("gitHost", "/kind", json!(null), "schema-required")]
fn what_is_for_ever_cannot_be_emptied(
    #[case] kind: &str,
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] rule: &str,
    #[values(Phase::Mutating, Phase::Validating)] phase: Phase,
) {
    let old = stored(kind);
    let mut new = old.clone();
    let place = new.pointer_mut(&format!("/spec/credential{pointer}"));
    *place.unwrap() = value;
    let broken = broken(Some(&old), &new, phase);
    assert!(broken.contains(rule), "{pointer} breaks {broken:?}");
}

// Proves: W-025, T-068
#[rstest]
#[case::a_label("/metadata", json!({ "name": "c", "namespace": "n", "labels": { "a": "b" } }))]
#[case::hosts("/spec/hosts", json!(["other.example.com"]))]
#[case::pages("/spec/credential/browserSession/signedOutWhen", json!({ "urlPrefixes": ["https://api.example.com/"] }))]
#[case::the_kms_s_credentials("/spec/credential/browserSession/encryption/secretRef", json!({ "name": "kms" }))]
fn everything_else_may_change(#[case] pointer: &str, #[case] value: Value) {
    let old = stored("browserSession");
    let mut new = old.clone();
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    let parent = new.pointer_mut(parent).and_then(Value::as_object_mut);
    parent.unwrap().insert(field.to_owned(), value);
    assert_eq!(broken(Some(&old), &new, Phase::Validating), BTreeSet::new());
}

// Proves: T-059
#[rstest]
#[case::none(vec![], Some("schema-min-items"))]
#[case::one(vec![long(253)], None)]
#[case::a_wildcard_of_the_longest(vec![format!("*.{}", long(251))], None)]
#[case::too_long(vec![long(254)], Some("schema-max-length"))]
#[case::a_wildcard_too_long(vec![format!("*.{}", long(252))], Some("schema-max-length"))]
#[case::a_label_of_63(vec![format!("{}.example.com", "a".repeat(63))], None)]
#[case::a_label_of_64(vec![format!("{}.example.com", "a".repeat(64))], Some("schema-pattern"))]
#[case::thirty_two(numbered(32), None)]
#[case::thirty_three(numbered(33), Some("schema-max-items"))]
#[case::one_twice(vec!["a.test".to_owned(), "b.test".to_owned(), "a.test".to_owned()], Some("schema-duplicate"))]
fn hosts_are_1_to_32_each_once_and_of_253_characters_at_most(
    #[case] hosts: Vec<String>,
    #[case] rule: Option<&str>,
) {
    let connection = json!({ "spec": { "hosts": hosts, "credential": { "kind": "none" } } });
    let expected: BTreeSet<String> = rule.map(str::to_owned).into_iter().collect();
    assert_eq!(broken(None, &connection, Phase::Mutating), expected);
}

fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|it| format!("h{it}.example.com")).collect()
}

/// A host of `length` characters.
fn long(length: usize) -> String {
    let labels = [50; 4].map(|length| "a".repeat(length)).join(".");
    format!("{labels}.{}.test", "b".repeat(length - labels.len() - 6))
}
