//! The ValidatingAdmissionPolicy and its binding, as they are rendered.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failing test stops where it stands"
)]

use std::collections::BTreeSet;

use sandgate_shared::render::{Installation, admission_policy, crds, webhook_configurations};
use sandgate_shared::rules::{Layer, Moment, Subject, table};
use serde_json::{Value, json};

fn text<'a>(manifest: &'a Value, pointer: &str) -> &'a str {
    manifest
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

// Proves: P-001, X-007
#[test]
fn policy_and_binding_bear_the_release_and_a_hash_that_changes_with_the_rules() {
    let [policy, binding] = admission_policy(&Installation::default());
    let name = text(&policy, "/metadata/name");
    let hash = name.strip_prefix("sandgate-sandbox-claim-").unwrap();
    assert!(
        hash.len() == 10 && hash.bytes().all(|b| b.is_ascii_hexdigit()),
        "{name}"
    );
    assert_eq!(text(&binding, "/metadata/name"), name);
    assert_eq!(text(&binding, "/spec/policyName"), name);

    let again = admission_policy(&Installation::default());
    assert_eq!(
        text(&again[0], "/metadata/name"),
        name,
        "the same rules are the same object"
    );
    let [other, _] = admission_policy(&Installation {
        require_pod_bound_token: false,
        ..Installation::default()
    });
    assert_ne!(
        text(&other, "/metadata/name"),
        name,
        "other rules are another object"
    );
}

// Proves: X-007
#[test]
fn the_hash_is_of_the_rules_alone_whoever_the_operator_is() {
    let elsewhere = Installation {
        release: "other".to_owned(),
        namespace: "elsewhere".to_owned(),
        service_account: "other-controller".to_owned(),
        ..Installation::default()
    };
    let [here, there] = [Installation::default(), elsewhere]
        .map(|installation| admission_policy(&installation)[0].clone());
    let hash = |policy: &Value| {
        text(policy, "/metadata/name")
            .rsplit('-')
            .next()
            .map(str::to_owned)
    };
    assert_eq!(hash(&here), hash(&there));
    // The rules name the operator all the same.
    assert_ne!(here["spec"], there["spec"]);
}

// Proves: P-005
#[test]
fn the_policy_fails_closed_and_its_binding_only_denies_and_narrows_nothing() {
    let [policy, binding] = admission_policy(&Installation::default());
    assert_eq!(policy.pointer("/spec/failurePolicy"), Some(&json!("Fail")));
    assert_eq!(
        binding.get("spec"),
        Some(&json!({
            "policyName": text(&policy, "/metadata/name"),
            "validationActions": ["Deny"],
        }))
    );
    assert_eq!(policy.pointer("/spec/matchConditions"), None);
}

// Proves: P-004, W-018
#[test]
fn the_policy_exempts_one_authenticated_user_and_nobody_like_it() {
    let [policy, _] = admission_policy(&Installation::default());
    let operator = text(&policy, "/spec/variables/0/expression");
    let wanted = "request.userInfo.username == \
                  'system:serviceaccount:sandgate-system:sandgate-controller'";
    assert!(operator.contains(wanted), "{operator}");
    for loose in [
        "startsWith",
        "contains",
        "matches",
        "annotations",
        "labels",
        "||",
    ] {
        assert!(!operator.contains(loose), "{operator}");
    }
}

/// What the CRDs serve, as rules name it: each kind, and each of its subresources.
fn served() -> BTreeSet<String> {
    let mut served = BTreeSet::new();
    for crd in crds() {
        let plural = text(&crd, "/spec/names/plural").to_owned();
        for version in crd["spec"]["versions"].as_array().unwrap() {
            let subresources = version["subresources"].as_object();
            let names = subresources.into_iter().flatten().map(|(name, _)| name);
            served.extend(names.map(|name| format!("{plural}/{name}")));
        }
        served.insert(plural);
    }
    served
}

/// What the rules at `pointer` name.
fn resources(manifest: &Value, pointer: &str) -> BTreeSet<String> {
    let rules = manifest.pointer(pointer).and_then(Value::as_array).unwrap();
    rules
        .iter()
        .flat_map(|rule| rule["resources"].as_array().unwrap())
        .map(|name| name.as_str().unwrap().to_owned())
        .collect()
}

// Proves: P-001, P-031
#[test]
fn the_policy_names_every_subresource_of_the_kinds_it_has_rules_about() {
    let [policy, _] = admission_policy(&Installation::default());
    let ruled: BTreeSet<&str> = table()
        .filter(|row| row.layer == Layer::Policy)
        .flat_map(|row| row.subjects)
        .map(|subject| subject.plural())
        .collect();
    let wanted: BTreeSet<String> = served()
        .into_iter()
        .filter(|name| ruled.contains(name.split('/').next().unwrap_or_default()))
        .collect();
    assert_eq!(
        resources(&policy, "/spec/matchConstraints/resourceRules"),
        wanted,
        "a subresource that no layer judges is a way around every rule"
    );
}

// Proves: W-001, P-031
#[test]
fn the_validating_webhook_is_asked_about_every_subresource_and_the_mutating_about_none() {
    let [mutating, validating] = webhook_configurations(&Installation::default());
    assert_eq!(resources(&validating, "/webhooks/0/rules"), served());
    let kinds = Subject::ALL.map(|subject| subject.plural().to_owned());
    assert_eq!(
        resources(&mutating, "/webhooks/0/rules"),
        BTreeSet::from(kinds)
    );
}

// Proves: P-031
#[test]
fn every_subresource_has_rules_of_its_own() {
    let subresources: BTreeSet<String> = served()
        .into_iter()
        .filter_map(|name| Some(name.split_once('/')?.1.to_owned()))
        .collect();
    for subresource in subresources {
        let judged = table().any(|row| {
            row.moment.covers(
                sandgate_shared::rules::Operation::Update,
                Some(&subresource),
            )
        });
        assert!(judged, "no rule judges writes of {subresource}");
    }
    assert!(table().any(|row| row.moment == Moment::StatusChange));
}

// Proves: W-002, P-002
#[test]
fn every_refusal_of_the_policy_is_a_fixed_sentence_that_no_object_can_bend() {
    let [policy, _] = admission_policy(&Installation::default());
    for validation in policy["spec"]["validations"].as_array().unwrap() {
        assert_eq!(validation.get("messageExpression"), None);
        let message = text(validation, "/message");
        assert!(
            message.ends_with(']') && !message.contains('\n'),
            "{message}"
        );
    }
}

// Proves: P-005, W-001
#[test]
fn nothing_anybody_may_label_takes_an_object_out_of_a_layers_sight() {
    let installation = Installation::default();
    let manifests = admission_policy(&installation)
        .into_iter()
        .chain(webhook_configurations(&installation));
    for manifest in manifests {
        let all = manifest.to_string();
        for selector in [
            "namespaceSelector",
            "objectSelector",
            "excludeResourceRules",
        ] {
            assert!(!all.contains(selector), "{selector} in {all}");
        }
    }
}
