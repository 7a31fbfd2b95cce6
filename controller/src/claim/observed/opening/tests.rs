//! What policies open, as the network reads them, odd ones too.

use std::collections::BTreeMap;

use rstest::rstest;
use serde_json::{Value, json};

use super::Opening;

const UID: &str = "0b9c2f0e";

fn labels() -> Vec<(String, String)> {
    let labels = [
        ("app", "web"),
        ("tier", ""),
        ("omnia.altairalabs.ai/sandbox-claim", "mine"),
        ("omnia.altairalabs.ai/sandbox-claim-uid", UID),
    ];
    let owned = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
    owned.into()
}

fn selecting(selector: &Value) -> Opening {
    let spec = json!({"podSelector": selector, "policyTypes": ["Ingress"], "ingress": [{}]});
    Opening::read("p", &json!({ "spec": spec })).unwrap()
}

#[rstest]
#[case::all(json!({}), true)]
#[case::all_where_none_is_given(json!(null), true)]
#[case::label(json!({"matchLabels": {"app": "web"}}), true)]
#[case::another_value(json!({"matchLabels": {"app": "db"}}), false)]
#[case::empty_value(json!({"matchLabels": {"tier": ""}}), true)]
#[case::empty_value_of_no_label(json!({"matchLabels": {"none": ""}}), false)]
#[case::one_of_two_labels(json!({"matchLabels": {"app": "web", "none": "x"}}), false)]
#[case::is_in(requires("app", "In", &["db", "web"]), true)]
#[case::is_not_in(requires("app", "In", &["db"]), false)]
#[case::in_of_no_label(requires("none", "In", &["web"]), false)]
#[case::not_in(requires("app", "NotIn", &["db"]), true)]
#[case::not_in_but_is(requires("app", "NotIn", &["web"]), false)]
#[case::not_in_of_no_label(requires("none", "NotIn", &["web"]), true)]
#[case::exists(requires("tier", "Exists", &[]), true)]
#[case::exists_not(requires("none", "Exists", &[]), false)]
#[case::does_not_exist(requires("none", "DoesNotExist", &[]), true)]
#[case::does_not_exist_but_does(requires("tier", "DoesNotExist", &[]), false)]
#[case::label_and_expression(
    json!({
        "matchLabels": {"app": "web"},
        "matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}],
    }),
    false
)]
fn a_selector_selects_as_the_api_server_says(#[case] selector: Value, #[case] selects: bool) {
    let opening = selecting(&selector);
    assert_eq!(opening.selects(&labels()), selects);
    assert_eq!(opening.widening("p").opens, "ingress");
}

fn requires(key: &str, operator: &str, values: &[&str]) -> Value {
    json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]})
}

#[rstest]
#[case::operator(requires("app", "Resembles", &["w"]), "Invalid expression operator")]
#[case::no_values(requires("app", "In", &[]), "In of app lists no value")]
#[case::no_values_to_leave_out(requires("app", "NotIn", &[]), "NotIn of app lists no value")]
#[case::no_object(json!("app=web"), "invalid type")]
#[case::labels_that_are_none(json!({"matchLabels": {"app": 3}}), "invalid type")]
fn a_selector_that_cannot_be_understood_counts_as_one_that_selects_and_is_said(
    #[case] selector: Value,
    #[case] fault: &str,
) {
    let opening = selecting(&selector);
    assert!(opening.selects(&labels()));
    assert_eq!(opening.only_of, None);
    let said = opening.widening("p").opens;
    assert!(
        said.starts_with("ingress, perhaps: its podSelector"),
        "{said}"
    );
    assert!(said.contains(fault), "{said}");
}

#[rstest]
#[case::shut(json!({"policyTypes": ["Ingress", "Egress"]}), None)]
#[case::no_rule(json!({"policyTypes": ["Ingress"], "ingress": []}), None)]
#[case::ingress(json!({"policyTypes": ["Ingress"], "ingress": [{}]}), Some("ingress"))]
#[case::egress(json!({"policyTypes": ["Egress"], "egress": [{}]}), Some("egress"))]
#[case::both(
    json!({"policyTypes": ["Ingress", "Egress"], "ingress": [{}], "egress": [{}]}),
    Some("ingress and egress")
)]
#[case::a_rule_of_a_type_not_named(json!({"policyTypes": ["Egress"], "ingress": [{}]}), None)]
#[case::egress_of_a_type_not_named(json!({"policyTypes": ["Ingress"], "egress": [{}]}), None)]
#[case::no_types(json!({"ingress": [{}]}), Some("ingress"))]
#[case::no_types_and_egress(json!({"egress": [{}]}), Some("egress"))]
#[case::empty_types(json!({"policyTypes": [], "egress": [{}]}), Some("egress"))]
#[case::rules_that_are_no_list(json!({"egress": "all"}), Some("egress"))]
#[case::types_that_are_no_list(json!({"policyTypes": "Egress", "ingress": [{}]}), Some("ingress"))]
fn rules_count_in_the_directions_that_a_policy_speaks_of(
    #[case] spec: Value,
    #[case] ways: Option<&str>,
) {
    let opening = Opening::read("p", &json!({ "spec": spec }));
    let said = opening.map(|opening| opening.widening("p").opens);
    assert_eq!(said.as_deref(), ways);
}

#[rstest]
#[case::its_own("mine-sandbox", &["mine", UID], None)]
#[case::under_another_name("debug", &["mine", UID], Some(UID))]
#[case::under_another_claims_name("yours-sandbox", &["mine", UID], Some(UID))]
#[case::any_of_the_name("mine-sandbox", &["mine"], Some("anybody"))]
fn only_a_claims_own_policy_opens_nothing_to_others(
    #[case] name: &str,
    #[case] selected: &[&str],
    #[case] only_of: Option<&str>,
) {
    let keys = [
        "omnia.altairalabs.ai/sandbox-claim",
        "omnia.altairalabs.ai/sandbox-claim-uid",
    ];
    let labels: BTreeMap<_, _> = keys.iter().zip(selected).collect();
    let spec = json!({"podSelector": {"matchLabels": labels}, "ingress": [{}]});
    let opening = Opening::read(name, &json!({ "spec": spec }));
    let found = opening.map(|opening| opening.only_of.unwrap_or_else(|| "anybody".to_owned()));
    assert_eq!(found.as_deref(), only_of);
}

#[rstest]
#[case(json!(null))]
#[case(json!({"spec": null}))]
#[case(json!({"spec": []}))]
fn what_is_no_policy_opens_nothing(#[case] odd: Value) {
    assert_eq!(Opening::read("p", &odd), None);
}
