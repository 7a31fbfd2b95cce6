use rstest::rstest;
use sandgate_shared::names;
use sandgate_shared::render::{Installation, webhook_configurations};
use serde_json::{Value, json};

use super::{Standing, compare, disowned, last_writer, put_right};

/// The two configurations as an API server returns them: with defaults, a `caBundle`, and what Helm
/// and the API server add.
fn stored() -> [(Value, Value); 2] {
    webhook_configurations(&Installation::default()).map(|wanted| {
        let mut stands = wanted.clone();
        stands["metadata"]["resourceVersion"] = json!("7");
        stands["metadata"]["labels"]["helm.sh/chart"] = json!("sandgate-1");
        stands["metadata"]["annotations"]["meta.helm.sh/release-name"] = json!("sandgate");
        let webhook = &mut stands["webhooks"][0];
        webhook["namespaceSelector"] = json!({});
        webhook["objectSelector"] = json!({});
        webhook["clientConfig"]["caBundle"] = json!("UEVN");
        (wanted, stands)
    })
}

/// What is told of each kind after the same edit.
fn told_after(edit: impl Fn(&mut Value)) -> Vec<String> {
    let told = stored().map(|(wanted, mut stands)| {
        edit(&mut stands);
        match compare(&wanted, Some(&stands)) {
            Standing::Altered(differences) => {
                let healed = put_right(&wanted, &stands);
                assert_eq!(compare(&wanted, Some(&healed)), Standing::Sound);
                differences.iter().map(ToString::to_string).collect()
            }
            Standing::Sound => Vec::new(),
            other => panic!("{other:?}"),
        }
    });
    told.concat()
}

// Proves: X-013
#[test]
fn what_the_api_server_and_helm_add_and_the_ca_bundle_are_no_edit() {
    for (wanted, stands) in stored() {
        assert_eq!(compare(&wanted, Some(&stands)), Standing::Sound);
        assert_eq!(compare(&wanted, Some(&wanted)), Standing::Sound);
    }
    assert!(
        told_after(|it| it["webhooks"][0]["clientConfig"]["caBundle"] = json!("eA==")).is_empty()
    );
}

// Proves: X-013
#[rstest]
#[case::failure_policy("failurePolicy", json!("Ignore"), "is \"Ignore\", not \"Fail\"")]
#[case::timeout("timeoutSeconds", json!(1), "is 1, not 10")]
#[case::side_effects("sideEffects", json!("NoneOnDryRun"), "is \"NoneOnDryRun\", not \"None\"")]
#[case::match_policy("matchPolicy", json!("Exact"), "is \"Exact\", not \"Equivalent\"")]
#[case::review_versions("admissionReviewVersions", json!(["v2", "v1"]), "is [\"v2\",\"v1\"], not [\"v1\"]")]
#[case::namespace_selector("namespaceSelector", json!({"matchLabels": {"a": "b"}}),
    "is {\"matchLabels\":{\"a\":\"b\"}}, which Sandgate leaves out")]
#[case::object_selector("objectSelector", json!({"matchLabels": {"a": "b"}}),
    "is {\"matchLabels\":{\"a\":\"b\"}}, which Sandgate leaves out")]
#[case::no_rules("rules", json!([]), "is missing, it should be [")]
#[case::no_conditions("matchConditions", json!(null), "is missing, it should be [")]
#[case::one_more_condition("matchConditions", json!([{"name": "never", "expression": "false"}]),
    "is [{\"expression\":\"false\",\"name\":\"never\"}], not [")]
#[case::client("clientConfig", json!({"url": "https://elsewhere.example/mutate"}),
    "is {\"url\":\"https://elsewhere.example/mutate\"}, not {")]
#[case::a_field_nobody_knows("newField", json!(true), "is true, which Sandgate leaves out")]
fn a_changed_field_is_named_with_what_stands_and_what_should(
    #[case] field: &str,
    #[case] value: Value,
    #[case] told: &str,
) {
    let all = told_after(|stands| stands["webhooks"][0][field] = value.clone());
    assert_eq!(all.len(), 2, "{all:?}");
    for (one, verb) in all.iter().zip(["mutate", "validate"]) {
        let start = format!("webhooks[{verb}.sandgate.{}].{field} {told}", names::GROUP);
        assert!(one.starts_with(&start), "{one}");
    }
}

#[test]
fn reinvocation_is_the_mutating_webhooks_alone() {
    let all = told_after(|it| it["webhooks"][0]["reinvocationPolicy"] = json!("Never"));
    assert!(
        all[0].ends_with("reinvocationPolicy is \"Never\", not \"IfNeeded\""),
        "{all:?}"
    );
}

