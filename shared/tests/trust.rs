//! Whether policy, binding and proof say that the operator wrote a claim.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failing test stops where it stands"
)]

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use rstest::rstest;
use sandgate_shared::render::{Installation, admission_policy};
use sandgate_shared::trust::edits::{Edit, every_edit};
use sandgate_shared::trust::{Answer, Call, Distrust, Expected, Stood, Trust, Verdict};
use serde_json::{Value, json};

const POLICY_CREATED: &str = "2026-11-20T10:00:00Z";
const BINDING_CREATED: &str = "2026-11-20T10:00:03Z";
const GRACE: Duration = Duration::from_mins(1);

/// Policy and binding as an API server returns them (their spec was taken from one, 1.36.3).
fn stored() -> [Value; 2] {
    let [mut policy, mut binding] = admission_policy(&Installation::default());
    let constraints = &mut policy["spec"]["matchConstraints"];
    constraints["matchPolicy"] = json!("Equivalent");
    constraints["namespaceSelector"] = json!({});
    constraints["objectSelector"] = json!({});
    constraints["resourceRules"][0]["scope"] = json!("*");
    for (object, uid, created) in [
        (&mut policy, "uid-policy", POLICY_CREATED),
        (&mut binding, "uid-binding", BINDING_CREATED),
    ] {
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.insert("uid".into(), json!(uid));
        metadata.insert("generation".into(), json!(1));
        metadata.insert("creationTimestamp".into(), json!(created));
    }
    [policy, binding]
}

fn examine(policy: &Value, binding: &Value) -> Result<Stood, Distrust> {
    Expected::of(&Installation::default()).examine(Some(policy), Some(binding))
}

fn stood() -> Stood {
    let [policy, binding] = stored();
    examine(&policy, &binding).unwrap()
}

fn at(time: &str) -> Timestamp {
    format!("2026-11-20T{time}Z").parse().unwrap()
}

// Proves: P-006
#[test]
fn a_pair_as_rendered_stands_since_the_later_of_its_creations() {
    let stood = stood();
    assert_eq!(stood.policy, "uid-policy");
    assert_eq!(stood.binding, "uid-binding");
    assert_eq!(stood.since, at("10:00:03"));
    assert_eq!(stood.policy_created, at("10:00:00"));
}

// Proves: P-006
#[test]
fn a_pair_of_which_one_is_missing_does_not_stand() {
    let [policy, binding] = stored();
    let expected = Expected::of(&Installation::default());
    for (policy, binding, kind) in [
        (None, Some(&binding), "ValidatingAdmissionPolicy"),
        (Some(&policy), None, "ValidatingAdmissionPolicyBinding"),
        (None, None, "ValidatingAdmissionPolicy"),
    ] {
        let why = expected.examine(policy, binding).unwrap_err();
        assert!(why.is_absence(), "{why:?}");
        assert!(why.to_string().starts_with(&format!("{kind} ")), "{why}");
    }
}

// Proves: P-007, P-008, P-009, P-010, P-011
#[test]
fn every_edit_of_one_field_of_policy_or_binding_is_caught_and_its_place_named() {
    let [policy, binding] = stored();
    let edits_of_policy = every_edit(&policy);
    let edits_of_binding = every_edit(&binding);
    // The policy has some forty values, each with several edits; the binding has three.
    assert!(edits_of_policy.len() > 100, "{}", edits_of_policy.len());
    assert!(edits_of_binding.len() > 8, "{}", edits_of_binding.len());
    let named = |edits: &[Edit], wanted: &str| edits.iter().any(|edit| edit.name == wanted);
    for wanted in [
        "replace spec.failurePolicy",
        "remove spec.validations.0",
        "replace spec.variables.0.expression",
        "add to spec.matchConstraints.namespaceSelector",
    ] {
        assert!(named(&edits_of_policy, wanted), "{wanted}");
    }
    for wanted in ["add to spec.validationActions", "add to spec"] {
        assert!(named(&edits_of_binding, wanted), "{wanted}");
    }
    let pairs = edits_of_policy
        .into_iter()
        .map(|edit| (edit.name, examine(&edit.object, &binding)))
        .chain(
            edits_of_binding
                .into_iter()
                .map(|edit| (edit.name, examine(&policy, &edit.object))),
        );
    for (name, examined) in pairs {
        let Err(Distrust::Differs { path, .. }) = examined else {
            panic!("{name} was not caught: {examined:?}");
        };
        assert!(path.starts_with("spec"), "{name}: {path}");
    }
}

// Proves: P-012
#[rstest]
#[case::edited_and_edited_back(json!(3))]
#[case::without_a_generation(Value::Null)]
fn a_pair_that_was_edited_is_not_trusted_even_if_it_reads_as_it_should(#[case] generation: Value) {
    for which in [0, 1] {
        let mut pair = stored();
        pair[which]["metadata"]["generation"] = generation.clone();
        let why = examine(&pair[0], &pair[1]).unwrap_err();
        assert!(matches!(why, Distrust::Edited { .. }), "{why:?}");
        assert!(why.to_string().contains("delete it and upgrade the chart"));
    }
}

