//! Fields of a claim that may never change, changed in every way there is.

use rstest::rstest;
use sandgate_shared::rules::Subject;
use serde_json::{Value, json};

use crate::objects::{cut, set};
use crate::tables::changed;

const CLAIM: Subject = Subject::SandboxClaim;

// Proves: W-009, W-010, T-011, T-012, T-023, T-024
#[rstest]
#[case::a_handle("/spec/handle", "claim-handle-immutable", json!("codegen/one"), json!("codegen/two"), Some("422 claim-handle"))]
#[case::a_target_path("/spec/targetPath", "claim-target-path-immutable", json!("projects/a"), json!("projects/b"), Some("422 claim-target-path"))]
#[case::who_declared_it("/spec/declaredBy", "claim-declared-by-immutable", json!("function-a"), json!("function-b"), Some(""))]
#[case::how_many_may_be("/spec/maxInstances", "claim-max-instances-immutable", json!(2), json!(3), None)]
fn an_optional_field_can_be_neither_set_nor_unset_nor_changed(
    #[case] field: &'static str,
    #[case] rule: &'static str,
    #[case] one: Value,
    #[case] other: Value,
    #[case] empty: Option<&'static str>,
) {
    let without = || {
        if field == "/spec/handle" {
            vec![cut(field)]
        } else {
            vec![]
        }
    };
    let with = |value: &Value| vec![set(field, value.clone())];
    let mut rows = vec![
        ("changed", with(&one), with(&other), rule),
        ("added", without(), with(&one), rule),
        ("removed", with(&one), without(), rule),
        ("set to null", with(&one), with(&Value::Null), rule),
        ("null for absent", without(), with(&Value::Null), ""),
        ("as it was", with(&one), with(&one), ""),
    ];
    if let Some(expected) = empty {
        rows.push(("emptied", with(&one), with(&json!("")), rule));
        // Not a change, and perhaps no value that may be.
        rows.push(("empty for absent", without(), with(&json!("")), expected));
    }
    changed(CLAIM, rows);
}

