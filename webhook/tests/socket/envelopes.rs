//! Envelopes that are wrong, and that the next request is served all the same.

use rstest::rstest;
use sandgate_shared::rules::{Attempt, Verdict, Violation};
use serde_json::json;

use crate::webhook::{UID, Webhook, admits, review};

// Proves: W-001
#[tokio::test(flavor = "multi_thread")]
async fn both_paths_answer_reviews_over_tls_with_their_uid() {
    let webhook = Webhook::start(admits).await;
    let mut connection = webhook.connect().await;
    for path in ["/mutate", "/validate", "/mutate?timeout=10s"] {
        let answer = connection.post(path, review(&json!({}))).await;
        assert!(
            answer.head.contains("content-type: application/json"),
            "{}",
            answer.head
        );
        let review = answer.review();
        assert_eq!(review["apiVersion"], "admission.k8s.io/v1");
        assert_eq!(review["kind"], "AdmissionReview");
        assert_eq!(review["response"]["uid"], UID);
        assert_eq!(review["response"]["allowed"], true);
    }
}

// Proves: W-002
#[tokio::test(flavor = "multi_thread")]
async fn a_broken_rule_is_a_denial_that_names_field_and_rule() {
    let webhook = Webhook::start(|_: &Attempt<'_>| Verdict {
        violations: vec![Violation {
            field: "spec.handle".to_owned(),
            rule: "claim-handle".to_owned(),
            reason: "FieldValueInvalid",
            message: "must be <sandbox>/<instance>; write it like codegen/default".to_owned(),
            identity: false,
        }],
        ..Verdict::default()
    })
    .await;
    let answer = webhook
        .connect()
        .await
        .post("/validate", review(&json!({})))
        .await
        .review();
    assert_eq!(answer["response"]["allowed"], false);
    assert_eq!(answer["response"]["status"]["code"], 422);
    assert_eq!(
        answer["response"]["status"]["message"],
        "spec.handle: Invalid value: must be <sandbox>/<instance>; write it like codegen/default \
         [claim-handle]"
    );
}

// Proves: W-001
#[rstest]
#[case::empty_body("", 400)]
#[case::null("null", 400)]
#[case::empty_object("{}", 400)]
#[case::request_a_list(
    r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":[]}"#,
    400
)]
#[case::protobuf("k8s\0\n\u{10}", 400)]
#[case::form("uid=1&request=2", 400)]
#[tokio::test(flavor = "multi_thread")]
async fn an_envelope_without_uid_gets_a_plain_error_and_the_next_one_is_served(
    #[case] body: &str,
    #[case] code: u16,
) {
    let webhook = Webhook::start(admits).await;
    let answer = webhook.connect().await.post("/validate", body).await;
    assert_eq!(answer.code, code, "{}", answer.text());
    assert!(answer.text().len() > 20, "says nothing");
    let next = webhook
        .connect()
        .await
        .post("/validate", review(&json!({})))
        .await
        .review();
    assert_eq!(next["response"]["allowed"], true);
}

// Proves: W-001
#[rstest]
#[case::version_before_v1(r#""admission.k8s.io/v1""#, r#""admission.k8s.io/v1beta1""#)]
#[case::lower_case_operation(r#""CREATE""#, r#""create""#)]
#[case::connect(r#""CREATE""#, r#""CONNECT""#)]
#[case::update_with_null_old_object(r#""CREATE""#, r#""UPDATE""#)]
#[case::nobody_asks(r#""userInfo":{"username":"alice"}"#, r#""userInfo":null"#)]
#[case::creation_with_an_old_object(r#""oldObject":null"#, r#""oldObject":{}"#)]
#[case::object_null(r#""object":{"#, r#""object":null,"elsewhere":{"#)]
#[case::number_out_of_range(r#""spec":{}"#, r#""spec":1e400"#)]
#[case::lone_surrogate(r#""spec":{}"#, r#""spec":"\ud800""#)]
#[case::unclosed(r#""spec":{}"#, r#""spec":{"#)]
#[tokio::test(flavor = "multi_thread")]
async fn an_envelope_with_a_uid_gets_a_denial_that_carries_it(
    #[case] from: &str,
    #[case] to: &str,
) {
    let webhook = Webhook::start(admits).await;
    let body = review(&json!({})).replacen(from, to, 1);
    assert_ne!(body, review(&json!({})), "nothing was replaced");
    let mut connection = webhook.connect().await;
    let response = connection.post("/validate", body).await.review()["response"].clone();
    assert_eq!(response["uid"], UID);
    assert_eq!(response["allowed"], false);
    assert_eq!(response["status"]["code"], 400);
    let next = connection
        .post("/validate", review(&json!({})))
        .await
        .review();
    assert_eq!(next["response"]["allowed"], true, "on the same connection");
}

#[rstest]
#[case::get("GET", "/validate", 405)]
#[case::put("PUT", "/mutate", 405)]
#[case::root("POST", "/", 404)]
#[case::trailing_slash("POST", "/validate/", 404)]
#[case::dots("POST", "/x/../validate", 404)]
#[case::health_is_elsewhere("GET", "/readyz", 404)]
#[tokio::test(flavor = "multi_thread")]
async fn other_methods_and_paths_are_told_what_is_here(
    #[case] method: &str,
    #[case] path: &str,
    #[case] code: u16,
) {
    let webhook = Webhook::start(admits).await;
    let answer = webhook.connect().await.request(method, path).await;
    assert_eq!(answer.code, code);
    assert!(answer.text().contains("/validate") || answer.text().contains("POST"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_is_a_500_with_the_uid_and_the_next_request_is_served() {
    let webhook = Webhook::start(|attempt: &Attempt<'_>| {
        assert!(attempt.object["spec"]["boom"].is_null(), "boom");
        Verdict::default()
    })
    .await;
    let mut connection = webhook.connect().await;
    for spec in [json!({"boom": 1}), json!({"boom": "x".repeat(400_000)})] {
        let answer = connection.post("/mutate", review(&spec)).await.review();
        assert_eq!(answer["response"]["uid"], UID);
        assert_eq!(answer["response"]["status"]["code"], 500);
        assert_eq!(answer["response"]["status"]["reason"], "InternalError");
    }
    let next = connection
        .post("/mutate", review(&json!({})))
        .await
        .review();
    assert_eq!(next["response"]["allowed"], true);
    assert!((webhook.metric("sandgate_webhook_panics_total").await - 2.0).abs() < 0.1);
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_are_counted_under_fixed_labels() {
    let webhook = Webhook::start(admits).await;
    let mut connection = webhook.connect().await;
    connection
        .post("/mutate", review(&json!({})))
        .await
        .review();
    let strange = review(&json!({})).replacen(r#""CREATE""#, r#""evil-label""#, 1);
    connection.post("/mutate", strange).await.review();
    let text = webhook.health("/metrics").await.text();
    let line = "sandgate_webhook_admissions_total{kind=\"SandboxClaim\",operation=\"CREATE\",decision=\"allowed\"} 1";
    assert!(text.contains(line), "{text}");
    assert!(
        text.contains("kind=\"other\",operation=\"other\",decision=\"malformed\"} 1"),
        "{text}"
    );
    assert!(!text.contains("evil-label"));
    assert!(
        text.contains("sandgate_webhook_admission_duration_seconds_bucket{le=\"0.00005\"}")
            || text.contains("sandgate_webhook_admission_duration_seconds_bucket{le=\"5e-5\"}"),
        "{text}"
    );
    assert!(
        webhook
            .metric("sandgate_webhook_leaf_expiry_timestamp_seconds")
            .await
            > 1.7e9
    );
}
