//! Values of a claim at and beyond their edges, written by the operator, whom no rule about the writer
//! stops.

use sandgate_shared::rules::Subject;
use serde_json::{Value, json};

use crate::desk::{Way, decide_dry_too, review};
use crate::objects::{bent, cut, good, operator, set, user};
use crate::tables::{Row, tried};

const CLAIM: Subject = Subject::SandboxClaim;

// Proves: T-007, T-008, T-010, T-011, W-011
#[test]
fn names_sessions_and_handles_are_held_to_their_lengths_and_letters() {
    let session = |text: String| vec![set("/spec/sessionID", json!(text))];
    let handle = |text: String| vec![set("/spec/handle", json!(text))];
    let label = "l".repeat(63);
    let frozen = "claim-session-immutable";
    let mut rows: Vec<Row> = vec![
        ("a session of 63", session(label.clone()), "", frozen),
        (
            "a session of 64",
            session(format!("{label}l")),
            "422 schema-max-length",
            "422",
        ),
        (
            "an empty session",
            session(String::new()),
            "422 schema-min-length",
            "422",
        ),
        (
            "a session that begins with a dash",
            session("-a".to_owned()),
            "422 schema-pattern",
            "422",
        ),
        (
            "a session that ends with a newline",
            session("a\n".to_owned()),
            "422 schema-pattern",
            "422",
        ),
        (
            "a session with dots",
            session("A.b_c-1".to_owned()),
            "",
            frozen,
        ),
        (
            "a class of no name",
            vec![set("/spec/classRef/name", json!(""))],
            "422 schema-min-length",
            "422",
        ),
        (
            "a class of another kind",
            vec![set("/spec/classRef/kind", json!("Pod"))],
            "422 schema-enum",
            "422",
        ),
        (
            "a class of an empty kind",
            vec![set("/spec/classRef/kind", json!(""))],
            "422 schema-enum",
            "422",
        ),
        (
            "a class of no kind",
            vec![cut("/spec/classRef/kind")],
            "",
            "",
        ),
        (
            "a runtime in capitals",
            vec![set("/spec/agentRuntimeRef/name", json!("Mine"))],
            "422 schema-pattern",
            "422",
        ),
        (
            "no instances",
            vec![set("/spec/maxInstances", json!(0))],
            "422 schema-minimum",
            "422",
        ),
        (
            "fewer than none",
            vec![set("/spec/maxInstances", json!(-1))],
            "422 schema-minimum",
            "422",
        ),
    ];
    for (name, text, right) in [
        ("two labels", "a/b".to_owned(), true),
        ("127 characters", format!("{label}/{label}"), true),
        ("128 characters", format!("{label}/{label}l"), false),
        ("no slash", "ab".to_owned(), false),
        ("two slashes", "a/b/c".to_owned(), false),
        ("capitals", "A/b".to_owned(), false),
        ("a dash at the end", "a-/b".to_owned(), false),
        ("a dash at the start", "a/-b".to_owned(), false),
        ("an empty half", "a/".to_owned(), false),
        ("a newline at the end", "a/b\n".to_owned(), false),
        ("a label too long", format!("{label}l/b"), false),
        ("a right-to-left override", "a/\u{202e}b".to_owned(), false),
    ] {
        let (create, update) = if right {
            ("", "claim-handle-immutable")
        } else {
            ("422", "422")
        };
        rows.push((name, handle(text), create, update));
    }
    tried(CLAIM, &operator(), rows);
}