// Proves: W-009, W-010, T-018, T-019, T-020, T-021, T-025
#[test]
fn a_claims_lists_and_blocks_are_frozen_and_empty_counts_as_absent_only_for_lists() {
    let mounts = |value: Value| vec![set("/spec/mounts", value)];
    let mount = |value: Value| vec![set("/spec/mount", value)];
    let connections = |value: Value| vec![set("/spec/connections", value)];
    let pair = json!([{"role": "a", "connection": "x"}, {"role": "b", "connection": "y"}]);
    let enrolment = |value: Value| {
        vec![
            cut("/spec/agentRuntimeRef"),
            set(
                "/spec/connections",
                json!([{"role": "c", "connection": "c"}]),
            ),
            set("/spec/enrolment", value),
        ]
    };
    changed(
        CLAIM,
        vec![
            (
                "mounts added",
                vec![],
                mounts(json!([{"role": "session"}])),
                "claim-mounts-immutable",
            ),
            (
                "mounts removed",
                mounts(json!([{"role": "session"}])),
                vec![],
                "claim-mounts-immutable",
            ),
            (
                "mounts emptied",
                mounts(json!([{"role": "session"}])),
                mounts(json!([])),
                "claim-mounts-immutable",
            ),
            (
                "mounts null",
                mounts(json!([{"role": "session"}])),
                mounts(Value::Null),
                "claim-mounts-immutable",
            ),
            (
                "no mounts written as an empty list",
                vec![],
                mounts(json!([])),
                "",
            ),
            (
                "as many other mounts",
                mounts(json!([{"role": "session"}])),
                mounts(json!([{"role": "scratch"}])),
                "claim-mounts-immutable",
            ),
            (
                "mount added",
                vec![],
                mount(json!({"role": "session"})),
                "claim-mount-immutable",
            ),
            (
                "mount removed",
                mount(json!({"role": "session"})),
                vec![],
                "claim-mount-immutable",
            ),
            (
                "mount null",
                mount(json!({"role": "session"})),
                mount(Value::Null),
                "claim-mount-immutable",
            ),
            (
                "an empty mount is one",
                vec![],
                mount(json!({})),
                "claim-mount-immutable",
            ),
            (
                "the old form swapped for the new one",
                mount(json!({"role": "session"})),
                mounts(json!([{"role": "session"}])),
                "claim-mount-immutable claim-mounts-immutable",
            ),
            (
                "the new form swapped for the old one",
                mounts(json!([{"role": "session"}])),
                mount(json!({"role": "session"})),
                "claim-mount-immutable claim-mounts-immutable",
            ),
            (
                "both forms",
                mounts(json!([{"role": "session"}])),
                vec![
                    set("/spec/mounts", json!([{"role": "session"}])),
                    set("/spec/mount", json!({"role": "session"})),
                ],
                "claim-one-mount-form claim-mount-immutable",
            ),
            (
                "connections reordered",
                connections(pair.clone()),
                connections(json!([pair[1], pair[0]])),
                "",
            ),
            (
                "one connection less",
                connections(pair.clone()),
                connections(json!([pair[0]])),
                "claim-connections-immutable",
            ),
            (
                "as many other connections",
                connections(pair.clone()),
                connections(json!([pair[0], {"role": "b", "connection": "z"}])),
                "claim-connections-immutable",
            ),
            (
                "connections emptied",
                connections(pair.clone()),
                connections(json!([])),
                "claim-connections-immutable",
            ),
            (
                "no connections written as an empty list",
                vec![],
                connections(json!([])),
                "",
            ),
            (
                "an enrolment's time rewritten",
                enrolment(json!({"connection": "c", "maxDuration": "15m"})),
                enrolment(json!({"connection": "c", "maxDuration": "900s"})),
                "",
            ),
            (
                "an enrolment's time changed",
                enrolment(json!({"connection": "c", "maxDuration": "15m"})),
                enrolment(json!({"connection": "c", "maxDuration": "16m"})),
                "claim-enrolment-immutable",
            ),
            (
                "an enrolment's subject added",
                enrolment(json!({"connection": "c", "maxDuration": "15m"})),
                enrolment(json!({"connection": "c", "maxDuration": "15m", "subject": "u"})),
                "claim-enrolment-immutable",
            ),
            (
                "an enrolment taken out",
                enrolment(json!({"connection": "c", "maxDuration": "15m"})),
                vec![],
                "claim-enrolment-immutable claim-runtime-immutable",
            ),
            (
                "an empty enrolment is one",
                vec![],
                vec![set("/spec/enrolment", json!({}))],
                "claim-enrolment-immutable",
            ),
        ],
    );
}

// Proves: W-009, W-010, T-007, T-009, T-010
#[test]
fn a_claims_references_cannot_be_repointed_taken_out_or_emptied() {
    changed(
        CLAIM,
        vec![
            (
                "another runtime",
                vec![],
                vec![set("/spec/agentRuntimeRef/name", json!("other"))],
                "claim-runtime-immutable",
            ),
            (
                "no runtime",
                vec![],
                vec![cut("/spec/agentRuntimeRef")],
                "claim-runtime-immutable",
            ),
            (
                "the runtime's name taken out",
                vec![],
                vec![cut("/spec/agentRuntimeRef/name")],
                "schema-required",
            ),
            (
                "another class",
                vec![],
                vec![set("/spec/classRef/name", json!("other"))],
                "claim-class-immutable",
            ),
            (
                "another kind of class",
                vec![],
                vec![set("/spec/classRef/kind", json!("ClusterSandboxClass"))],
                "claim-class-immutable",
            ),
            (
                "the class's kind left to its default",
                vec![],
                vec![cut("/spec/classRef/kind")],
                "",
            ),
            (
                "another kind, left to the default",
                vec![set("/spec/classRef/kind", json!("ClusterSandboxClass"))],
                vec![cut("/spec/classRef/kind")],
                "claim-class-immutable",
            ),
            (
                "no class",
                vec![],
                vec![cut("/spec/classRef")],
                "schema-required",
            ),
            (
                "another session",
                vec![],
                vec![set("/spec/sessionID", json!("session-8"))],
                "claim-session-immutable",
            ),
            (
                "no session",
                vec![],
                vec![cut("/spec/sessionID")],
                "schema-required",
            ),
            (
                "an empty session",
                vec![],
                vec![set("/spec/sessionID", json!(""))],
                "schema-min-length",
            ),
        ],
    );
}
