//! Reviews that are no reviews of ours, or contradict themselves.

use sandgate_shared::rules::{Phase, Subject};
use sandgate_webhook::review::{Decision, Reply, find_uid};
use serde_json::{Value, json};

use crate::desk::{UID, Way, ask, decide_dry_too, response, review};
use crate::objects::{Bend, bent, cut, good, operator, set};

const CLAIM: Subject = Subject::SandboxClaim;

/// A review that is admitted as it stands.
fn right(way: Way) -> Value {
    let object = good(CLAIM);
    review(CLAIM, way, &object, &object, &operator())
}

// Proves: W-001
#[test]
fn a_body_that_is_no_review_gets_a_plain_error_or_a_denial_with_its_uid() {
    for way in Way::ALL {
        let whole = right(way);
        let bodies = [
            String::new(),
            " \n\t".to_owned(),
            "null".to_owned(),
            "{}".to_owned(),
            "[]".to_owned(),
            "\"AdmissionReview\"".to_owned(),
            json!({"apiVersion": whole["apiVersion"], "kind": whole["kind"]}).to_string(),
            bent(
                whole.clone(),
                &[cut("/request"), set("/response", json!({"uid": UID}))],
            )
            .to_string(),
            bent(whole.clone(), &[set("/request", json!([]))]).to_string(),
            bent(whole.clone(), &[set("/request", json!("x"))]).to_string(),
            bent(whole.clone(), &[set("/request/uid", json!(7))]).to_string(),
            bent(whole.clone(), &[set("/request/uid", json!(""))]).to_string(),
            bent(
                whole.clone(),
                &[set("/request/uid", json!("u".repeat(5000)))],
            )
            .to_string(),
            bent(whole.clone(), &[cut("/request/uid")]).to_string(),
        ];
        for body in &bodies {
            for phase in [Phase::Mutating, Phase::Validating] {
                let answered = ask(body.as_bytes(), phase);
                assert_eq!(answered.decision, Decision::Malformed, "{body}");
                assert!(
                    matches!(answered.reply, Reply::Text { code: 400, .. }),
                    "{body}"
                );
            }
        }
    }
}

// Proves: W-001
#[test]
fn a_review_that_contradicts_itself_is_a_400_on_every_way_it_may_come() {
    let rows: Vec<(&str, Vec<Bend>)> = vec![
        (
            "a version before v1",
            vec![set("/apiVersion", json!("admission.k8s.io/v1beta1"))],
        ),
        (
            "a version after v1",
            vec![set("/apiVersion", json!("admission.k8s.io/v2"))],
        ),
        ("no version", vec![cut("/apiVersion")]),
        (
            "a version that is a number",
            vec![set("/apiVersion", json!(1))],
        ),
        (
            "another kind of review",
            vec![set("/kind", json!("ConversionReview"))],
        ),
        ("CONNECT", vec![set("/request/operation", json!("CONNECT"))]),
        (
            "a lower-case operation",
            vec![set("/request/operation", json!("update"))],
        ),
        (
            "an unknown operation",
            vec![set("/request/operation", json!("EVICT\u{1b}[2J"))],
        ),
        (
            "an operation that is a list",
            vec![set("/request/operation", json!(["CREATE"]))],
        ),
        (
            "another group",
            vec![set("/request/kind/group", json!("apps"))],
        ),
        (
            "another version of ours",
            vec![set("/request/kind/version", json!("v2"))],
        ),
        (
            "a kind of ours beside another resource",
            vec![set("/request/resource/resource", json!("connections"))],
        ),
        (
            "a kind that is none of ours",
            vec![set("/request/kind/kind", json!("Pod"))],
        ),
        ("no kind", vec![cut("/request/kind")]),
        ("no resource", vec![cut("/request/resource")]),
        ("scale", vec![set("/request/subResource", json!("scale"))]),
        (
            "finalize",
            vec![set("/request/subResource", json!("finalize"))],
        ),
        (
            "a subresource in capitals",
            vec![set("/request/subResource", json!("STATUS"))],
        ),
        ("no object", vec![cut("/request/object")]),
        (
            "an object that is null",
            vec![set("/request/object", Value::Null)],
        ),
        (
            "an object that is a string",
            vec![set("/request/object", json!("{}"))],
        ),
        (
            "an object that is empty",
            vec![set("/request/object", json!({}))],
        ),
        (
            "an object of another kind",
            vec![set("/request/object", good(Subject::SandboxClass))],
        ),
        (
            "an object that says nothing of its kind",
            vec![cut("/request/object/kind")],
        ),
        ("nobody", vec![cut("/request/userInfo")]),
        ("null asks", vec![set("/request/userInfo", Value::Null)]),
        (
            "a string asks",
            vec![set("/request/userInfo", json!("system:masters"))],
        ),
    ];
    for way in Way::ALL {
        for (name, bends) in &rows {
            let decided = decide_dry_too(&bent(right(way), bends));
            assert!(decided.is("400"), "{name}, {way:?}: {decided:?}");
            assert!(
                decided.message.contains(": "),
                "{name}: names no field: {decided:?}"
            );
        }
    }
}

