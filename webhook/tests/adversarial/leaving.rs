//! Objects on their way out: they may always be let go, and nothing else becomes of them.

use sandgate_shared::rules::Subject;
use serde_json::{Value, json};

use crate::desk::{Way, decide_dry_too, review};
use crate::objects::{Bend, bent, cut, good, set, user};

const CLAIM: Subject = Subject::SandboxClaim;
const CLASS: Subject = Subject::SandboxClass;

// Proves: W-017
#[test]
fn an_object_on_its_way_out_may_lose_finalizers_whoever_takes_them_and_never_change_its_spec() {
    let leaving = |bends: &[Bend]| {
        let mut all = vec![
            set("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z")),
            set(
                "/metadata/finalizers",
                json!(["foregroundDeletion", "example.org/keep"]),
            ),
        ];
        all.extend_from_slice(bends);
        all
    };
    let old = bent(good(CLAIM), &leaving(&[]));
    let rows: Vec<(&str, Vec<Bend>, &str)> = vec![
        (
            "one finalizer less",
            leaving(&[set("/metadata/finalizers", json!(["example.org/keep"]))]),
            "",
        ),
        (
            "none",
            leaving(&[set("/metadata/finalizers", Value::Null)]),
            "",
        ),
        (
            "one more",
            leaving(&[set(
                "/metadata/finalizers",
                json!(["foregroundDeletion", "a.org/b", "c.org/d"]),
            )]),
            "",
        ),
        (
            "a finalizer less and the spec changed",
            leaving(&[
                set("/metadata/finalizers", json!([])),
                set("/spec/handle", json!("x/y")),
            ]),
            "422 claim-operator-spec claim-handle-immutable",
        ),
        (
            "the spec alone",
            leaving(&[set("/spec/sessionID", json!("session-8"))]),
            "422 claim-operator-spec claim-session-immutable",
        ),
        ("the spec taken out", leaving(&[cut("/spec")]), "422"),
    ];
    for (name, bends, expected) in rows {
        let decided = decide_dry_too(&review(
            CLAIM,
            Way::Update,
            &old,
            &bent(good(CLAIM), &bends),
            &user(),
        ));
        assert!(decided.is(expected), "{name}: {decided:?}");
        assert_eq!(
            decided.patch,
            Vec::<Value>::new(),
            "{name}: a deleting object is never patched"
        );
    }
}

// Proves: W-017, W-005, W-006
#[test]
fn a_deleting_object_that_lacks_defaults_and_breaks_todays_rules_can_still_be_let_go() {
    for (subject, bends) in [
        (
            CLAIM,
            vec![
                cut("/spec/classRef/kind"),
                set("/spec/handle", json!("broken")),
                set("/spec/mustGo", json!(1)),
            ],
        ),
        (
            CLASS,
            vec![
                cut("/spec/imagePullPolicy"),
                cut("/spec/resources"),
                set("/spec/ports", json!([])),
            ],
        ),
        (
            Subject::Connection,
            vec![set("/spec/hosts", json!(["LOCALHOST"]))],
        ),
    ] {
        let old = bent(good(subject), &bends);
        let old = bent(
            old,
            &[
                set("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z")),
                set("/metadata/finalizers", json!(["foregroundDeletion"])),
            ],
        );
        let new = bent(old.clone(), &[cut("/metadata/finalizers")]);
        let collector =
            json!({"username": "system:serviceaccount:kube-system:generic-garbage-collector"});
        let decided = decide_dry_too(&review(subject, Way::Update, &old, &new, &collector));
        assert!(decided.is(""), "{subject:?}: {decided:?}");
        assert_eq!(decided.patch, Vec::<Value>::new());
    }
}
