use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use rstest::rstest;
use sandgate_shared::rules::{Subject, Violation};
use serde_json::{Value, json};

use super::*;

const UID: &str = "705ab4f5-6393-11e8-b7cc-42010a800002";

fn object(subject: Subject) -> Value {
    json!({
        "apiVersion": "omnia.altairalabs.ai/v1alpha1",
        "kind": subject.kind(),
        "metadata": {"name": "one", "namespace": "team"},
        "spec": {},
    })
}

fn review_of(subject: Subject) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": UID,
            "kind": {
                "group": "omnia.altairalabs.ai", "version": "v1alpha1", "kind": subject.kind(),
            },
            "resource": {
                "group": "omnia.altairalabs.ai", "version": "v1alpha1", "resource": subject.plural(),
            },
            "name": "one",
            "namespace": "team",
            "operation": "CREATE",
            "userInfo": {"username": "alice", "groups": ["system:authenticated"]},
            "object": object(subject),
            "oldObject": null,
            "dryRun": false,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        },
    })
}

fn review() -> Value {
    review_of(Subject::SandboxClaim)
}

fn admits(_: &Attempt<'_>) -> Verdict {
    Verdict::default()
}

fn reply(answer: &Answer) -> Value {
    match &answer.reply {
        Reply::Review(bytes) => serde_json::from_slice(bytes).unwrap(),
        Reply::Text { code, text } => panic!("HTTP {code}: {text}"),
    }
}

fn ask(review: &Value, judge: &dyn Judge) -> Value {
    reply(&answer(
        review.to_string().as_bytes(),
        Phase::Mutating,
        judge,
    ))
}

fn violation(field: &str, reason: &'static str, identity: bool) -> Violation {
    Violation {
        field: field.to_owned(),
        rule: "some-rule".to_owned(),
        reason,
        message: "is wrong; put it right".to_owned(),
        identity,
    }
}

fn denies(violations: Vec<Violation>) -> impl Judge {
    move |_: &Attempt<'_>| Verdict {
        violations: violations.clone(),
        ..Verdict::default()
    }
}

// Proves: W-001
#[rstest]
#[case(Subject::SandboxClaim)]
#[case(Subject::SandboxClass)]
#[case(Subject::ClusterSandboxClass)]
#[case(Subject::Connection)]
fn each_kind_is_judged_on_both_paths_and_the_uid_echoed(#[case] subject: Subject) {
    for phase in [Phase::Mutating, Phase::Validating] {
        let judge = move |attempt: &Attempt<'_>| {
            assert_eq!((attempt.subject, attempt.phase), (subject, phase));
            assert_eq!(attempt.object["kind"], subject.kind());
            assert_eq!(attempt.user_info["username"], "alice");
            Verdict::default()
        };
        let answered = answer(review_of(subject).to_string().as_bytes(), phase, &judge);
        assert_eq!(
            reply(&answered),
            json!({
                "apiVersion": "admission.k8s.io/v1",
                "kind": "AdmissionReview",
                "response": {
                    "uid": UID,
                    "allowed": true,
                    "auditAnnotations": {"decision": "allowed", "principal-kind": "user"},
                },
            })
        );
        assert_eq!(
            (answered.kind, answered.operation),
            (subject.kind(), "CREATE")
        );
    }
}

// Proves: W-001
#[test]
fn an_update_is_judged_with_both_objects_and_its_subresource() {
    let mut review = review();
    review["request"]["operation"] = json!("UPDATE");
    review["request"]["subResource"] = json!("status");
    review["request"]["oldObject"] = object(Subject::SandboxClaim);
    review["request"]["oldObject"]["spec"] = json!({"old": 1});
    let judge = |attempt: &Attempt<'_>| {
        assert_eq!(attempt.subresource, Some("status"));
        assert_eq!(attempt.old_object.unwrap()["spec"], json!({"old": 1}));
        Verdict {
            violations: vec![violation("status", "FieldValueForbidden", true)],
            ..admits(attempt)
        }
    };
    assert_eq!(ask(&review, &judge)["response"]["status"]["code"], 403);
}

