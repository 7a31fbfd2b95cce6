//! Bodies under other names than JSON, packed or not, and clients that show or expect what they should
//! not.

use std::io::Write as _;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use rstest::rstest;
use rustls::pki_types::{PrivateKeyDer, pem::PemObject as _};
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;

use crate::client;
use crate::webhook::{NAME, UID, Webhook, admits, files, review};

fn packed(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

// Proves: W-001
#[rstest]
#[case::none("")]
#[case::text("content-type: text/json\r\n")]
#[case::with_a_charset("content-type: application/json; charset=utf-8\r\n")]
#[case::protobuf("content-type: application/vnd.kubernetes.protobuf\r\n")]
#[case::twice("content-type: text/plain\r\ncontent-type: application/json\r\n")]
#[tokio::test(flavor = "multi_thread")]
async fn a_review_is_judged_by_what_it_is_and_not_by_what_it_is_called(#[case] headers: &str) {
    let webhook = Webhook::start(admits).await;
    let mut connection = webhook.connect().await;
    for path in ["/mutate", "/validate"] {
        let answer = connection
            .post_with(path, headers, review(&json!({})))
            .await;
        let response = &answer.review()["response"];
        assert_eq!(
            (&response["uid"], &response["allowed"]),
            (&json!(UID), &json!(true))
        );
    }
}

// Proves: W-001
#[rstest]
#[case::said_so("content-encoding: gzip\r\n")]
#[case::unsaid("")]
#[tokio::test(flavor = "multi_thread")]
async fn what_is_packed_is_never_unpacked_and_never_admitted(#[case] headers: &str) {
    let webhook = Webhook::start(admits).await;
    let mut connection = webhook.connect().await;
    // A mebibyte of nothing is a kibibyte packed: unpacking would let anyone fill the memory.
    let body = packed(&review(&json!({"padding": "x".repeat(1024 * 1024)})));
    let answer = connection.post_with("/validate", headers, &body).await;
    assert_eq!(answer.code, 400, "{}", answer.text());
    let mut next = webhook.connect().await;
    let next = next.post("/validate", review(&json!({}))).await.review();
    assert_eq!(next["response"]["allowed"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_expects_another_name_gets_no_connection_and_the_next_one_is_served() {
    let webhook = Webhook::start(admits).await;
    let authority = webhook.authority.certificate.der().clone();
    let address = webhook.running.address;
    for name in ["elsewhere.example.org", "sandgate-webhook", "127.0.0.2"] {
        let refused = client::connect(address, &authority, name, &["http/1.1"]).await;
        assert!(refused.is_err(), "{name} is served");
    }
    let answer = webhook
        .connect()
        .await
        .post("/mutate", review(&json!({})))
        .await;
    assert_eq!(answer.review()["response"]["allowed"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_a_client_shows_is_neither_asked_for_nor_believed() {
    let webhook = Webhook::start(admits).await;
    let stranger = sandgate_certs::issue::authority(
        sandgate_certs::issue::Lifetimes::default().authority,
        std::time::SystemTime::now(),
    )
    .unwrap();
    let shown = files(&stranger, &["system:masters.example.org"]);
    let mut roots = RootCertStore::empty();
    roots
        .add(webhook.authority.certificate.der().clone())
        .unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let chain =
        sandgate_certs::certificate::Certificate::read_all(shown.certificate.as_bytes()).unwrap();
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(
            chain
                .iter()
                .map(|certificate| certificate.der().clone())
                .collect(),
            PrivateKeyDer::from_pem_slice(shown.key.expose().as_bytes()).unwrap(),
        )
        .unwrap();
    let mut connection = client::connect_by(webhook.running.address, config, NAME)
        .await
        .unwrap();
    let answer = connection.post("/validate", review(&json!({}))).await;
    assert_eq!(answer.review()["response"]["allowed"], true);
}
