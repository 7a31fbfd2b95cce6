//! The ValidatingAdmissionPolicy and its binding, as they are rendered.

#![allow(clippy::unwrap_used, reason = "a failing test stops where it stands")]

use sandgate_shared::render::{Installation, admission_policy};
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