// Proves: W-001
#[rstest]
#[case::empty("", "not an AdmissionReview")]
#[case::null("null", "Unsupported value")]
#[case::nothing_in_it("{}", "Unsupported value")]
#[case::no_request(
    r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}"#,
    "request: Required"
)]
#[case::only_a_response(
    r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u"}}"#,
    "request: Required"
)]
#[case::a_list_for_a_request(
    r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":[]}"#,
    "request: Required"
)]
#[case::a_deletion_without_uid(
    r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"operation":"DELETE"}}"#,
    "request.uid: Required"
)]
fn a_body_without_a_uid_gets_a_plain_400(#[case] body: &str, #[case] says: &str) {
    let answered = answer(body.as_bytes(), Phase::Validating, &admits);
    let Reply::Text { code: 400, text } = &answered.reply else {
        panic!("{answered:?}")
    };
    assert!(text.contains(says), "{text}");
    assert_eq!(answered.decision, Decision::Malformed);
}

// Proves: W-001
#[rstest]
#[case::version_before_v1("/apiVersion", json!("admission.k8s.io/v1beta1"), "only AdmissionReview of admission.k8s.io/v1")]
#[case::version_after_v1("/apiVersion", json!("admission.k8s.io/v2"), "only AdmissionReview")]
#[case::other_kind("/kind", json!("ConversionReview"), "only AdmissionReview")]
#[case::kind_of_another_group("/request/kind/group", json!("apps"), "request.kind: Unsupported value: \"apps/")]
#[case::kind_of_another_version("/request/kind/version", json!("v1"), "request.kind: Unsupported value")]
#[case::unknown_kind("/request/kind/kind", json!("Sandbox"), "request.kind: Unsupported value")]
#[case::resource_of_another_kind("/request/resource/resource", json!("connections"), "request.kind")]
#[case::kind_missing("/request/kind", Value::Null, "request.kind: Unsupported value")]
#[case::scale("/request/subResource", json!("scale"), "request.subResource: Unsupported value: \"scale\"")]
#[case::subresource_to_come("/request/subResource", json!("resize"), "no rules exist for it")]
#[case::connect("/request/operation", json!("CONNECT"), "request.operation: Unsupported value: \"CONNECT\"")]
#[case::lower_case_operation("/request/operation", json!("create"), "request.operation")]
#[case::unknown_operation("/request/operation", json!("EVICT\u{1b}[2J"), "\\u{1b}[2J")]
#[case::no_operation("/request/operation", Value::Null, "request.operation")]
#[case::nobody_asks("/request/userInfo", Value::Null, "request.userInfo: Required")]
#[case::a_string_asks("/request/userInfo", json!("system:masters"), "request.userInfo: Required")]
#[case::object_null("/request/object", Value::Null, "request.object: Required")]
#[case::object_a_list("/request/object", json!([]), "request.object: Invalid")]
#[case::object_of_another_kind("/request/object/kind", json!("SandboxClass"), "request.object: Invalid")]
#[case::creation_with_an_old_object("/request/oldObject", json!({}), "request.oldObject: Forbidden")]
fn a_review_that_cannot_be_judged_is_denied_with_its_uid(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] says: &str,
) {
    let mut review = review();
    *review.pointer_mut(pointer).unwrap_or(&mut Value::Null) = value.clone();
    if pointer == "/request/subResource" {
        review["request"]["subResource"] = value;
    }
    let judge = |_: &Attempt<'_>| -> Verdict { panic!("must not be judged") };
    let answered = ask(&review, &judge);
    let response = &answered["response"];
    assert_eq!(response["uid"], UID);
    assert_eq!(response["allowed"], false);
    assert_eq!(response["status"]["code"], 400);
    assert_eq!(response["status"]["reason"], "BadRequest");
    let message = response["status"]["message"].as_str().unwrap();
    assert!(message.contains(says), "{message}");
    assert!(!message.chars().any(char::is_control), "{message}");
    assert_eq!(answered["kind"], "AdmissionReview");
}

// Proves: W-001
#[rstest]
#[case::missing(None)]
#[case::null(Some(Value::Null))]
#[case::empty(Some(json!({})))]
#[case::a_string(Some(json!("old")))]
#[case::of_another_kind(Some(object(Subject::SandboxClass)))]
fn an_update_without_its_whole_old_object_is_never_no_change(#[case] old: Option<Value>) {
    let mut review = review();
    review["request"]["operation"] = json!("UPDATE");
    let request = review["request"].as_object_mut().unwrap();
    request.remove("oldObject");
    request.extend(old.map(|old| ("oldObject".to_owned(), old)));
    let answered = ask(&review, &admits);
    assert_eq!(answered["response"]["status"]["code"], 400);
    let message = answered["response"]["status"]["message"].as_str().unwrap();
    assert!(message.starts_with("request.oldObject: "), "{message}");
}

