//! Who is the operator, and who is only like it, as the API server may describe them.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a failing test stops where it stands, and tables pass their rows by value"
)]

use std::sync::LazyLock;

use rstest::rstest;
use sandgate_shared::{
    corpus::Who,
    render::Installation,
    rules::{Attempt, Operation, Phase, Rulebook, Subject, Verdict},
};
use serde_json::{Value, json};

static RULEBOOK: LazyLock<Rulebook> =
    LazyLock::new(|| Rulebook::compile(&Installation::default().identity()).unwrap());

/// What comes of a claim that only the operator may create.
fn reserved_by(user_info: &Value) -> Verdict {
    RULEBOOK.judge(&Attempt {
        subject: Subject::SandboxClaim,
        operation: Operation::Create,
        subresource: None,
        phase: Phase::Validating,
        object: &json!({"metadata": {"name": "a"}, "spec": {
            "agentRuntimeRef": {"name": "a"},
            "classRef": {"name": "c", "kind": "SandboxClass"},
            "sessionID": "s",
            "targetPath": "a/b",
        }}),
        old_object: None,
        user_info,
    })
}

fn operator_with(patch: Value) -> Value {
    let mut info = Who::Operator.user_info(&Installation::default().identity());
    json_patch::merge(&mut info, &patch);
    info
}

const POD: &str = "authentication.kubernetes.io/pod-name";

// Proves: W-018, P-004
#[rstest]
#[case::the_operator(json!({}))]
#[case::of_another_uid_since_no_layer_knows_the_uid(json!({"uid": "another"}))]
#[case::with_more_groups_and_more_said_of_it(
    json!({"groups": ["system:serviceaccounts", "system:serviceaccounts:sandgate-system", "more"],
        "extra": {"authentication.kubernetes.io/node-name": ["n"]}}),
)]
fn whoever_is_the_operator_may_write_what_is_its_own(#[case] patch: Value) {
    assert_eq!(reserved_by(&operator_with(patch)), Verdict::default());
}

// Proves: W-018, P-004
#[rstest]
#[case::nobody(json!(null))]
#[case::nothing_known(json!({}))]
#[case::a_text(json!("system:serviceaccount:sandgate-system:sandgate-controller"))]
#[case::anonymous(json!({"username": "system:anonymous", "groups": ["system:unauthenticated"]}))]
#[case::no_groups(operator_with(json!({"groups": null})))]
#[case::an_empty_list_of_groups(operator_with(json!({"groups": []})))]
#[case::ten_thousand_other_groups(operator_with(json!({"groups": vec!["g"; 10_000]})))]
#[case::an_empty_uid(operator_with(json!({"uid": ""})))]
#[case::no_pod_at_all(operator_with(json!({"extra": {POD: []}})))]
#[case::a_pod_without_a_name(operator_with(json!({"extra": {POD: [""]}})))]
#[case::two_pods(operator_with(json!({"extra": {POD: ["a", "b"]}})))]
#[case::one_pod_twice(operator_with(json!({"extra": {POD: ["a", "a"]}})))]
#[case::a_pod_and_none(operator_with(json!({"extra": {POD: ["a", ""]}})))]
#[case::a_pod_of_null(operator_with(json!({"extra": {POD: null}})))]
#[case::another_case_of_the_name(
    operator_with(json!({"username": "system:serviceaccount:sandgate-system:Sandgate-Controller"})),
)]
#[case::a_name_that_goes_on(
    operator_with(json!({"username": "system:serviceaccount:sandgate-system:sandgate-controller-2"})),
)]
#[case::a_mebibyte_said_of_it(
    operator_with(json!({"uid": null, "extra": {"x": ["x".repeat(1 << 20)]}})),
)]
fn whoever_lacks_any_part_of_the_operator_is_refused_and_told_who_may(#[case] user_info: Value) {
    let verdict = reserved_by(&user_info);
    let rules: Vec<_> = verdict.violations.iter().map(|v| v.rule.as_str()).collect();
    assert_eq!(
        (rules.as_slice(), verdict.faults.len()),
        (&["claim-operator-target-path"][..], 0),
        "{verdict:?}"
    );
}
