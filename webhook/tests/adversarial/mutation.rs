//! Patches: only defaults, only where a field is absent, only on a write of a living object.

use sandgate_shared::rules::{Phase, Subject};
use serde_json::{Value, json};

use crate::desk::{Way, another_replica, ask, decide_dry_too, response, review};
use crate::objects::{Bend, bent, cut, good, operator, set, user};

/// Each kind without its defaults, and what fills them in.
fn bare() -> Vec<(Subject, Vec<Bend>, Value)> {
    let class = || vec![cut("/spec/imagePullPolicy"), cut("/spec/trusted")];
    let of_class = json!([
        {"op": "add", "path": "/spec/imagePullPolicy", "value": "IfNotPresent"},
        {"op": "add", "path": "/spec/trusted", "value": false},
    ]);
    vec![
        (
            Subject::SandboxClaim,
            vec![cut("/spec/classRef/kind")],
            json!([{"op": "add", "path": "/spec/classRef/kind", "value": "SandboxClass"}]),
        ),
        (Subject::SandboxClass, class(), of_class.clone()),
        (Subject::ClusterSandboxClass, class(), of_class),
        (
            Subject::Connection,
            vec![cut("/spec/credential/gitHost/oauth/clientSecretRef/key")],
            json!([{
                "op": "add",
                "path": "/spec/credential/gitHost/oauth/clientSecretRef/key",
                "value": "clientSecret",
            }]),
        ),
    ]
}

// Proves: W-005, W-006, W-008
#[test]
fn defaults_come_once_on_creation_and_never_on_a_status() {
    for (subject, bends, patch) in bare() {
        let new = bent(good(subject), &bends);
        let created = decide_dry_too(&review(subject, Way::Create, &new, &new, &user()));
        assert_eq!(json!(created.patch), patch, "{subject:?}");
        assert_eq!(
            created.object,
            good(subject),
            "{subject:?}: what comes of it"
        );
        let again = decide_dry_too(&review(
            subject,
            Way::Create,
            &new,
            &created.object,
            &user(),
        ));
        assert_eq!(again.patch, Vec::<Value>::new(), "{subject:?}");
        let status = decide_dry_too(&review(subject, Way::Status, &new, &new, &operator()));
        assert_eq!(status.patch, Vec::<Value>::new(), "{subject:?}");
    }
}

// Proves: W-005, W-006, W-008
#[test]
fn what_another_webhook_takes_out_again_is_filled_in_again_when_it_is_asked_again() {
    for (subject, bends, patch) in bare() {
        let taken = bent(good(subject), &bends);
        for way in [Way::Create, Way::Update] {
            let asked = review(subject, way, &good(subject), &taken, &operator());
            let decided = decide_dry_too(&asked);
            assert!(decided.is(""), "{subject:?}, {way:?}: {decided:?}");
            assert_eq!(json!(decided.patch), patch, "{subject:?}, {way:?}");
            assert_eq!(
                decided.object["spec"],
                good(subject)["spec"],
                "{subject:?}, {way:?}"
            );
        }
    }
}

// Proves: W-005, W-008
#[test]
fn unknown_fields_survive_a_patch_and_nothing_is_taken_for_absent_that_is_there() {
    for (subject, mut bends, patch) in bare() {
        bends.extend([
            set(
                "/spec/laterField",
                json!({"imagePullPolicy": [null, 1.0, -0.0, "\u{0}"]}),
            ),
            set("/metadata/laterField", json!([])),
            set("/laterField", json!(18_446_744_073_709_551_615_u64)),
        ]);
        let new = bent(good(subject), &bends);
        let decided = decide_dry_too(&review(subject, Way::Create, &new, &new, &user()));
        assert_eq!(json!(decided.patch), patch, "{subject:?}");
        for field in ["/spec/laterField", "/metadata/laterField", "/laterField"] {
            assert_eq!(
                decided.object.pointer(field),
                new.pointer(field),
                "{subject:?} {field}"
            );
        }
    }
}

// Proves: W-017, W-005
#[test]
fn nothing_is_filled_into_what_is_on_its_way_out() {
    for (subject, bends, _) in bare() {
        let mut leaving = bends;
        leaving.push(set(
            "/metadata/deletionTimestamp",
            json!("2026-01-01T00:00:00Z"),
        ));
        let old = bent(good(subject), &leaving);
        leaving.push(set("/metadata/labels/a", json!("b")));
        let new = bent(good(subject), &leaving);
        let decided = decide_dry_too(&review(subject, Way::Update, &old, &new, &user()));
        assert!(decided.is(""), "{subject:?}: {decided:?}");
        assert_eq!(decided.patch, Vec::<Value>::new(), "{subject:?}");
    }
}

// Proves: W-002, W-005
#[test]
fn a_refused_object_is_not_patched_and_an_unpatched_reply_names_no_patch_type() {
    let refused = bent(
        good(Subject::SandboxClaim),
        &[cut("/spec/classRef/kind"), set("/spec/handle", json!("no"))],
    );
    for object in [refused, good(Subject::SandboxClaim)] {
        for way in Way::ALL {
            let asked = review(
                Subject::SandboxClaim,
                way,
                &good(Subject::SandboxClaim),
                &object,
                &operator(),
            );
            for phase in [Phase::Mutating, Phase::Validating] {
                let response = response(&ask(asked.to_string().as_bytes(), phase)).unwrap();
                assert!(response.get("patch").is_none(), "{response:#}");
                assert!(response.get("patchType").is_none(), "{response:#}");
            }
        }
    }
}

// Proves: W-001
#[test]
fn two_replicas_give_the_same_answer_to_the_byte() {
    let mut objects: Vec<(Subject, Value)> = bare()
        .into_iter()
        .map(|(subject, bends, _)| (subject, bent(good(subject), &bends)))
        .collect();
    let faults = bent(
        good(Subject::SandboxClaim),
        &[
            set("/spec/handle", json!("NO")),
            set("/spec/targetPath", json!("/up/../")),
            set(
                "/spec/mounts",
                json!([{"role": "scratch", "id": "x", "path": "/", "mustExist": true}]),
            ),
            set("/spec/mount", json!({"role": "X Y"})),
            set(
                "/spec/enrolment",
                json!({"connection": "c", "maxDuration": "9h"}),
            ),
            set("/spec/sessionID", json!("-")),
        ],
    );
    objects.push((Subject::SandboxClaim, faults));
    let another = another_replica();
    for (subject, object) in objects {
        for way in Way::ALL {
            for writer in [user(), operator()] {
                let body = review(subject, way, &good(subject), &object, &writer).to_string();
                for phase in [Phase::Mutating, Phase::Validating] {
                    let one = ask(body.as_bytes(), phase).reply;
                    assert_eq!(
                        one,
                        another(body.as_bytes(), phase).reply,
                        "{subject:?}, {way:?}"
                    );
                }
            }
        }
    }
}