#[test]
fn the_answer_is_given_in_the_version_of_the_question() {
    let mut review = review();
    review["apiVersion"] = json!("admission.k8s.io/v1beta1");
    assert_eq!(
        ask(&review, &admits)["apiVersion"],
        "admission.k8s.io/v1beta1"
    );
    review["apiVersion"] = json!("evil.example/v1");
    assert_eq!(ask(&review, &admits)["apiVersion"], "admission.k8s.io/v1");
}

#[test]
fn a_deletion_is_allowed_whatever_is_deleted() {
    let mut review = review();
    review["request"]["operation"] = json!("DELETE");
    review["request"]["object"] = Value::Null;
    review["request"]["kind"]["kind"] = json!("Namespace");
    let judge = |_: &Attempt<'_>| -> Verdict { panic!("must not be judged") };
    assert_eq!(ask(&review, &judge)["response"]["allowed"], true);
}

#[test]
fn unknown_fields_at_every_level_are_ignored_and_kept() {
    let mut review = review();
    review["later"] = json!(1);
    review["request"]["later"] = json!({"a": []});
    review["request"]["object"]["spec"]["later"] = json!(1.0);
    let judge = |attempt: &Attempt<'_>| {
        assert_eq!(attempt.object["spec"]["later"], json!(1.0));
        Verdict::default()
    };
    assert_eq!(ask(&review, &judge)["response"]["allowed"], true);
}

#[rstest]
#[case::as_deep_as_a_parser_goes(120, true)]
#[case::deeper(127, false)]
#[case::without_end(100_000, false)]
fn nesting_is_bounded_and_the_uid_still_echoed(#[case] depth: usize, #[case] allowed: bool) {
    let mut review = review();
    review["request"]["object"]["spec"] = json!("HERE");
    let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let body = review.to_string().replace("\"HERE\"", &deep);
    let answered = reply(&answer(body.as_bytes(), Phase::Mutating, &admits));
    assert_eq!(answered["response"]["uid"], UID);
    assert_eq!(answered["response"]["allowed"], allowed);
}