#[test]
fn labels_and_annotations_of_the_pair_do_not_matter() {
    let [mut policy, binding] = stored();
    policy["metadata"]["labels"] = json!({"helm.sh/chart": "sandgate-2.0.0"});
    policy["metadata"]["annotations"] = json!({"a": "b"});
    assert_eq!(examine(&policy, &binding), Ok(stood()));
}

#[rstest]
#[case::uid("uid")]
#[case::creation("creationTimestamp")]
#[case::name("name")]
fn an_object_that_lacks_what_every_stored_one_has_is_not_trusted(#[case] field: &str) {
    let [mut policy, binding] = stored();
    policy["metadata"][field] = Value::Null;
    let why = examine(&policy, &binding).unwrap_err();
    assert!(
        why.to_string().contains(&format!("metadata.{field}")),
        "{why}"
    );
}

// Proves: P-010
#[test]
fn another_operator_is_another_policy() {
    let [policy, binding] = stored();
    let elsewhere = Expected::of(&Installation {
        namespace: "elsewhere".to_owned(),
        ..Installation::default()
    });
    let why = elsewhere.examine(Some(&policy), Some(&binding));
    let Err(Distrust::Differs { path, .. }) = why else {
        panic!("{why:?}");
    };
    assert!(path.starts_with("spec.va"), "{path}");
}

fn proven(proof: &str) -> Trust {
    Trust::Proven {
        stood: stood(),
        proof: at(proof),
    }
}

// Proves: P-013, P-029
#[rstest]
#[case::long_after("10:00:05", "12:00:00", true)]
#[case::a_second_after_the_grace_of_the_proof("10:00:05", "10:01:06", true)]
#[case::at_the_end_of_the_grace("10:00:05", "10:01:05", false)]
#[case::within_the_grace("10:00:05", "10:00:30", false)]
#[case::before_everything("10:00:05", "09:00:00", false)]
#[case::the_binding_is_the_latest("10:00:01", "10:01:03", false)]
#[case::just_after_the_grace_of_the_binding("10:00:01", "10:01:04", true)]
fn a_claim_is_provable_strictly_after_the_latest_of_policy_binding_and_proof_plus_the_grace(
    #[case] proof: &str,
    #[case] created: &str,
    #[case] provable: bool,
) {
    let verdict = proven(proof).about(at(created), GRACE);
    match verdict {
        Verdict::Verified => assert!(provable),
        Verdict::Unprovable(why) => {
            assert!(!provable);
            assert!(why.contains("created more than 60 s after"), "{why}");
            assert!(why.contains("ask for the sandbox again"), "{why}");
        }
        Verdict::Awaited(why) => panic!("{why}"),
    }
}

#[test]
fn a_grace_beyond_all_time_proves_nothing() {
    let verdict = proven("10:00:05").about(at("12:00:00"), Duration::MAX);
    assert!(matches!(verdict, Verdict::Unprovable(_)), "{verdict:?}");
}