// Proves: W-001
#[test]
fn an_update_without_its_whole_old_object_and_a_creation_with_one_are_a_400() {
    let olds = [
        json!({}),
        json!("old"),
        json!([good(CLAIM)]),
        json!(7),
        good(Subject::Connection),
        Value::Null,
    ];
    for old in olds {
        for way in [Way::Update, Way::Status] {
            let decided =
                decide_dry_too(&bent(right(way), &[set("/request/oldObject", old.clone())]));
            assert!(decided.is("400"), "{old}, {way:?}: {decided:?}");
        }
        let created = decide_dry_too(&bent(
            right(Way::Create),
            &[set("/request/oldObject", old.clone())],
        ));
        assert!(
            created.is(if old.is_null() { "" } else { "400" }),
            "{old}: {created:?}"
        );
    }
    for way in [Way::Update, Way::Status] {
        let missing = decide_dry_too(&bent(right(way), &[cut("/request/oldObject")]));
        assert!(missing.is("400"), "{way:?}: {missing:?}");
    }
}

// Proves: W-001
#[test]
fn fields_of_a_later_api_server_change_nothing() {
    for way in Way::ALL {
        let later = json!({"a": [{"b": null}], "operation": "DELETE"});
        let bends = [
            set("/later", later.clone()),
            set("/request/later", later.clone()),
            set("/request/kind/later", later.clone()),
            set("/request/userInfo/later", later.clone()),
            set("/request/options/later", later.clone()),
            set("/request/object/later", later.clone()),
            set("/request/object/metadata/later", later),
        ];
        let decided = decide_dry_too(&bent(right(way), &bends));
        assert!(decided.is(""), "{way:?}: {decided:?}");
        assert_eq!(decided.patch, Vec::<Value>::new());
    }
}

// Proves: W-001, W-017
#[test]
fn a_deletion_is_allowed_whatever_is_deleted_and_whoever_deletes() {
    for object in [Value::Null, good(CLAIM), json!("x")] {
        let mut asked = right(Way::Create);
        asked["request"]["operation"] = json!("DELETE");
        asked["request"]["oldObject"] = object.clone();
        asked["request"]["object"] = Value::Null;
        asked["request"]["userInfo"] = json!({"username": "system:anonymous"});
        let body = asked.to_string();
        for phase in [Phase::Mutating, Phase::Validating] {
            let answered = ask(body.as_bytes(), phase);
            let response = response(&answered).unwrap();
            assert_eq!(response["allowed"], true, "{object}");
            assert!(
                response["patch"].is_null(),
                "a patch of a deletion is an error"
            );
        }
    }
}

// Proves: W-001
#[test]
fn of_a_review_cut_off_anywhere_nothing_is_admitted() {
    for way in Way::ALL {
        let whole = right(way).to_string();
        for end in (0..whole.len()).step_by(7) {
            let cut = &whole.as_bytes()[..end];
            let answered = ask(cut, Phase::Validating);
            assert_eq!(answered.decision, Decision::Malformed);
            assert_eq!(answered.uid, find_uid(cut));
        }
    }
}
