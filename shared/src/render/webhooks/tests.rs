//! Which writes the webhook is asked about.

use cel::{Context, Program, Value as Cel};
use rstest::rstest;
use serde_json::{Value, json};

use crate::render::{Installation, webhook_configurations};

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