/// What is known, and a word of what the claim says meanwhile.
fn waiting() -> [(Trust, &'static str); 5] {
    let foreign = Answer::Policy("theirs".to_owned());
    [
        (Trust::Unknown, "still finding out"),
        (Trust::Unread("it is down".to_owned()), "it is down"),
        (
            Trust::Held {
                sibling: "the-other".to_owned(),
            },
            "the-other",
        ),
        (
            Trust::Unproven {
                stood: stood(),
                answered: Some(foreign),
            },
            "ValidatingAdmissionPolicy theirs answered first",
        ),
        (
            Trust::Stopped {
                stood: stood(),
                answered: Answer::Admitted,
            },
            "nobody refused",
        ),
    ]
}

// Proves: P-029, P-030
#[test]
fn a_claim_waits_and_says_for_what_while_it_could_still_be_proved() {
    for (trust, word) in waiting() {
        let Verdict::Awaited(why) = trust.about(at("12:00:00"), GRACE) else {
            panic!("{trust:?}");
        };
        assert!(why.contains(word), "{why}");
    }
}

// Proves: P-029
#[test]
fn a_claim_that_predates_policy_or_binding_does_not_wait_for_a_proof() {
    let unproven = Trust::Unproven {
        stood: stood(),
        answered: None,
    };
    let verdict = |created| unproven.about(at(created), GRACE);
    assert!(matches!(verdict("10:00:02"), Verdict::Unprovable(_)));
    assert!(matches!(verdict("10:00:03"), Verdict::Awaited(_)));
}

// Proves: P-006, P-020
#[test]
fn no_claim_is_provable_by_a_pair_that_is_absent_or_wrong() {
    for why in [
        Distrust::NotServed,
        Expected::of(&Installation::default())
            .examine(None, None)
            .unwrap_err(),
    ] {
        let verdict = Trust::Broken(why).about(at("12:00:00"), GRACE);
        assert!(matches!(verdict, Verdict::Unprovable(_)), "{verdict:?}");
    }
}

#[test]
fn what_was_proved_of_one_pair_says_nothing_of_another() {
    let other = Stood {
        policy: "another".to_owned(),
        ..stood()
    };
    let proven = proven("10:00:05");
    assert_eq!(proven.clone().confirmed_by(Ok(stood())), proven);
    assert_eq!(proven.clone().confirmed_by(Ok(other)), Trust::Unknown);
    let gone = Trust::Broken(Distrust::NotServed);
    assert_eq!(proven.confirmed_by(Err(gone.clone())), gone);
    assert_eq!(gone.confirmed_by(Ok(stood())), Trust::Unknown);
}

/// The API server's sentence around what a policy or binding says.
fn refusal(rest: &str) -> String {
    format!("sandboxclaims.omnia.altairalabs.ai \"sandgate-provenance-probe\" is forbidden: {rest}")
}

fn ours(words: &str) -> String {
    let name = Expected::of(&Installation::default()).name().to_owned();
    refusal(&format!(
        "ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: {words}"
    ))
}

fn webhook(name: &str, call: Call) -> Answer {
    Answer::Webhook {
        name: name.to_owned(),
        call,
    }
}

// Proves: P-029
#[rstest]
#[case::by_our_rule(
    ours("spec.targetPath: Forbidden: no [claim-operator-target-path]"),
    Answer::Ours
)]
#[case::by_our_policy_for_another_reason(
    ours("failed to evaluate"),
    Answer::Policy(Expected::of(&Installation::default()).name().to_owned())
)]
#[case::by_a_foreign_policy(
    refusal("ValidatingAdmissionPolicy 'theirs' with binding 'b' denied request: no [claim-operator-target-path]"),
    Answer::Policy("theirs".to_owned())
)]
#[case::by_a_foreign_policy_that_pretends(
    refusal(&format!(
        "ValidatingAdmissionPolicy 'theirs' with binding 'b' denied request: {}",
        ours("x [claim-operator-target-path]")
    )),
    Answer::Policy("theirs".to_owned())
)]
#[case::by_a_mutating_policy(
    refusal("policy 'theirs' with binding 'b' denied request: no"),
    Answer::MutatingPolicy("theirs".to_owned())
)]
#[case::by_a_webhook(
    "admission webhook \"theirs.example\" denied the request: no".to_owned(),
    webhook("theirs.example", Call::Unknown)
)]
#[case::by_a_webhook_that_pretends(
    format!("admission webhook \"theirs.example\" denied the request: {}", ours("x [claim-operator-target-path]")),
    webhook("theirs.example", Call::Unknown)
)]
#[case::by_a_webhook_that_is_down(
    "Internal error occurred: failed calling webhook \"theirs.example\": connection refused".to_owned(),
    webhook("theirs.example", Call::Unknown)
)]
#[case::by_our_validating_webhook(
    "admission webhook \"validate.sandgate.omnia.altairalabs.ai\" denied the request: no".to_owned(),
    webhook("validate.sandgate.omnia.altairalabs.ai", Call::Validating)
)]
#[case::by_our_mutating_webhook(
    "admission webhook \"mutate.sandgate.omnia.altairalabs.ai\" denied the request: no".to_owned(),
    webhook("mutate.sandgate.omnia.altairalabs.ai", Call::Mutating)
)]
#[case::by_roles(
    refusal("User \"system:serviceaccount:sandgate-system:sandgate-policy-probe\" cannot create"),
    Answer::Other(refusal(
        "User \"system:serviceaccount:sandgate-system:sandgate-policy-probe\" cannot create"
    ))
)]
#[case::about_another_object(
    ours("x [claim-operator-target-path]").replace("sandgate-provenance-probe", "other"),
    Answer::Other(ours("x [claim-operator-target-path]").replace("sandgate-provenance-probe", "other"))
)]
fn who_answered_is_read_from_the_api_servers_own_words(
    #[case] message: String,
    #[case] answer: Answer,
) {
    let expected = Expected::of(&Installation::default());
    assert_eq!(Answer::of(&message, &expected), answer, "{message}");
}

#[test]
fn only_what_comes_after_policies_shows_that_ours_let_something_through() {
    let validating = webhook("theirs", Call::Validating);
    assert!(validating.passed_ours() && Answer::Admitted.passed_ours());
    for answer in [
        Answer::Ours,
        Answer::Policy("theirs".to_owned()),
        Answer::MutatingPolicy("theirs".to_owned()),
        webhook("theirs", Call::Mutating),
        webhook("theirs", Call::Unknown),
        Answer::Other("down".to_owned()),
    ] {
        assert!(!answer.passed_ours(), "{answer}");
    }
}
