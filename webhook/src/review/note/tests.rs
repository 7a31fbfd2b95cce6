use rstest::rstest;
use serde_json::json;

use super::*;
use crate::review::request::{Asked, read};

fn note(old: Value, new: Value, field: &str, rule: &str, reason: &'static str) -> Option<String> {
    let object = |spec: Value| json!({"kind": "SandboxClaim", "metadata": {}, "spec": spec});
    let review = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "kind": {"group": "omnia.altairalabs.ai", "version": "v1alpha1", "kind": "SandboxClaim"},
            "resource": {"resource": "sandboxclaims"},
            "operation": "UPDATE",
            "userInfo": {"username": "alice\u{1b}[2J"},
            "object": object(new),
            "oldObject": object(old),
        },
    });
    let Ok(Asked::Write(write)) = read(&review) else {
        panic!("not read")
    };
    let violation = Violation {
        field: field.to_owned(),
        rule: rule.to_owned(),
        reason,
        message: "only the operator (op) may".to_owned(),
        identity: rule.starts_with("claim-operator"),
    };
    about(&write, &violation)
}

// Proves: W-002
#[rstest]
#[case::changed(json!({"sessionID": "session-7"}), json!({"sessionID": "session-8"}), "spec.sessionID", "claim-session-immutable", Some(r#"was "session-7""#))]
#[case::a_short_object(json!({"classRef": {"name": "a"}}), json!({"classRef": {"name": "b"}}), "spec.classRef", "claim-class-immutable", Some(r#"was {"name":"a"}"#))]
#[case::added(json!({}), json!({"handle": "a/b"}), "spec.handle", "claim-handle-immutable", Some("was not set"))]
#[case::too_long(json!({"sessionID": "s".repeat(63)}), json!({"sessionID": "t"}), "spec.sessionID", "claim-session-immutable", None)]
#[case::a_password(json!({"handle": "https://a:b@c"}), json!({"handle": "t"}), "spec.handle", "claim-handle-immutable", None)]
#[case::that_steers(json!({"handle": "a\u{202e}\u{1b}b"}), json!({"handle": "t"}), "spec.handle", "claim-handle-immutable", Some("was \"a\\u{202e}\\u001bb\""))]
#[case::a_rule_about_any_write(json!({"handle": "a/b"}), json!({"handle": "A"}), "spec.handle", "claim-handle", Some(r#""A""#))]
fn an_immutable_field_is_told_with_what_it_was(
    #[case] old: Value,
    #[case] new: Value,
    #[case] field: &str,
    #[case] rule: &str,
    #[case] told: Option<&str>,
) {
    let note = note(old, new, field, rule, "FieldValueInvalid");
    assert_eq!(note.as_deref(), told);
}

// Proves: W-002
#[rstest]
#[case::alone(json!({"handle": "a/b"}), json!({}), "spec.handle", "claim-handle-immutable", r#"was set, to "a/b", and is removed (an older client may"#)]
#[case::to_null(json!({"handle": "a/b"}), json!({"handle": null}), "spec.handle", "claim-handle-immutable", "was set, to \"a/b\", and is removed (")]
#[case::too_long_to_repeat(json!({"targetPath": "p/".repeat(100)}), json!({}), "spec.targetPath", "claim-target-path-immutable", "was set, and is removed (an older client may have dropped it")]
#[case::below(json!({"mounts": [{"role": "a", "id": "b"}]}), json!({"mounts": [{"role": "a"}]}), "spec.mounts", "claim-mounts-immutable", "spec.mounts[0].id was set, and is removed (")]
#[case::of_a_spec(json!({"handle": "a/b", "x": 1}), json!({"x": 1}), "spec", "claim-operator-spec", "you are \"alice\\u{1b}[2J\", and spec.handle was set, and is removed (")]
#[case::several(json!({"a": 1, "b": 1, "c": 1, "d": 1}), json!({}), "spec", "claim-operator-spec", "you are \"alice\\u{1b}[2J\", and spec.a, spec.b, spec.c and others was set")]
fn a_removed_field_is_named_since_an_older_client_may_have_dropped_it(
    #[case] old: Value,
    #[case] new: Value,
    #[case] field: &str,
    #[case] rule: &str,
    #[case] begins: &str,
) {
    let note = note(old, new, field, rule, "FieldValueForbidden").unwrap();
    assert!(note.starts_with(begins), "{note}");
    assert!(note.ends_with("so patch single fields instead)"), "{note}");
}

