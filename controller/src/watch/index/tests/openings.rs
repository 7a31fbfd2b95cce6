//! Policies beside the claims' own: which pods they open, and whom that concerns.

use std::collections::BTreeSet;

use rstest::rstest;
use serde_json::{Value, json};

use super::{a, index, object, pod};
use crate::key::Key;
use crate::watch::index::Index;
use crate::watch::{Source, Subject};

fn policy(name: &str, version: u64, selector: &Value) -> Value {
    json!({
        "kind": "NetworkPolicy",
        "metadata": {"namespace": "ns", "name": name, "uid": format!("uid-{name}"),
            "resourceVersion": version.to_string()},
        "spec": {"podSelector": selector, "policyTypes": ["Ingress"], "ingress": [{}]},
    })
}

fn of_pod(app: &str) -> Value {
    let mut pod = pod(5, true);
    pod["metadata"]["labels"]["app"] = json!(app);
    pod
}

/// An index that knows claim `a` and its pod, which is called a web server.
fn with_pod() -> Index {
    let index = index();
    index.observe(Source::Pods, object(of_pod("web"))).unwrap();
    index
}

fn takes(index: &Index, policy: Value) -> BTreeSet<Subject> {
    index
        .observe(Source::NetworkPolicies, object(policy))
        .unwrap()
}

fn opened_by(index: &Index) -> Vec<String> {
    let observed = index.observed(&Key::new("ns", "a")).unwrap();
    let pods = observed.pods.iter();
    let widenings = pods.flat_map(|pod| &pod.opened_by);
    widenings.map(|widening| widening.policy.clone()).collect()
}

fn web() -> Value {
    json!({"matchLabels": {"app": "web"}})
}

#[test]
fn a_policy_concerns_the_claims_whose_pods_it_opens_when_it_comes_changes_and_goes() {
    let index = with_pod();
    assert_eq!(takes(&index, policy("open", 6, &web())), a());
    assert_eq!(opened_by(&index), ["open"]);
    // Written again, with nothing that opens anything else.
    let mut same = policy("open", 7, &web());
    same["metadata"]["labels"] = json!({"team": "x"});
    assert!(takes(&index, same).is_empty());
    let elsewhere = json!({"matchLabels": {"app": "db"}});
    assert_eq!(takes(&index, policy("open", 8, &elsewhere)), a());
    assert_eq!(opened_by(&index), [""; 0]);
    assert!(
        takes(
            &index,
            policy("open", 9, &json!({"matchLabels": {"app": "x"}}))
        )
        .is_empty()
    );
    assert_eq!(takes(&index, policy("open", 10, &json!({}))), a());
    let gone = object(policy("open", 11, &json!({})));
    assert_eq!(index.forget(Source::NetworkPolicies, &gone), a());
    assert_eq!(opened_by(&index), [""; 0]);
}

#[test]
fn a_policy_that_loses_its_last_rule_opens_nothing_any_more() {
    let index = with_pod();
    takes(&index, policy("open", 6, &json!({})));
    let mut shut = policy("open", 7, &json!({}));
    shut["spec"]["ingress"] = json!([]);
    assert_eq!(takes(&index, shut), a());
    assert_eq!(opened_by(&index), [""; 0]);
}

#[test]
fn a_policy_that_a_listing_no_longer_shows_opens_nothing_any_more() {
    let index = with_pod();
    takes(&index, policy("open", 6, &json!({})));
    takes(&index, policy("wide", 7, &json!({})));
    index.begin_listing(Source::NetworkPolicies);
    assert!(takes(&index, policy("wide", 7, &json!({}))).is_empty());
    assert_eq!(index.end_listing(Source::NetworkPolicies), a());
    assert_eq!(opened_by(&index), ["wide"]);
}

#[rstest]
#[case::of_another_namespace("far", "open", json!({}), &[])]
#[case::its_own("ns", "a-sandbox", json!({}), &[])]
#[case::of_another_claim("ns", "b-sandbox", json!({}), &["b-sandbox"])]
#[case::the_baseline("ns", "sandgate-baseline", json!({}), &["sandgate-baseline"])]
#[case::of_this_claim_alone(
    "ns",
    "debug",
    json!({"matchLabels": {"omnia.altairalabs.ai/sandbox-claim-uid": "uid-a"}}),
    &["debug"]
)]
#[case::of_another_claim_alone(
    "ns",
    "debug",
    json!({"matchLabels": {"omnia.altairalabs.ai/sandbox-claim-uid": "uid-b"}}),
    &[]
)]
fn a_pod_is_opened_by_the_policies_of_its_namespace_but_its_own(
    #[case] namespace: &str,
    #[case] name: &str,
    #[case] selector: Value,
    #[case] opens: &[&str],
) {
    let index = with_pod();
    let mut policy = policy(name, 6, &selector);
    policy["metadata"]["namespace"] = json!(namespace);
    let concerned = takes(&index, policy);
    assert_eq!(opened_by(&index), opens);
    let told = concerned.contains(&Subject::Claim(Key::new("ns", "a")));
    assert_eq!(told, !opens.is_empty() || name == "a-sandbox");
}

#[test]
fn a_pods_labels_as_they_are_now_decide() {
    let index = with_pod();
    takes(
        &index,
        policy("open", 6, &json!({"matchLabels": {"app": "db"}})),
    );
    assert_eq!(opened_by(&index), [""; 0]);
    let mut edited = of_pod("db");
    edited["metadata"]["resourceVersion"] = json!("7");
    assert_eq!(index.observe(Source::Pods, object(edited)).unwrap(), a());
    assert_eq!(opened_by(&index), ["open"]);
}

#[test]
fn the_own_policies_of_ten_thousand_claims_are_not_kept_twice() {
    let index = Index::default();
    for number in 0..10_000 {
        let selector = json!({"matchLabels": {
            "omnia.altairalabs.ai/sandbox-claim": format!("c{number}"),
            "omnia.altairalabs.ai/sandbox-claim-uid": format!("uid-{number}"),
        }});
        takes(
            &index,
            policy(&format!("c{number}-sandbox"), number + 1, &selector),
        );
    }
    assert_eq!(index.opening_count(), 0);
    takes(&index, policy("open", 10_001, &json!({})));
    assert_eq!(index.opening_count(), 1);
}
