//! Which writes the webhook is asked about.

use cel::{Context, Program, Value as Cel};
use rstest::rstest;
use serde_json::{Value, json};

use crate::names;
use crate::render::{Installation, WebhookEndpoint, webhook_configurations};

/// Whether the validating webhook is asked about this write by somebody who is not the operator.
fn is_asked(request: Value, object: Value, old: Value) -> bool {
    let [_, validating] = webhook_configurations(&Installation::default());
    let mut context = Context::default();
    for (name, value) in [("request", request), ("object", object), ("oldObject", old)] {
        context.add_variable(name, value).unwrap();
    }
    let conditions = validating["webhooks"][0]["matchConditions"].as_array();
    conditions.unwrap().iter().all(|condition| {
        let program = Program::compile(condition["expression"].as_str().unwrap()).unwrap();
        program.execute(&context).unwrap() == Cel::Bool(true)
    })
}

// Proves: P-031
#[rstest]
#[case::a_finalizer_of_what_is_leaving(json!({"operation": "UPDATE"}), true, "s", false)]
#[case::the_spec_of_what_is_leaving(json!({"operation": "UPDATE"}), true, "other", true)]
#[case::the_status_of_what_is_leaving(json!({"operation": "UPDATE", "subResource": "status"}), true, "s", true)]
#[case::the_status_of_what_stays(json!({"operation": "UPDATE", "subResource": "status"}), false, "s", true)]
#[case::what_stays(json!({"operation": "UPDATE"}), false, "s", true)]
fn what_is_leaving_may_lose_its_finalizers_unasked_and_nothing_else(
    #[case] mut request: Value,
    #[case] leaving: bool,
    #[case] session: &str,
    #[case] asked: bool,
) {
    request["userInfo"] = json!({"username": "alice"});
    let mut object = json!({"metadata": {"name": "a"}, "spec": {"sessionID": session}});
    if leaving {
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    let old = json!({"metadata": {"name": "a"}, "spec": {"sessionID": "s"}});
    assert_eq!(is_asked(request, object, old), asked);
}

#[test]
fn the_mark_of_the_rules_changes_with_them_and_not_with_names() {
    let mark = |installation: &Installation| {
        let marks = webhook_configurations(installation)
            .map(|it| it["metadata"]["annotations"][names::ANNOTATION_WEBHOOK_RULES].clone());
        assert_eq!(marks[0], marks[1]);
        marks[0].as_str().unwrap().to_owned()
    };
    let one = Installation::default();
    let elsewhere = Installation {
        release: "gate".to_owned(),
        namespace: "elsewhere".to_owned(),
        service_account: "gate-controller".to_owned(),
        webhook: WebhookEndpoint::Url("https://127.0.0.1:9443".to_owned()),
        ..Installation::default()
    };
    let any_token = Installation {
        require_pod_bound_token: false,
        ..Installation::default()
    };
    assert_eq!(mark(&one), mark(&elsewhere));
    assert_ne!(mark(&one), mark(&any_token));
}
