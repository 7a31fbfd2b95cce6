//! What the mutating call fills in, and what it leaves alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "a failing test stops where it stands, and tables pass their rows by value"
)]

use rstest::rstest;
use sandgate_shared::{
    corpus::Who,
    render::Installation,
    rules::{Attempt, Operation, Phase, Rulebook, Subject, Verdict},
};
use serde_json::{Value, json};

fn mutate(subject: Subject, object: &Value) -> Verdict {
    let identity = Installation::default().identity();
    Rulebook::compile(&identity).unwrap().judge(&Attempt {
        subject,
        operation: Operation::Create,
        subresource: None,
        phase: Phase::Mutating,
        object,
        old_object: None,
        user_info: &json!({
            "username": identity.username, "uid": "u",
            "groups": ["system:serviceaccounts", "system:serviceaccounts:sandgate-system"],
            "extra": {"authentication.kubernetes.io/pod-name": ["p"]},
        }),
    })
}

fn class(extra: Value) -> Value {
    let mut class = json!({"spec": {
        "image": "example.com/a:1",
        "ports": [{"name": "mcp", "port": 8080}],
        "trusted": true,
    }});
    json_patch::merge(&mut class, &extra);
    class
}

// Proves: W-005, W-006, W-007, W-008
#[rstest]
#[case::claim_class_kind(
    Subject::SandboxClaim,
    json!({"spec": {"agentRuntimeRef": {"name": "a"}, "classRef": {"name": "c"}, "sessionID": "s"}}),
    json!({"spec": {"classRef": {"kind": "SandboxClass"}}}),
)]
#[case::enrolment_duration(
    Subject::SandboxClaim,
    json!({"spec": {"classRef": {"name": "c", "kind": "SandboxClass"}, "sessionID": "s",
        "connections": [{"role": "login", "connection": "p"}], "enrolment": {"connection": "p"}}}),
    json!({"spec": {"enrolment": {"maxDuration": "15m"}}}),
)]
#[case::class_without_egress(
    Subject::SandboxClass,
    class(json!({})),
    json!({"spec": {"imagePullPolicy": "IfNotPresent"}}),
)]
#[case::class_with_everything_to_fill_in(
    Subject::ClusterSandboxClass,
    class(json!({"spec": {"trusted": null, "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
        "imagePullPolicy": "Always", "egress": {}, "mounts": [{"role": "scratch"}],
        "filesystem": {"scratch": [{"name": "tmp", "mountPath": "/tmp", "sizeLimit": "1Gi"}]}}})),
    json!({"spec": {"trusted": false, "egress": {"dns": false},
        "mounts": [{"role": "scratch", "access": "ReadWrite"}],
        "filesystem": {"readOnlyRoot": false, "scratch": [
            {"name": "tmp", "mountPath": "/tmp", "sizeLimit": "1Gi", "medium": "Disk"}]}}}),
)]
#[case::browser_session_scope(
    Subject::Connection,
    json!({"spec": {"hosts": ["portal.example.com"], "credential": {"kind": "browserSession",
        "browserSession": {"encryption": {"kmsProvider": "local", "keyID": "k"}}}}}),
    json!({"spec": {"credential": {"browserSession": {"scope": "perUser"}}}}),
)]
#[case::client_secret_key(
    Subject::Connection,
    json!({"spec": {"hosts": ["github.com"], "credential": {"kind": "gitHost", "gitHost": {
        "provider": "github", "encryption": {"kmsProvider": "local", "keyID": "k"},
        "oauth": {"clientID": "i", "clientSecretRef": {"name": "s"}}}}}}),
    json!({"spec": {"credential": {"gitHost": {"oauth": {"clientSecretRef": {"key": "clientSecret"}}}}}}),
)]
fn exactly_the_documented_defaults_are_filled_in_and_a_second_pass_yields_none(
    #[case] subject: Subject,
    #[case] object: Value,
    #[case] filled_in: Value,
) {
    let verdict = mutate(subject, &object);
    assert_eq!((&verdict.violations, &verdict.faults), (&vec![], &vec![]));

    let mut expected = object.clone();
    json_patch::merge(&mut expected, &filled_in);
    let mut patched = object;
    json_patch::patch(&mut patched, &verdict.patch).unwrap();
    assert_eq!(patched, expected);

    assert_eq!(mutate(subject, &patched).patch, vec![]);
}