// Proves: T-021, T-025, T-027, T-028, W-011
#[test]
fn an_enrolment_stands_alone_and_lasts_a_bounded_time() {
    let enrolment = |more: Vec<(&'static str, Value)>| {
        let mut bends = vec![
            cut("/spec/agentRuntimeRef"),
            set(
                "/spec/connections",
                json!([{"role": "c", "connection": "site"}]),
            ),
            set(
                "/spec/enrolment",
                json!({"connection": "site", "maxDuration": "15m"}),
            ),
        ];
        bends.extend(more.into_iter().map(|(pointer, value)| set(pointer, value)));
        bends
    };
    let later = "claim-enrolment-immutable";
    let mut rows: Vec<Row> = vec![
        ("right", enrolment(vec![]), "", later),
        (
            "beside a runtime",
            enrolment(vec![("/spec/agentRuntimeRef", json!({"name": "a"}))]),
            "422 claim-runtime-or-enrolment",
            later,
        ),
        (
            "beside mounts",
            enrolment(vec![("/spec/mounts", json!([{}]))]),
            "422 claim-enrolment-alone",
            later,
        ),
        (
            "beside a mount",
            enrolment(vec![("/spec/mount", json!({}))]),
            "422 claim-enrolment-alone",
            later,
        ),
        (
            "beside a target path",
            enrolment(vec![("/spec/targetPath", json!("a"))]),
            "422 claim-enrolment-alone",
            later,
        ),
        (
            "with two connections",
            enrolment(vec![(
                "/spec/connections",
                json!([{"role": "c", "connection": "site"}, {"role": "d", "connection": "site"}]),
            )]),
            "422 claim-enrolment-connection",
            later,
        ),
        (
            "with another connection",
            enrolment(vec![(
                "/spec/connections",
                json!([{"role": "c", "connection": "other"}]),
            )]),
            "422 claim-enrolment-connection",
            later,
        ),
        (
            "without a connection",
            enrolment(vec![("/spec/connections", json!([]))]),
            "422 claim-enrolment-connection",
            later,
        ),
        (
            "with a role twice",
            enrolment(vec![(
                "/spec/connections",
                json!([{"role": "c", "connection": "site"}, {"role": "c", "connection": "x"}]),
            )]),
            "422 schema-duplicate",
            "422",
        ),
    ];
    for (name, text, right) in [
        ("a minute", "1m", true),
        ("a minute in seconds", "60s", true),
        ("twenty minutes", "20m", true),
        ("just below a minute", "59.999999999s", false),
        ("just above twenty minutes", "20m1ms", false),
        ("parts that add up to twenty minutes", "19m60s", true),
        ("a fraction", "1.5m", true),
        ("nothing", "", false),
        ("no unit", "900", false),
        ("negative", "-15m", false),
        ("a day", "1d", false),
        ("more than fits in 64 bits", "9999h9999h9999h", false),
        ("many parts", "1ms1ms1ms1ms1ms1ms1ms1ms1ms", false),
        ("a word", "soon", false),
    ] {
        let create = if right { "" } else { "422" };
        let bends = enrolment(vec![("/spec/enrolment/maxDuration", json!(text))]);
        rows.push((name, bends, create, if right { later } else { "422" }));
    }
    tried(CLAIM, &operator(), rows);
}

// Proves: W-012, W-013, W-014, W-015, P-002
#[test]
fn what_the_operator_alone_may_ask_for_is_refused_a_user_in_every_form() {
    for (name, bends, create) in [
        (
            "a mount that must exist",
            vec![set(
                "/spec/mounts",
                json!([{"role": "project", "id": "p", "path": "p", "mustExist": true}]),
            )],
            "403 claim-operator-mounts",
        ),
        (
            "the old form",
            vec![set(
                "/spec/mount",
                json!({"role": "project", "id": "p", "path": "p"}),
            )],
            "403 claim-operator-mounts",
        ),
        (
            "a connection",
            vec![set(
                "/spec/connections",
                json!([{"role": "a", "connection": "b"}]),
            )],
            "403 claim-operator-connections",
        ),
        (
            "a target path",
            vec![set("/spec/targetPath", json!("a"))],
            "403 claim-operator-target-path",
        ),
        (
            "scratch, no connection",
            vec![
                set("/spec/mounts", json!([{"role": "scratch"}])),
                set("/spec/connections", json!([])),
            ],
            "",
        ),
    ] {
        let new = bent(good(CLAIM), &bends);
        let created = decide_dry_too(&review(CLAIM, Way::Create, &new, &new, &user()));
        assert!(created.is(create), "{name}: {created:?}");
        let updated = decide_dry_too(&review(CLAIM, Way::Update, &good(CLAIM), &new, &user()));
        assert!(updated.is("claim-operator-spec"), "{name}: {updated:?}");
    }
}
