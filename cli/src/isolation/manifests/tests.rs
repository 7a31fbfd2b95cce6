use rstest::rstest;
use sandgate_shared::render::Installation;
use sandgate_shared::rules::{Attempt, Operation, Phase, Rulebook, Subject};
use serde_json::{Value, json};

use super::*;

fn class(opening: Option<Opening>) -> Class<'static> {
    Class {
        name: "deny-all-1",
        image: "sandgate.local/sandgate:1",
        command: vec!["/sandgate-probe".to_owned(), "dial".to_owned()],
        node: "one",
        opening,
        service_namespace: None,
        read_only_root: true,
        ready: true,
    }
}

fn as_value(object: impl serde::Serialize) -> Value {
    serde_json::to_value(object).unwrap()
}

#[rstest]
#[case(None, json!(null))]
#[case(Some(Opening::Dns), json!({ "dns": true }))]
#[case(
    Some(Opening::Named),
    json!({ "dns": false, "allowedServices": [{ "name": "named", "ports": [80] }] })
)]
fn a_class_opens_what_its_scenario_asks_for(
    #[case] opening: Option<Opening>,
    #[case] egress: Value,
) {
    let class = as_value(class(opening).class());
    assert_eq!(class["spec"]["egress"], egress);
}

#[test]
fn a_service_of_another_namespace_is_named_with_it() {
    let mut class = class(Some(Opening::Elsewhere));
    class.service_namespace = Some("run-elsewhere");
    let class = as_value(class.class());
    assert_eq!(
        class["spec"]["egress"]["allowedServices"][0],
        json!({ "name": "elsewhere", "namespace": "run-elsewhere", "ports": [80] })
    );
}

#[test]
fn the_webhook_admits_every_class_and_claim_of_ours() {
    let rulebook = Rulebook::compile(&Installation::default().identity()).unwrap();
    let mut unready = class(Some(Opening::Numbered));
    unready.ready = false;
    for class in [class(None), class(Some(Opening::Dns)), unready] {
        for (subject, object) in [
            (Subject::SandboxClass, as_value(class.class())),
            (Subject::SandboxClaim, as_value(class.claim(RUNTIME))),
        ] {
            let verdict = rulebook.judge(&Attempt {
                subject,
                operation: Operation::Create,
                subresource: None,
                phase: Phase::Validating,
                object: &object,
                old_object: None,
                user_info: &json!({ "username": "alice", "groups": ["system:authenticated"] }),
            });
            assert_eq!(verdict.violations, [], "{object:#}");
        }
    }
}

#[test]
fn pods_of_ours_are_restricted_and_bear_no_label_of_a_sandbox() {
    let bare = Bare {
        name: "witness",
        labels: pairs(&[("omnia.altairalabs.ai/agent-runtime", RUNTIME)]),
        command: vec!["/sandgate-probe".to_owned()],
        image: "sandgate.local/sandgate:1",
        node: "one",
        serves: false,
    };
    insta::assert_json_snapshot!(bare.pod().unwrap());
}

#[test]
fn one_service_leads_to_a_number_and_one_to_a_name() {
    let target = |name: &str| {
        let service = as_value(service(name, name).unwrap());
        service["spec"]["ports"][0]["targetPort"].clone()
    };
    assert_eq!(target("numbered"), json!(8080));
    assert_eq!(target("named"), json!("web"));
}

#[test]
fn a_runtime_has_what_the_platforms_own_kind_asks_for_in_each_of_its_versions() {
    let runtime = as_value(runtime("isolation"));
    let spec = &runtime["spec"];
    assert_eq!(spec["facades"], json!([{ "type": "websocket" }]));
    assert_eq!(spec["facade"], json!({ "type": "websocket" }));
    assert_ne!(spec["promptPackRef"]["name"].as_str().unwrap(), "");
    assert_eq!(spec["sandbox"]["enabled"], json!(true));
    assert_eq!(runtime["kind"], "AgentRuntime");
}

#[test]
fn whatever_becomes_of_a_run_its_own_pods_end() {
    for serves in [true, false] {
        let bare = Bare {
            name: "any",
            labels: BTreeMap::new(),
            command: Vec::new(),
            image: "x",
            node: "one",
            serves,
        };
        let seconds = bare.pod().unwrap().spec.unwrap().active_deadline_seconds;
        assert!((60..=7200).contains(&seconds.unwrap()), "{seconds:?}");
    }
}
