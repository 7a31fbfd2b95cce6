//! What the patterns of the schemas let through, judged by the rulebook.

#![allow(clippy::unwrap_used, reason = "a failing test stops where it stands")]

use rstest::rstest;
use sandgate_shared::{
    render::Installation,
    rules::{Attempt, Operation, Phase, Rulebook, Subject},
};
use serde_json::{Value, json};

fn rules_broken(subject: Subject, object: &Value) -> Vec<String> {
    let rulebook = Rulebook::compile(&Installation::default().identity()).unwrap();
    let verdict = rulebook.judge(&Attempt {
        subject,
        operation: Operation::Create,
        subresource: None,
        phase: Phase::Mutating,
        object,
        old_object: None,
        user_info: &json!({"username": "alice"}),
    });
    verdict
        .violations
        .into_iter()
        .map(|violation| violation.rule)
        .collect()
}

// Proves: T-059
#[rstest]
#[case::plain("api.example.com", true)]
#[case::wildcard("*.example.com", true)]
#[case::punycode("xn--bcher-kva.example", true)]
#[case::one_label("localhost", false)]
#[case::wildcard_over_one_label("*.com", false)]
#[case::bare_wildcard("*", false)]
#[case::inner_wildcard("a.*.example.com", false)]
#[case::upper_case("API.example.com", false)]
#[case::address("10.0.0.1", false)]
#[case::address_of_six("[::1]", false)]
#[case::scheme("https://example.com", false)]
#[case::port("example.com:443", false)]
#[case::user("me@example.com", false)]
#[case::trailing_dot("example.com.", false)]
#[case::underscore("a_b.example.com", false)]
#[case::newline("example.com\n", false)]
fn a_host_is_a_lower_case_name_of_two_labels_or_more(#[case] host: &str, #[case] good: bool) {
    let connection = json!({"spec": {"hosts": [host], "credential": {"kind": "none"}}});
    let broken = rules_broken(Subject::Connection, &connection);
    assert_eq!(broken.is_empty(), good, "{host:?}: {broken:?}");
}

// Proves: T-007, T-008
#[rstest]
#[case::plain("codegen-default", true)]
#[case::with_dots("codegen.v2", true)]
#[case::query("codegen?watch=true", false)]
#[case::path("codegen/status", false)]
#[case::parent("..", false)]
#[case::escaped("codegen%6e", false)]
#[case::blank("code gen", false)]
#[case::upper_case("Codegen", false)]
fn a_reference_names_something_that_can_exist(#[case] name: &str, #[case] good: bool) {
    let expected: &[&str] = if good { &[] } else { &["schema-pattern"] };
    for reference in ["agentRuntimeRef", "classRef"] {
        let mut claim = json!({"spec": {
            "agentRuntimeRef": {"name": "a"}, "classRef": {"name": "c"}, "sessionID": "s"}});
        json_patch::merge(&mut claim, &json!({"spec": {reference: {"name": name}}}));
        assert_eq!(
            rules_broken(Subject::SandboxClaim, &claim),
            expected,
            "{reference} {name:?}"
        );
    }
}
