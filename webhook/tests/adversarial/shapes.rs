//! Objects without a spec, of wrong types, without a name, on their way out; and the writes that PATCH
//! and apply turn into.

use sandgate_shared::rules::{Phase, Subject};
use serde_json::{Value, json};

use crate::desk::{Way, ask, decide, decide_dry_too, response, review};
use crate::objects::{Bend, bent, cut, good, operator, set, user};
use crate::tables::tried;

const CLAIM: Subject = Subject::SandboxClaim;

// Proves: W-001
#[test]
fn without_a_spec_what_is_required_is_told_and_wrong_types_are_left_to_the_schema() {
    for subject in Subject::ALL {
        // The API server never sends an object without metadata; a rule that needs its name cannot be
        // evaluated, and then nothing is admitted.
        let nameless = if subject == CLAIM {
            "500 claim-name"
        } else {
            ""
        };
        tried(
            subject,
            &operator(),
            vec![
                (
                    "no spec",
                    vec![cut("/spec")],
                    "422 schema-required",
                    "422 schema-required",
                ),
                (
                    "spec null",
                    vec![set("/spec", Value::Null)],
                    "422 schema-required",
                    "422 schema-required",
                ),
                (
                    "spec empty",
                    vec![set("/spec", json!({}))],
                    "422 schema-required",
                    "422 schema-required",
                ),
                ("spec a list", vec![set("/spec", json!([1]))], "", ""),
                ("spec a string", vec![set("/spec", json!("{}"))], "", ""),
                ("spec a number", vec![set("/spec", json!(-1))], "", ""),
                (
                    "metadata null",
                    vec![set("/metadata", Value::Null)],
                    nameless,
                    "",
                ),
                (
                    "metadata a list",
                    vec![set("/metadata", json!([]))],
                    nameless,
                    "",
                ),
                (
                    "a deletion time that is a number",
                    vec![set("/metadata/deletionTimestamp", json!(5))],
                    "",
                    "",
                ),
            ],
        );
    }
}

// Proves: W-001
#[test]
fn every_field_of_a_spec_may_have_any_type_and_a_decision_is_made() {
    for subject in Subject::ALL {
        let object = good(subject);
        let fields: Vec<String> = object["spec"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        for name in fields {
            for value in [
                json!(null),
                json!(7),
                json!(-1.5),
                json!(true),
                json!("x"),
                json!(""),
                json!([]),
                json!([null]),
                json!([[]]),
                json!({}),
                json!({"a": {"b": []}}),
            ] {
                let mut new = object.clone();
                new["spec"][&name] = value;
                for way in Way::ALL {
                    decide_dry_too(&review(subject, way, &object, &new, &operator()));
                }
            }
        }
    }
}

// Proves: T-077
#[test]
fn a_name_is_judged_once_there_is_one() {
    let named = |bends: &[Bend]| {
        let new = bent(good(CLAIM), bends);
        decide(&review(CLAIM, Way::Create, &new, &new, &operator()))
    };
    let longest = "n".repeat(55);
    for (name, bends, expected) in [
        (
            "55 characters",
            vec![set("/metadata/name", json!(longest))],
            "",
        ),
        (
            "56 characters",
            vec![set("/metadata/name", json!(format!("{longest}n")))],
            "422 claim-name",
        ),
        (
            "253 characters",
            vec![set("/metadata/name", json!("n".repeat(253)))],
            "422 claim-name",
        ),
        (
            "name and generateName",
            vec![set("/metadata/generateName", json!("N_".repeat(200)))],
            "",
        ),
        (
            "capitals",
            vec![set("/metadata/name", json!("Mine"))],
            "422 claim-name",
        ),
        (
            "a name that steers",
            vec![set("/metadata/name", json!("a\u{1b}[2J\r\n"))],
            "422 claim-name",
        ),
    ] {
        let decided = named(&bends);
        assert!(decided.is(expected), "{name}: {decided:?}");
    }
}

// Proves: T-077
#[test]
fn a_name_yet_to_be_generated_is_no_fault_before_it_is_there_and_one_after() {
    let unnamed = bent(
        good(CLAIM),
        &[
            cut("/metadata/name"),
            set("/metadata/generateName", json!("my-agent-")),
        ],
    );
    let mut asked = review(CLAIM, Way::Create, &unnamed, &unnamed, &operator());
    asked["request"]["name"] = json!("");
    let mutating = ask(asked.to_string().as_bytes(), Phase::Mutating);
    assert_eq!(response(&mutating).unwrap()["allowed"], true);
    for (name, allowed) in [("my-agent-x7k2q".to_owned(), true), ("n".repeat(63), false)] {
        asked["request"]["object"]["metadata"]["name"] = json!(name);
        let validating = ask(asked.to_string().as_bytes(), Phase::Validating);
        assert_eq!(response(&validating).unwrap()["allowed"], allowed, "{name}");
    }
}

// Proves: T-077
#[test]
fn what_the_request_calls_the_object_decides_nothing() {
    for way in Way::ALL {
        for name in [
            json!("another"),
            json!(""),
            json!(7),
            json!("n".repeat(300)),
            Value::Null,
        ] {
            let mut asked = review(CLAIM, way, &good(CLAIM), &good(CLAIM), &operator());
            asked["request"]["name"] = name.clone();
            assert!(decide_dry_too(&asked).is(""), "{name}, {way:?}");
        }
    }
}

// Proves: W-001, W-009
#[test]
fn patch_and_apply_arrive_as_one_of_the_two_and_are_judged_as_such() {
    let changed = bent(good(CLAIM), &[set("/spec/sessionID", json!("session-8"))]);
    let managed = bent(
        good(CLAIM),
        &[set("/metadata/managedFields", json!([{"manager": "x"}]))],
    );
    for options in [
        json!({"kind": "PatchOptions", "apiVersion": "meta.k8s.io/v1", "force": true, "fieldManager": "m"}),
        json!({"kind": "PatchOptions", "apiVersion": "meta.k8s.io/v1", "fieldValidation": "Ignore"}),
        Value::Null,
    ] {
        let asked = |way: Way, new: &Value, writer: &Value| {
            let mut asked = review(CLAIM, way, &good(CLAIM), new, writer);
            asked["request"]["options"] = options.clone();
            decide_dry_too(&asked)
        };
        assert!(
            asked(Way::Create, &good(CLAIM), &user()).is(""),
            "{options}"
        );
        let wrong = bent(good(CLAIM), &[set("/spec/handle", json!("no"))]);
        assert!(
            asked(Way::Create, &wrong, &user()).is("422 claim-handle"),
            "{options}"
        );
        assert!(asked(Way::Update, &managed, &user()).is(""), "{options}");
        assert!(
            asked(Way::Update, &changed, &user()).is("422 claim-operator-spec"),
            "{options}"
        );
    }
}
