//! What the chart says of kinds, rules and roles is what the code says.

use std::collections::BTreeSet;

use rstest::rstest;
use sandgate_e2e::Outcome;
use sandgate_e2e::helm::Helm;
use sandgate_shared::render::{self, Installation};
use serde_json::{Value, json};

use crate::rendered::{Rendered, installation};

/// Fails unless the chart has each of these, equal but for labels it adds.
fn assert_has(rendered: &Rendered, wanted: Vec<Value>) -> Outcome {
    for mut object in wanted {
        let text = |pointer: &str| {
            let value = object.pointer(pointer).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        let mut found = rendered
            .one(&text("/kind"), &text("/metadata/name"))?
            .clone();
        for (label, value) in object["metadata"]["labels"]
            .as_object()
            .into_iter()
            .flatten()
        {
            assert_eq!(found["metadata"]["labels"][label], *value, "{label}");
        }
        let annotations = object["metadata"]["annotations"].as_object();
        for (annotation, value) in annotations.into_iter().flatten() {
            assert_eq!(
                found["metadata"]["annotations"][annotation], *value,
                "{annotation}"
            );
        }
        for object in [&mut object, &mut found] {
            let metadata = object["metadata"].as_object_mut().unwrap();
            metadata.remove("labels");
            metadata.remove("annotations");
            as_stored(object);
        }
        assert_eq!(found, object);
    }
    Ok(())
}

/// One is 1 and 1.0, which no reader of JSON tells apart.
fn as_stored(value: &mut Value) {
    match value {
        Value::Number(number) => *value = json!(number.as_f64()),
        Value::Array(items) => items.iter_mut().for_each(as_stored),
        Value::Object(fields) => fields.values_mut().for_each(as_stored),
        _ => {}
    }
}

fn names<'a>(objects: impl IntoIterator<Item = &'a Value>) -> BTreeSet<&'a str> {
    let name = |object: &'a Value| object["metadata"]["name"].as_str();
    objects.into_iter().filter_map(name).collect()
}

// Proves: P-001, X-007, X-013
#[rstest]
#[case::of_a_pod(true)]
#[case::of_any_token(false)]
#[tokio::test]
async fn rules_are_those_that_the_controller_expects_of_this_release(
    #[case] require_pod_bound_token: bool,
) -> Outcome {
    let names = Installation {
        require_pod_bound_token,
        ..installation()
    };
    let values = json!({"requirePodBoundToken": require_pod_bound_token});
    let rendered = Rendered::with(&values).await?;
    assert_has(&rendered, render::admission_policy(&names).to_vec())?;
    assert_has(&rendered, render::webhook_configurations(&names).to_vec())?;
    assert_eq!(rendered.of("ValidatingAdmissionPolicy").count(), 1);
    assert_eq!(rendered.of("ValidatingAdmissionPolicyBinding").count(), 1);
    Ok(())
}

#[rstest]
#[case::as_it_comes(json!({}))]
#[case::with_all_there_is(json!({
    "standalone": true,
    "requirePodBoundToken": false,
    "networkPolicy": {"enabled": true},
    "labels": {"team": "platform"},
}))]
#[tokio::test]
async fn no_label_anybody_sets_takes_a_namespace_out_of_admission_and_no_other_kind_is_in_it(
    #[case] values: Value,
) -> Outcome {
    let rendered = Rendered::with(&values).await?;
    let is_about_admission = |object: &&Value| {
        let version = object["apiVersion"].as_str().unwrap_or_default();
        version.starts_with("admissionregistration.k8s.io/")
    };
    let objects: Vec<&Value> = rendered.0.iter().filter(is_about_admission).collect();
    assert_eq!(objects.len(), 4, "two configurations, policy and binding");
    for object in objects {
        let text = object.to_string();
        for selector in [
            "namespaceSelector",
            "objectSelector",
            "excludeResourceRules",
        ] {
            assert!(!text.contains(selector), "{selector} in {text}");
        }
        let rules = [
            &object["webhooks"][0]["rules"],
            &object["spec"]["matchConstraints"]["resourceRules"],
        ];
        for rule in rules.into_iter().filter_map(Value::as_array).flatten() {
            // Neither our own pods nor anything else a cluster needs to stand up again waits for us.
            assert_eq!(rule["apiGroups"], json!(["omnia.altairalabs.ai"]), "{text}");
        }
    }
    Ok(())
}

// Proves: X-002
#[tokio::test]
async fn roles_are_those_of_the_code_and_only_the_probe_may_create_claims() -> Outcome {
    let rendered = Rendered::with(&json!({})).await?;
    let wanted = render::rbac(&installation());
    let kinds: BTreeSet<&str> = wanted
        .iter()
        .filter_map(|object| object["kind"].as_str())
        .collect();
    for kind in kinds {
        let ours = wanted.iter().filter(|object| object["kind"] == kind);
        assert_eq!(names(rendered.of(kind)), names(ours), "{kind}");
    }
    assert_has(&rendered, wanted)?;

    let mut creators = BTreeSet::new();
    for role in rendered.of("Role").chain(rendered.of("ClusterRole")) {
        for rule in role["rules"].as_array().into_iter().flatten() {
            let has = |field: &str, any: &[&str]| {
                let words = rule[field].as_array().into_iter().flatten();
                words
                    .filter_map(Value::as_str)
                    .any(|word| word == "*" || any.contains(&word))
            };
            if has("resources", &["sandboxclaims"]) && has("verbs", &["create"]) {
                creators.insert(role["metadata"]["name"].as_str().unwrap_or_default());
            }
        }
    }
    assert_eq!(creators, BTreeSet::from(["gate-policy-probe"]));
    Ok(())
}

#[rstest]
#[case::where_a_platform_owns_the_others(false)]
#[case::alone(true)]
#[tokio::test]
async fn kinds_are_those_of_the_types_and_are_kept_when_the_release_goes(
    #[case] standalone: bool,
) -> Outcome {
    let rendered = Rendered::with(&json!({"standalone": standalone})).await?;
    let mut wanted = render::crds();
    if standalone {
        wanted.extend(render::outside_crds());
    }
    let kinds = || rendered.of("CustomResourceDefinition");
    assert_eq!(names(kinds()), names(&wanted));
    for kind in kinds() {
        let kept = &kind["metadata"]["annotations"]["helm.sh/resource-policy"];
        assert_eq!(kept, "keep", "{}", kind["metadata"]["name"]);
    }
    assert_has(&rendered, wanted)
}

/// The kinds that this selector, `KEY=VALUE,…`, selects.
fn selected<'a>(rendered: &'a Rendered, selector: &str) -> BTreeSet<&'a str> {
    let wanted: Vec<(&str, &str)> = selector
        .split(',')
        .map(|label| label.split_once('=').unwrap())
        .collect();
    names(rendered.of("CustomResourceDefinition").filter(|kind| {
        let labels = &kind["metadata"]["labels"];
        wanted.iter().all(|(key, value)| labels[key] == *value)
    }))
}

#[tokio::test]
async fn no_command_of_the_readme_takes_away_our_kinds_and_another_platforms_at_once() -> Outcome {
    let rendered = Rendered::with(&json!({"standalone": true})).await?;
    let readme = std::fs::read_to_string(Helm::chart().join("README.md"))?;
    let taken: Vec<_> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("kubectl delete crd -l "))
        .map(|selector| selected(&rendered, selector))
        .collect();
    let (ours, outside) = (render::crds(), render::outside_crds());
    assert_eq!(taken, [names(&outside), names(&ours)]);
    Ok(())
}
