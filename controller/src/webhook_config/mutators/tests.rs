use rstest::rstest;
use sandgate_shared::render::{Installation, webhook_configurations};
use serde_json::{Value, json};

use super::{of_policies, of_webhooks};

fn rule(edit: &Value) -> Value {
    let mut rule = json!({
        "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"], "scope": "*",
    });
    rule.as_object_mut()
        .unwrap()
        .extend(edit.as_object().unwrap().clone());
    rule
}

fn configuration(name: &str, webhook: &Value) -> Value {
    json!({"metadata": {"name": name, "uid": "u"}, "webhooks": [webhook]})
}

fn ours() -> Value {
    let [mutating, _] = webhook_configurations(&Installation::default());
    mutating
}

/// What is told of a webhook with one rule.
fn told_of(edit: &Value) -> Vec<String> {
    let foreign = configuration(
        "other",
        &json!({"name": "m.example.com", "rules": [rule(edit)]}),
    );
    let found = of_webhooks(&[ours(), foreign], &ours());
    found.iter().map(ToString::to_string).collect()
}

const ALL: &str = "sandboxclaims, sandboxclasses, clustersandboxclasses, connections";

#[rstest]
#[case::everything(json!({}), ALL)]
#[case::everything_and_below(json!({"resources": ["*/*"]}), "connections, sandboxclaims/status")]
#[case::our_group(json!({"apiGroups": ["apps", "omnia.altairalabs.ai"], "apiVersions": ["v1alpha1"]}), ALL)]
#[case::claims(json!({"resources": ["pods", "sandboxclaims"]}), "sandboxclaims on the way")]
#[case::claims_and_below(json!({"resources": ["sandboxclaims/*"]}), "sandboxclaims, sandboxclaims/status")]
#[case::status(json!({"resources": ["*/status"]}), "rewrite sandboxclaims/status on")]
#[case::updates(json!({"operations": ["DELETE", "UPDATE"]}), ALL)]
#[case::of_the_cluster(json!({"scope": "Cluster"}), "rewrite clustersandboxclasses on")]
#[case::of_namespaces(json!({"scope": "Namespaced"}), "sandboxclaims, sandboxclasses, connections on")]
fn a_webhook_whose_rules_match_what_is_ours_is_told_of(#[case] edit: Value, #[case] says: &str) {
    let told = told_of(&edit);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains(says), "{told:?}");
    assert!(told[0].contains("\"m.example.com\" of MutatingWebhookConfiguration \"other\""));
    assert!(!told[0].contains("selectors"));
}

#[rstest]
#[case::another_group(json!({"apiGroups": ["", "apps"]}))]
#[case::another_version(json!({"apiVersions": ["v1"]}))]
#[case::deletions(json!({"operations": ["DELETE", "CONNECT"]}))]
#[case::other_resources(json!({"resources": ["pods", "sandboxclaims/scale", "*/scale"]}))]
#[case::claims_of_the_cluster(json!({"resources": ["sandboxclaims"], "scope": "Cluster"}))]
#[case::no_resource(json!({"resources": []}))]
fn a_webhook_whose_rules_match_nothing_of_ours_is_not(#[case] edit: Value) {
    assert!(told_of(&edit).is_empty(), "{:?}", told_of(&edit));
}

#[test]
fn ours_is_not_foreign_but_a_strangers_entry_in_it_is_and_our_name_elsewhere_too() {
    let ours = ours();
    let stranger = json!({"name": "m.example.com", "rules": [rule(&json!({}))]});
    let mut with_stranger = ours.clone();
    with_stranger["webhooks"]
        .as_array_mut()
        .unwrap()
        .push(stranger);
    let borrowed = configuration("other", &ours["webhooks"][0]);
    let found: Vec<_> = of_webhooks(&[with_stranger, borrowed], &ours)
        .into_iter()
        .collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[0].object, "other");
    assert_eq!(found[1].webhook.as_deref(), Some("m.example.com"));
}

#[rstest]
#[case::by_namespace(json!({"namespaceSelector": {"matchLabels": {"a": "b"}}}), true)]
#[case::by_object(json!({"objectSelector": {"matchLabels": {"a": "b"}}}), true)]
#[case::by_condition(json!({"matchConditions": [{"name": "x", "expression": "false"}]}), true)]
#[case::by_nothing(json!({"namespaceSelector": {}, "objectSelector": {}}), false)]
fn what_narrows_a_webhook_is_said_and_does_not_hide_it(
    #[case] with: Value,
    #[case] narrowed: bool,
) {
    let mut webhook = json!({"name": "m.example.com", "rules": [rule(&json!({}))]});
    webhook
        .as_object_mut()
        .unwrap()
        .extend(with.as_object().unwrap().clone());
    let found = of_webhooks(&[configuration("other", &webhook)], &ours());
    let told: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        told[0].contains("as far as its selectors and conditions let it"),
        narrowed,
        "{told:?}"
    );
}

#[rstest]
#[case::bound(json!(["other", "mine"]), 1)]
#[case::bound_to_nothing_of_it(json!(["other"]), 0)]
fn a_policy_counts_once_a_binding_puts_it_in_force(#[case] bound: Value, #[case] count: usize) {
    let policy = json!({"metadata": {"name": "mine", "uid": "u"}, "spec": {"matchConstraints": {
        "resourceRules": [rule(&json!({"resourceNames": ["one"]}))],
    }}});
    let bindings: Vec<Value> = bound
        .as_array()
        .unwrap()
        .iter()
        .map(|name| json!({"spec": {"policyName": name}}))
        .collect();
    let found = of_policies(&[policy], &bindings);
    assert_eq!(found.len(), count);
    for told in found.iter().map(ToString::to_string) {
        assert!(
            told.starts_with("MutatingAdmissionPolicy \"mine\" may rewrite"),
            "{told}"
        );
        assert!(told.contains("as far as its selectors"), "{told}");
    }
}