// Proves: X-013
#[test]
fn an_entry_that_was_taken_out_is_put_back_and_a_foreign_one_stays() {
    for (wanted, mut stands) in stored() {
        let foreign = json!({"name": "foreign.example.com", "clientConfig": {"caBundle": "eA=="}});
        stands["webhooks"] = json!([foreign]);
        let Standing::Altered(told) = compare(&wanted, Some(&stands)) else {
            panic!("not seen");
        };
        assert!(told[0].to_string().contains("is missing"), "{told:?}");
        let healed = put_right(&wanted, &stands);
        assert_eq!(healed["webhooks"], json!([foreign, wanted["webhooks"][0]]));
    }
}

// Proves
#[test]
fn a_heal_keeps_the_ca_bundle_and_all_that_is_not_ours() {
    for (wanted, mut stands) in stored() {
        let before = stands.clone();
        stands["webhooks"][0]["failurePolicy"] = json!("Ignore");
        stands["webhooks"][0]["namespaceSelector"] = json!({"matchLabels": {"a": "b"}});
        let healed = put_right(&wanted, &stands);
        assert_eq!(healed["metadata"], before["metadata"]);
        assert_eq!(healed["webhooks"][0]["clientConfig"]["caBundle"], "UEVN");
        assert_eq!(healed["webhooks"][0]["failurePolicy"], "Fail");
    }
}

#[test]
fn the_mark_tells_another_version_from_an_edit() {
    for (wanted, mut stands) in stored() {
        stands["metadata"]["annotations"][names::ANNOTATION_WEBHOOK_RULES] = json!("0123456789");
        stands["webhooks"][0]["timeoutSeconds"] = json!(5);
        let Standing::OtherVersion { mark, differences } = compare(&wanted, Some(&stands)) else {
            panic!("not seen");
        };
        assert_eq!(mark, "0123456789");
        assert_eq!(differences.len(), 2);
        let healed = put_right(&wanted, &stands);
        assert_eq!(compare(&wanted, Some(&healed)), Standing::Sound);
    }
}

#[test]
fn a_mark_that_was_taken_away_is_an_edit() {
    for (wanted, mut stands) in stored() {
        stands["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("annotations");
        assert!(matches!(
            compare(&wanted, Some(&stands)),
            Standing::Altered(_)
        ));
        let healed = put_right(&wanted, &stands);
        assert_eq!(compare(&wanted, Some(&healed)), Standing::Sound);
    }
}

#[test]
fn what_is_not_there_is_absent() {
    let [(wanted, _), _] = stored();
    assert_eq!(compare(&wanted, None), Standing::Absent);
}

#[test]
fn a_strangers_value_is_cut_and_cannot_write_a_line_of_its_own() {
    let long = format!("true\n{}", "ä".repeat(500));
    let edit = json!([{"name": "x", "expression": long}]);
    for told in told_after(|it| it["webhooks"][0]["matchConditions"] = edit.clone()) {
        assert!(!told.contains('\n') && told.len() < 400, "{told}");
    }
}

fn with_writers() -> Value {
    json!({"metadata": {"name": "zz", "managedFields": [
        {"manager": "helm", "operation": "Apply", "time": "2026-01-01T00:00:00Z"},
        {"manager": "sandgate-controller", "operation": "Update", "time": "2026-01-04T00:00:00Z"},
        {"manager": "kubectl-edit", "operation": "Update", "time": "2026-01-03T00:00:00Z"},
        {"manager": "sandgate-controller", "operation": "Apply", "time": "2026-01-02T00:00:00Z"},
    ]}, "webhooks": []})
}

#[test]
fn what_a_heal_made_ours_is_given_up_and_nobody_elses() {
    let next = disowned(&with_writers(), "sandgate-controller").unwrap();
    let left: Vec<_> = next["metadata"]["managedFields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            (
                it["manager"].as_str().unwrap(),
                it["operation"].as_str().unwrap(),
            )
        })
        .collect();
    let wanted = [
        ("helm", "Apply"),
        ("kubectl-edit", "Update"),
        ("sandgate-controller", "Apply"),
    ];
    assert_eq!(left, wanted);
    assert_eq!(disowned(&next, "sandgate-controller"), None);
    assert_eq!(
        disowned(&json!({"metadata": {}}), "sandgate-controller"),
        None
    );
}

#[test]
fn the_last_writer_is_the_last_who_is_not_one_of_us() {
    let stands = with_writers();
    assert_eq!(
        last_writer(&stands, &["sandgate-controller"]),
        Some("kubectl-edit")
    );
    assert_eq!(last_writer(&json!({}), &[]), None);
}