// Proves: W-001
#[test]
fn a_small_body_that_would_swell_in_memory_is_too_large_and_the_uid_still_echoed() {
    let mut review = review();
    review["request"]["object"]["spec"] = json!("HERE");
    let list = format!("[{}0]", r#"{"id":""},"#.repeat(200_000));
    let body = review.to_string().replace("\"HERE\"", &list);
    assert!(body.len() < 3_000_000);
    let answered = answer(body.as_bytes(), Phase::Mutating, &admits);
    assert_eq!(answered.decision, Decision::TooLarge);
    assert_eq!(reply(&answered)["response"]["uid"], UID);
    assert_eq!(reply(&answered)["response"]["status"]["code"], 413);
}

#[rstest]
#[case::number_out_of_range("1e400", false)]
#[case::beyond_64_bits("9223372036854775808", true)]
#[case::negative_zero("-0", true)]
#[case::lone_surrogate(r#""\ud800""#, false)]
#[case::nul(r#""\u0000""#, true)]
#[case::raw_control_character("\"\u{1}\"", false)]
fn odd_scalars_are_decided_on_with_the_uid(#[case] scalar: &str, #[case] allowed: bool) {
    let mut review = review();
    review["request"]["object"]["spec"] = json!("HERE");
    let body = review.to_string().replace("\"HERE\"", scalar);
    let answered = reply(&answer(body.as_bytes(), Phase::Mutating, &admits));
    assert_eq!(answered["response"]["uid"], UID);
    assert_eq!(answered["response"]["allowed"], allowed);
}

#[test]
fn invalid_utf8_is_denied_with_the_uid() {
    let mut body = review().to_string().into_bytes();
    let end = body.len() - 2;
    body[end] = 0xff;
    let answered = reply(&answer(&body, Phase::Mutating, &admits));
    assert_eq!(answered["response"]["uid"], UID);
    assert_eq!(answered["response"]["status"]["code"], 400);
}

// Proves: W-002
#[test]
fn broken_rules_are_all_told_in_causes_and_in_the_message() {
    let judge = denies(vec![
        violation("spec.mounts[0].role", "FieldValueForbidden", true),
        violation("spec.sessionID", "FieldValueRequired", false),
    ]);
    let answered = ask(&review(), &judge);
    assert_eq!(
        answered["response"]["status"],
        json!({
            "status": "Failure",
            "code": 422,
            "reason": "Invalid",
            "message": "spec.mounts[0].role: Forbidden: you are \"alice\": is wrong; put it right [some-rule]; \
                        spec.sessionID: Required value: is wrong; put it right [some-rule]",
            "details": {
                "group": "omnia.altairalabs.ai",
                "kind": "SandboxClaim",
                "name": "one",
                "causes": [
                    {
                        "reason": "FieldValueForbidden",
                        "field": "spec.mounts[0].role",
                        "message": "Forbidden: you are \"alice\": is wrong; put it right [some-rule]",
                    },
                    {
                        "reason": "FieldValueRequired",
                        "field": "spec.sessionID",
                        "message": "Required value: is wrong; put it right [some-rule]",
                    },
                ],
            },
        })
    );
    assert_eq!(
        answered["response"]["auditAnnotations"],
        json!({"decision": "invalid", "principal-kind": "user", "rules": "some-rule"})
    );
    assert!(answered["response"].get("patch").is_none());
}

// Proves: W-002
#[test]
fn a_wrong_identity_alone_is_forbidden() {
    let judge = denies(vec![
        violation("spec.mounts", "FieldValueForbidden", true),
        violation("spec.targetPath", "FieldValueForbidden", true),
    ]);
    let status = &ask(&review(), &judge)["response"]["status"];
    assert_eq!(
        (&status["code"], &status["reason"]),
        (&json!(403), &json!("Forbidden"))
    );
    let message = status["message"].as_str().unwrap();
    assert!(message.contains("spec.mounts: Forbidden: ") && message.contains("spec.targetPath: "));
}

// Proves: W-002
#[rstest]
#[case("FieldValueInvalid", "Invalid value")]
#[case("FieldValueRequired", "Required value")]
#[case("FieldValueForbidden", "Forbidden")]
#[case("FieldValueNotSupported", "Unsupported value")]
#[case("FieldValueDuplicate", "Duplicate value")]
#[case("FieldValueTooLong", "Too long")]
#[case("FieldValueTooMany", "Too many")]
fn the_words_are_those_of_kubernetes(#[case] reason: &'static str, #[case] words: &str) {
    let status =
        &ask(&review(), &denies(vec![violation("spec.a", reason, false)]))["response"]["status"];
    let expected = format!("spec.a: {words}: is wrong; put it right [some-rule]");
    assert_eq!(status["message"], expected);
}

// Proves: W-002
#[test]
fn more_than_ten_broken_rules_are_counted_where_kubectl_prints_it() {
    let many = (0..17).map(|i| violation(&format!("spec.f{i:02}"), "FieldValueInvalid", false));
    let status = &ask(&review(), &denies(many.collect()))["response"]["status"];
    let causes = status["details"]["causes"].as_array().unwrap();
    assert_eq!(causes.len(), 10);
    assert!(
        causes[9]["message"]
            .as_str()
            .unwrap()
            .ends_with("[some-rule], and 7 more")
    );
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .ends_with(", and 7 more")
    );
}

// Proves: W-002
#[test]
fn nothing_foreign_in_a_denial_can_steer_a_terminal() {
    let mut broken = violation("spec.env[\u{1b}[31m]", "FieldValueInvalid", false);
    broken.message = format!("{}\nnext line", "x".repeat(5000));
    let mut review = review();
    review["request"]["object"]["metadata"]["name"] = json!("a\r\nb");
    let status = &ask(&review, &denies(vec![broken]))["response"]["status"];
    for text in [
        &status["message"],
        &status["details"]["name"],
        &status["details"]["causes"][0]["field"],
    ] {
        let text = text.as_str().unwrap();
        assert!(!text.chars().any(char::is_control), "{text:?}");
        assert!(text.chars().count() < 1500);
    }
}

