//! What the API server is told about the webhook, so that it is asked about our kinds and their
//! subresources, and about nothing that anybody else needs.

use std::collections::BTreeSet;

use sandgate_shared::render::{Installation, admission_policy, crds, webhook_configurations};
use serde_json::{Value, json};

fn webhooks() -> [Value; 2] {
    webhook_configurations(&Installation::default()).map(|mut configuration| {
        let webhooks = configuration["webhooks"].take();
        assert_eq!(webhooks.as_array().map(Vec::len), Some(1));
        webhooks[0].clone()
    })
}

// Proves: X-013
#[test]
fn nothing_outside_our_group_and_no_deletion_ever_waits_for_the_webhook() {
    for webhook in webhooks() {
        let rules = webhook["rules"].as_array().unwrap();
        for rule in rules {
            assert_eq!(rule["apiGroups"], json!(["omnia.altairalabs.ai"]));
            assert_eq!(rule["operations"], json!(["CREATE", "UPDATE"]));
            let resources = rule["resources"].as_array().unwrap();
            assert!(
                !resources
                    .iter()
                    .any(|resource| resource.as_str().unwrap().contains('*'))
            );
        }
        // A selector would be a way past it for whoever may label.
        assert!(
            webhook.get("namespaceSelector").is_none() && webhook.get("objectSelector").is_none()
        );
        // Open when down is no protection, and nobody would notice.
        assert_eq!(webhook["failurePolicy"], "Fail");
        assert_eq!(webhook["sideEffects"], "None", "else a dry run is an error");
        assert_eq!(webhook["admissionReviewVersions"], json!(["v1"]));
        // Longer than a connection takes to fail, so that its user is told why.
        assert_eq!(webhook["timeoutSeconds"], 10);
    }
}

// Proves: P-001, P-031
#[test]
fn every_subresource_of_a_kind_with_a_rule_about_it_is_asked_about_and_a_new_one_fails_here() {
    let [mutating, validating] = webhooks();
    let resources = |webhook: &Value| -> BTreeSet<String> {
        let resources = webhook["rules"][0]["resources"].as_array().unwrap();
        resources
            .iter()
            .map(|resource| resource.as_str().unwrap().to_owned())
            .collect()
    };
    let mut kinds = BTreeSet::new();
    let mut known = BTreeSet::new();
    for crd in crds() {
        let plural = crd["spec"]["names"]["plural"].as_str().unwrap().to_owned();
        for version in crd["spec"]["versions"].as_array().unwrap() {
            for name in version["subresources"]
                .as_object()
                .into_iter()
                .flat_map(|all| all.keys())
            {
                assert_eq!(
                    name, "status",
                    "{plural}/{name} has no rules and would be refused whole"
                );
                known.insert(format!("{plural}/{name}"));
            }
        }
        kinds.insert(plural);
    }
    assert_eq!(resources(&mutating), kinds, "a status takes no defaults");
    let validated: BTreeSet<String> = resources(&validating).difference(&kinds).cloned().collect();
    assert!(validated.is_subset(&known), "{validated:?} does not exist");
    assert!(validated.contains("sandboxclaims/status"), "{validated:?}");
}

// Proves: P-001
#[test]
fn no_message_is_an_expression_that_could_fail_or_hold_what_somebody_wrote() {
    let mut rendered: Vec<Value> = admission_policy(&Installation::default()).to_vec();
    rendered.extend(crds());
    for object in rendered {
        let text = object.to_string();
        assert!(
            !text.contains("messageExpression"),
            "{}",
            object["metadata"]["name"]
        );
        assert!(
            !text.contains("\"auditAnnotations\""),
            "{}",
            object["metadata"]["name"]
        );
    }
}
