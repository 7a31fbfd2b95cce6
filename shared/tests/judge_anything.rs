//! Laws that hold for any JSON whatever.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "a failing test stops where it stands, and tables pass their rows by value"
)]

use std::sync::LazyLock;

use proptest::prelude::*;
use sandgate_shared::{
    corpus::cases,
    render::Installation,
    rules::{Attempt, Operation, Phase, Rulebook, Subject},
};
use serde_json::{Value, json};

static RULEBOOK: LazyLock<Rulebook> =
    LazyLock::new(|| Rulebook::compile(&Installation::default().identity()).unwrap());

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        "[ -~\\n\u{0}]{0,70}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(known_name(), inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Names the schemas know, so that odd values reach the rules and not only the unknown-field path.
fn known_name() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "spec",
        "metadata",
        "status",
        "mounts",
        "mount",
        "role",
        "id",
        "path",
        "mustExist",
        "handle",
        "connections",
        "connection",
        "enrolment",
        "maxDuration",
        "agentRuntimeRef",
        "classRef",
        "name",
        "kind",
        "sessionID",
        "ports",
        "port",
        "resources",
        "limits",
        "cpu",
        "memory",
        "filesystem",
        "workspace",
        "trusted",
        "deletionTimestamp",
        "x",
    ])
    .prop_map(str::to_owned)
}

/// A corpus object with one subtree replaced by anything.
fn bent_object() -> impl Strategy<Value = (Subject, Value)> {
    let cases = cases().unwrap();
    (prop::sample::select(cases), known_name(), any_json()).prop_map(|(case, name, value)| {
        let mut object = case.new;
        if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
            spec.insert(name, value);
        }
        (case.subject, object)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    // Proves: W-001
    #[test]
    fn any_object_gets_an_answer_and_what_was_mutated_needs_no_second_pass(
        (subject, object) in prop_oneof![
            bent_object(),
            (prop::sample::select(Subject::ALL.to_vec()), any_json()),
        ],
        old in prop::option::of(any_json()),
        user_info in any_json(),
    ) {
        let operation = if old.is_some() { Operation::Update } else { Operation::Create };
        let attempt = Attempt {
            subject, operation, subresource: None, phase: Phase::Mutating,
            object: &object, old_object: old.as_ref(), user_info: &user_info,
        };
        let first = RULEBOOK.judge(&attempt);
        prop_assert!(first.patch.is_empty() || first.violations.is_empty());
        let mut patched = object.clone();
        json_patch::patch(&mut patched, &first.patch).unwrap();
        let second = RULEBOOK.judge(&Attempt { object: &patched, ..attempt });
        prop_assert!(second.patch.is_empty(), "a second pass patched again: {:?}", second.patch);
        prop_assert_eq!(first.violations, second.violations);
    }

    // Proves: W-017
    #[test]
    fn an_object_on_its_way_out_may_always_lose_its_finalizers(
        (subject, object) in bent_object(),
        user_info in any_json(),
    ) {
        let mut leaving = object;
        json_patch::merge(&mut leaving, &json!({"metadata": {
            "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["foregroundDeletion"]}}));
        let mut freed = leaving.clone();
        json_patch::merge(&mut freed, &json!({"metadata": {"finalizers": null}}));
        let verdict = RULEBOOK.judge(&Attempt {
            subject, operation: Operation::Update, subresource: None, phase: Phase::Validating,
            object: &freed, old_object: Some(&leaving), user_info: &user_info,
        });
        prop_assert_eq!(verdict, sandgate_shared::rules::Verdict::default());
    }

    // Proves: W-017
    #[test]
    fn what_did_not_change_is_never_held_against_an_update(
        (subject, object) in bent_object(),
    ) {
        let mut labelled = object.clone();
        json_patch::merge(&mut labelled, &json!({"metadata": {"labels": {"team": "a"}}}));
        let verdict = RULEBOOK.judge(&Attempt {
            subject, operation: Operation::Update, subresource: None, phase: Phase::Validating,
            object: &labelled, old_object: Some(&object), user_info: &json!({"username": "alice"}),
        });
        prop_assert_eq!(verdict.violations, vec![]);
    }
}