fn an_update(old: Value, new: Value) -> Value {
    let mut review = review();
    review["request"]["operation"] = json!("UPDATE");
    for (which, change) in [("oldObject", old), ("object", new)] {
        let mut whole = object(Subject::SandboxClaim);
        json_patch::merge(&mut whole, &change);
        review["request"][which] = whole;
    }
    review
}

/// The name part of a qualified name: the API server drops an annotation with any other key.
fn may_be_a_key(key: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric();
    key.len() <= 63
        && key
            .bytes()
            .all(|byte| plain(byte) || b"-_.".contains(&byte))
        && [key.bytes().next(), key.bytes().last()]
            .into_iter()
            .flatten()
            .all(plain)
        && !key.is_empty()
}

// Proves: W-002
#[test]
fn the_audit_log_gets_who_what_and_since_when_and_no_value() {
    struct Since;
    impl Judge for Since {
        fn judge(&self, _: &Attempt<'_>) -> Verdict {
            Verdict::default()
        }
        fn enforced_since(&self) -> Option<&str> {
            Some("2026-01-01T00:00:00Z")
        }
    }
    let old = json!({"spec": {"sessionID": "hunter1"}, "metadata": {"labels": {"a/b": "hunter2"}}});
    let new = json!({"spec": {"sessionID": "hunter3"}, "metadata": {"labels": {"a/b": "hunter4"}}});
    assert_eq!(
        ask(&an_update(old, new), &Since)["response"]["auditAnnotations"],
        json!({
            "decision": "allowed",
            "enforced-since": "2026-01-01T00:00:00Z",
            "principal-kind": "user",
            "changed-paths": "metadata.labels[a/b],spec.sessionID",
        })
    );
}

// Proves: W-002
#[rstest]
#[case::many(300, 8)]
#[case::long(7, 2000)]
#[case::many_and_long(3000, 2000)]
#[case::of_a_kind_that_steers(5, 1)]
fn audit_annotations_are_short_and_well_named_whatever_changes(
    #[case] count: usize,
    #[case] length: usize,
) {
    let labels = (0..count).map(|at| (format!("{}\u{1b}{at}", "l".repeat(length)), json!("v")));
    let labels = json!({"metadata": {"labels": Value::Object(labels.collect())}});
    let judge = denies(vec![violation("spec.a", "FieldValueInvalid", false); 50]);
    let answered = ask(&an_update(json!({}), labels.clone()), &judge);
    let annotations = answered["response"]["auditAnnotations"]
        .as_object()
        .unwrap();
    assert_eq!(annotations["changed-paths"], "metadata.labels");
    for changed in [
        ask(
            &an_update(labels.clone(), json!({"metadata": {"labels": {"x": "y"}}})),
            &judge,
        ),
        answered.clone(),
    ] {
        let annotations = changed["response"]["auditAnnotations"].as_object().unwrap();
        for (key, value) in annotations {
            assert!(may_be_a_key(key), "{key}");
            let value = value.as_str().unwrap();
            assert!(value.chars().count() <= 256, "{key}: {value}");
            assert!(!value.chars().any(char::is_control), "{key}: {value:?}");
        }
        assert!(!annotations["changed-paths"].as_str().unwrap().is_empty());
    }
}

#[rstest]
#[case::named(json!({"name": "a", "generateName": "b-"}), "a")]
#[case::to_be_named(json!({"generateName": "b-"}), "b-")]
#[case::named_by_the_request_alone(json!({}), "one")]
#[case::without_metadata(Value::Null, "one")]
fn a_denial_names_the_object_even_before_it_has_a_name(
    #[case] metadata: Value,
    #[case] name: &str,
) {
    let mut review = review();
    review["request"]["object"]["metadata"] = metadata;
    let judge = denies(vec![violation("spec.a", "FieldValueInvalid", false)]);
    assert_eq!(
        ask(&review, &judge)["response"]["status"]["details"]["name"],
        name
    );
}

#[test]
fn a_rule_that_cannot_be_evaluated_is_our_fault_and_admits_nothing() {
    let judge = |_: &Attempt<'_>| Verdict {
        faults: vec!["claim-handle: no such key hunter2".to_owned()],
        ..Verdict::default()
    };
    let answered = ask(&review(), &judge);
    let status = &answered["response"]["status"];
    assert_eq!(answered["response"]["allowed"], false);
    assert_eq!(
        (&status["code"], &status["reason"]),
        (&json!(500), &json!("InternalError"))
    );
    let message = status["message"].as_str().unwrap();
    assert!(
        message.starts_with("failed to evaluate rule claim-handle; "),
        "{message}"
    );
    assert_eq!(
        answered["response"]["auditAnnotations"]["rules"],
        "claim-handle"
    );
    assert!(
        !answered.to_string().contains("hunter2"),
        "the engine may quote the object"
    );
}