// Proves: W-005
#[test]
fn fields_nobody_knows_survive_the_patch_untouched() {
    let object = json!({"spec": {
        "agentRuntimeRef": {"name": "a", "future": [1, 1.0]},
        "classRef": {"name": "c"},
        "sessionID": "s",
        "unheardOf": {"deep": null},
    }});
    let mut patched = object.clone();
    json_patch::patch(&mut patched, &mutate(Subject::SandboxClaim, &object).patch).unwrap();
    assert_eq!(
        patched.pointer("/spec/agentRuntimeRef"),
        object.pointer("/spec/agentRuntimeRef")
    );
    assert_eq!(
        patched.pointer("/spec/unheardOf"),
        object.pointer("/spec/unheardOf")
    );
}

// Proves: W-011
#[test]
fn every_broken_bound_is_told_at_once_in_path_order() {
    let verdict = mutate(
        Subject::SandboxClaim,
        &json!({"spec": {
            "agentRuntimeRef": {"name": ""},
            "classRef": {"kind": "Elsewhere"},
            "sessionID": "-bad-",
            "handle": "Nope",
            "maxInstances": 0,
        }}),
    );
    let told: Vec<_> = verdict
        .violations
        .iter()
        .map(|v| (v.field.as_str(), v.rule.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("spec.agentRuntimeRef.name", "schema-min-length"),
            ("spec.classRef.kind", "schema-enum"),
            ("spec.classRef.name", "schema-required"),
            ("spec.handle", "claim-handle"),
            ("spec.maxInstances", "schema-minimum"),
            ("spec.sessionID", "schema-pattern"),
        ]
    );
    assert!(verdict.patch.is_empty(), "a refused object is not patched");
}

// Proves: W-002
#[test]
fn a_value_of_the_wrong_type_is_left_to_the_api_servers_own_error() {
    let object = json!({"spec": {"classRef": "codegen", "sessionID": 7}});
    let verdict = mutate(Subject::SandboxClaim, &object);
    assert_eq!(verdict, Verdict::default());
}

// Proves: W-005, W-017
#[rstest]
#[case::that_only_loses_a_finalizer(json!({}))]
#[case::whose_spec_is_changed(json!({"spec": {"requestedBy": {"subject": "u1"}}}))]
fn nothing_is_filled_into_an_object_on_its_way_out(#[case] change: Value) {
    let identity = Installation::default().identity();
    let old = json!({
        "metadata": {
            "name": "a",
            "deletionTimestamp": "2026-01-01T00:00:00Z",
            "finalizers": ["foregroundDeletion"],
        },
        "spec": {"agentRuntimeRef": {"name": "a"}, "classRef": {"name": "c"}, "sessionID": "s"},
    });
    let mut object = old.clone();
    json_patch::merge(&mut object, &json!({"metadata": {"finalizers": null}}));
    json_patch::merge(&mut object, &change);
    let attempt = Attempt {
        subject: Subject::SandboxClaim,
        operation: Operation::Update,
        subresource: None,
        phase: Phase::Mutating,
        object: &object,
        old_object: Some(&old),
        user_info: &Who::Operator.user_info(&identity),
    };
    let verdict = Rulebook::compile(&identity).unwrap().judge(&attempt);
    assert_eq!(verdict, Verdict::default());
}

// Proves: T-025, W-017
#[rstest]
#[case::labelled(json!({"metadata": {"labels": {"team": "a"}}}), &[])]
#[case::with_another_subject(
    json!({"spec": {"enrolment": {"subject": "u1"}}}),
    &["claim-enrolment-immutable", "claim-enrolment-duration"],
)]
#[case::with_a_duration_that_can_be_read(
    json!({"spec": {"enrolment": {"maxDuration": "15m"}}}),
    &["claim-enrolment-immutable"],
)]
fn an_enrolment_stored_with_a_duration_nobody_can_read_is_judged_and_never_a_fault(
    #[case] change: Value,
    #[case] broken: &[&str],
) {
    let identity = Installation::default().identity();
    let old = json!({"metadata": {"name": "a"}, "spec": {
        "classRef": {"name": "c", "kind": "SandboxClass"},
        "sessionID": "s",
        "connections": [{"role": "login", "connection": "p"}],
        "enrolment": {"connection": "p", "maxDuration": "soon"},
    }});
    let mut object = old.clone();
    json_patch::merge(&mut object, &change);
    let verdict = Rulebook::compile(&identity).unwrap().judge(&Attempt {
        subject: Subject::SandboxClaim,
        operation: Operation::Update,
        subresource: None,
        phase: Phase::Validating,
        object: &object,
        old_object: Some(&old),
        user_info: &Who::Operator.user_info(&identity),
    });
    let named: Vec<_> = verdict.violations.iter().map(|v| v.rule.as_str()).collect();
    assert_eq!((named.as_slice(), verdict.faults.len()), (broken, 0));
}