// Proves: W-002
#[rstest]
#[case::of_an_id(json!({"handle": "A b"}), "spec.handle", "FieldValueInvalid", Some(r#""A b""#))]
#[case::of_a_number(json!({"maxInstances": 0}), "spec.maxInstances", "FieldValueInvalid", Some("0"))]
#[case::of_what_may_not_be_set_at_all(json!({"mount": "m"}), "spec.mount", "FieldValueForbidden", None)]
#[case::of_a_whole_list(json!({"ports": [1]}), "spec.ports", "FieldValueDuplicate", None)]
#[case::of_an_environment(json!({"env": [{"value": "v"}]}), "spec.env[0].value", "FieldValueInvalid", None)]
#[case::of_a_template(json!({"template": "t"}), "spec.template", "FieldValueInvalid", None)]
#[case::of_a_secret(json!({"clientSecret": {"name": "n"}, "secretRef": "s"}), "spec.secretRef", "FieldValueInvalid", None)]
#[case::of_a_url_with_a_query(json!({"url": "h/?token=t"}), "spec.url", "FieldValueInvalid", None)]
#[case::that_is_absent(json!({}), "spec.url", "FieldValueInvalid", None)]
fn a_wrong_value_is_quoted_where_it_is_short_and_no_secret(
    #[case] new: Value,
    #[case] field: &str,
    #[case] reason: &'static str,
    #[case] told: Option<&str>,
) {
    let note = note(json!({}), new, field, "some-rule", reason);
    assert_eq!(note.as_deref(), told);
}

#[test]
fn a_value_that_the_sentence_tells_is_not_told_twice() {
    let object = json!({"kind": "SandboxClaim", "spec": {"maxInstances": 0}});
    let review = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "kind": {"group": "omnia.altairalabs.ai", "version": "v1alpha1", "kind": "SandboxClaim"},
            "resource": {"resource": "sandboxclaims"},
            "operation": "CREATE",
            "userInfo": {},
            "object": object,
        },
    });
    let Ok(Asked::Write(write)) = read(&review) else {
        panic!("not read")
    };
    let violation = Violation {
        field: "spec.maxInstances".to_owned(),
        rule: "schema-minimum".to_owned(),
        reason: "FieldValueInvalid",
        message: "is 0, must be at least 1".to_owned(),
        identity: false,
    };
    assert_eq!(about(&write, &violation), None);
}

// Proves: W-002
#[test]
fn whoever_has_the_operators_name_alone_is_told_that_a_name_is_not_enough() {
    let review = |username: &str| {
        json!({
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "kind": {"group": "omnia.altairalabs.ai", "version": "v1alpha1", "kind": "SandboxClaim"},
                "resource": {"resource": "sandboxclaims"},
                "operation": "CREATE",
                "userInfo": {"username": username},
                "object": {"kind": "SandboxClaim"},
            },
        })
    };
    let violation = Violation {
        field: "spec.mounts".to_owned(),
        rule: "claim-operator-mounts".to_owned(),
        reason: "FieldValueForbidden",
        message: "only the sandbox operator (system:serviceaccount:a:b) may".to_owned(),
        identity: true,
    };
    let said = |username: &str| {
        let review = review(username);
        let Ok(Asked::Write(write)) = read(&review) else {
            panic!("not read")
        };
        about(&write, &violation).unwrap()
    };
    let by_name =
        "you are \"system:serviceaccount:a:b\" by name alone, not with the token of its pod";
    assert_eq!(said("system:serviceaccount:a:b"), by_name);
    assert_eq!(said("alice"), "you are \"alice\"");
    assert_eq!(said(""), "you have no name");
}