fn fills_in(_: &Attempt<'_>) -> Verdict {
    let patch = json!([{"op": "add", "path": "/spec/classRef/kind", "value": "SandboxClass"}]);
    Verdict {
        patch: serde_json::from_value(patch).unwrap(),
        warnings: vec!["look\nout ".repeat(40)],
        ..Verdict::default()
    }
}

#[test]
fn a_patch_is_sent_as_a_base64_json_patch_and_warnings_as_short_lines() {
    let response = &ask(&review(), &fills_in)["response"];
    assert_eq!(response["patchType"], "JSONPatch");
    let patch = STANDARD
        .decode(response["patch"].as_str().unwrap())
        .unwrap();
    assert_eq!(
        serde_json::from_slice::<Value>(&patch).unwrap(),
        json!([{"op": "add", "path": "/spec/classRef/kind", "value": "SandboxClass"}])
    );
    assert_eq!(response["auditAnnotations"]["decision"], "patched");
    let warning = response["warnings"][0].as_str().unwrap();
    assert!(!warning.contains('\n') && warning.starts_with("look\\nout "));
    assert!(warning.chars().count() <= 120, "{warning}");
}

#[test]
fn no_patch_is_ever_sent_on_the_validating_path_or_for_a_status() {
    let validated = answer(
        review().to_string().as_bytes(),
        Phase::Validating,
        &fills_in,
    );
    let mut of_status = review();
    of_status["request"]["subResource"] = json!("status");
    for response in [
        &reply(&validated)["response"],
        &ask(&of_status, &fills_in)["response"],
    ] {
        assert_eq!(response["allowed"], true);
        assert!(response.get("patch").is_none() && response.get("patchType").is_none());
    }
}

#[test]
fn what_is_too_large_or_our_fault_carries_the_uid_if_it_was_read() {
    let cut = format!(r#"{{"kind":"AdmissionReview","request":{{"uid":"{UID}","object":{{"spec"#);
    let cut = cut.as_bytes();
    let status = |answer: &Answer| reply(answer)["response"]["status"]["code"].clone();
    assert_eq!(status(&too_large(cut, 7)), 413);
    assert_eq!(status(&fault(cut, "sandgate failed")), 500);
    let Reply::Text { code: 413, .. } = too_large(b"{", 7).reply else {
        panic!()
    };
    let Reply::Text { code: 500, .. } = fault(b"", "sandgate failed").reply else {
        panic!()
    };
}

#[test]
fn what_is_logged_of_an_answer_holds_no_value_of_the_object() {
    let mut review = review();
    review["request"]["object"]["spec"] = json!({"token": "hunter2"});
    let judge = denies(vec![violation("spec.token", "FieldValueInvalid", false)]);
    let answered = answer(review.to_string().as_bytes(), Phase::Mutating, &judge);
    assert!(
        !format!(
            "{:?}",
            Answer {
                reply: Reply::Review(Vec::new()),
                ..answered.clone()
            }
        )
        .contains("hunter2")
    );
    assert_eq!(answered.object, "team/one");
    assert_eq!(answered.fields, ["spec.token"]);
}

proptest! {
    // Proves: W-001
    #[test]
    fn a_review_cut_off_or_damaged_anywhere_is_answered_and_never_admitted_when_unreadable(
        cut in 0_usize..1200,
        at in 0_usize..1200,
        byte in any::<u8>(),
    ) {
        let whole = review().to_string().into_bytes();
        let mut damaged = whole.clone();
        let position = at % whole.len();
        damaged[position] = byte;
        damaged.truncate(whole.len() - cut % whole.len());
        let answered = answer(&damaged, Phase::Validating, &admits);
        if serde_json::from_slice::<Value>(&damaged).is_err() {
            prop_assert_eq!(answered.decision, Decision::Malformed);
        }
        if let Some(uid) = find_uid(&damaged) {
            prop_assert_eq!(&reply(&answered)["response"]["uid"], &json!(uid));
        }
    }
}
