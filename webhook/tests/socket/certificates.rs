//! Certificates that come, change and go wrong while serving.

use std::fs;
use std::time::{Duration, SystemTime};

use rstest::rstest;
use sandgate_certs::certificate::{Certificate, KeyPem};
use sandgate_certs::directory::TlsFiles;
use sandgate_certs::issue::{self, Lifetimes};
use sandgate_certs::store::Authority;
use serde_json::json;

use crate::webhook::{NAME, Setup, Webhook, admits, files, review};

/// How a leaf is told from others.
pub fn fingerprint(pem: &str) -> String {
    Certificate::read_all(pem.as_bytes()).unwrap()[0]
        .fingerprint()
        .to_string()
}

/// The fingerprint of the leaf that is served now.
pub async fn served(webhook: &Webhook) -> String {
    let leaf = webhook.connect().await.leaf();
    Certificate::from_der(leaf)
        .unwrap()
        .fingerprint()
        .to_string()
}

fn authority() -> Authority {
    issue::authority(Lifetimes::default().authority, SystemTime::now()).unwrap()
}

// Proves: X-012
#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_leaf_is_served_to_new_connections_without_a_restart() {
    let webhook = Webhook::start(admits).await;
    let mut standing = webhook.connect().await;
    let renewed = files(&webhook.authority, &[NAME, "127.0.0.1"]);
    webhook.directory.write(&renewed).unwrap();
    let expected = fingerprint(&renewed.certificate);
    webhook
        .until("the renewed leaf", async || {
            served(&webhook).await == expected
        })
        .await;
    let answer = standing
        .post("/validate", review(&json!({})))
        .await
        .review();
    assert_eq!(
        answer["response"]["allowed"], true,
        "a connection made before goes on"
    );
    assert_eq!(webhook.health("/readyz").await.code, 200);
}

// Proves: X-012
#[tokio::test(flavor = "multi_thread")]
async fn without_a_certificate_it_is_alive_but_not_ready_and_says_why() {
    let webhook = Webhook::start_bare(admits, Setup::default());
    webhook
        .until("a look at the directory", async || {
            webhook
                .health("/readyz")
                .await
                .text()
                .contains("server-names")
        })
        .await;
    let ready = webhook.health("/readyz").await;
    assert_eq!(ready.code, 503);
    assert!(
        ready
            .text()
            .starts_with("not ready: no certificate could be loaded from /")
    );
    assert_eq!(ready.text().lines().count(), 1, "{}", ready.text());
    assert_eq!(webhook.health("/livez").await.code, 200);
    assert!(webhook.try_connect().await.is_err());
    webhook
        .directory
        .write(&files(&webhook.authority, &[NAME]))
        .unwrap();
    webhook.until_ready().await;
    webhook.connect().await;
}

// Proves: X-012
#[rstest]
#[case::bundle_without_its_ca(|_: &Authority, files: &mut TlsFiles| files.authorities = authority().certificate.pem(), "refuse the leaf")]
#[case::empty_bundle(|_: &Authority, files: &mut TlsFiles| files.authorities.clear(), "no CA that is valid now")]
#[case::no_host_named(|_: &Authority, files: &mut TlsFiles| files.server_names.clear(), "server-names is empty")]
#[case::host_the_leaf_lacks(|_: &Authority, files: &mut TlsFiles| files.server_names.push("192.0.2.1".to_owned()), "192.0.2.1")]
#[case::expired(|signer: &Authority, files: &mut TlsFiles| dated(signer, files, SystemTime::now() - Duration::from_hours(2)), "has expired")]
#[case::not_yet_valid(|signer: &Authority, files: &mut TlsFiles| dated(signer, files, SystemTime::now() + Duration::from_hours(2)), "not valid yet")]
#[tokio::test(flavor = "multi_thread")]
async fn a_leaf_that_the_api_server_would_refuse_is_not_ready(
    #[case] spoil: fn(&Authority, &mut TlsFiles),
    #[case] says: &str,
) {
    let webhook = Webhook::start(admits).await;
    let mut spoilt = files(&webhook.authority, &[NAME]);
    spoil(&webhook.authority, &mut spoilt);
    webhook.directory.write(&spoilt).unwrap();
    webhook
        .until("unready", async || {
            webhook.health("/readyz").await.code == 503
        })
        .await;
    let text = webhook.health("/readyz").await.text();
    assert!(text.contains(says), "{text}");
    webhook
        .directory
        .write(&files(&webhook.authority, &[NAME]))
        .unwrap();
    webhook.until_ready().await;
}

fn dated(signer: &Authority, files: &mut TlsFiles, from: SystemTime) {
    let leaf = issue::leaf(signer, &[NAME.to_owned()], Duration::from_mins(30), from).unwrap();
    files.certificate = leaf.certificate.pem();
    files.key = leaf.key;
}

// Proves: X-012
#[rstest]
#[case::key_of_another_leaf(|files: &mut TlsFiles| files.key = crate::webhook::files(&authority(), &[NAME]).key)]
#[case::empty_leaf(|files: &mut TlsFiles| files.certificate.clear())]
#[case::empty_key(|files: &mut TlsFiles| files.key = KeyPem::new(""))]
#[case::garbage(|files: &mut TlsFiles| files.certificate = "-----BEGIN".to_owned())]
#[case::broken_bundle(|files: &mut TlsFiles| files.authorities = "x".to_owned())]
#[tokio::test(flavor = "multi_thread")]
async fn a_set_that_cannot_be_served_leaves_the_last_good_one(#[case] spoil: fn(&mut TlsFiles)) {
    let webhook = Webhook::start(admits).await;
    let good = served(&webhook).await;
    let mut spoilt = files(&webhook.authority, &[NAME]);
    spoil(&mut spoilt);
    webhook.directory.write(&spoilt).unwrap();
    webhook
        .until("the failure counted", async || {
            webhook
                .metric("sandgate_webhook_tls_reload_failures_total")
                .await
                >= 1.0
        })
        .await;
    assert_eq!(served(&webhook).await, good);
    assert_eq!(webhook.health("/readyz").await.code, 200);
}

// Proves: X-012
#[tokio::test(flavor = "multi_thread")]
async fn files_that_vanish_leave_the_last_good_set_and_are_taken_up_again() {
    let webhook = Webhook::start(admits).await;
    let good = served(&webhook).await;
    for file in fs::read_dir(webhook.directory.path()).unwrap() {
        fs::remove_file(file.unwrap().path()).unwrap();
    }
    let next = files(&webhook.authority, &[NAME]);
    assert_eq!(served(&webhook).await, good);
    webhook.directory.write(&next).unwrap();
    let expected = fingerprint(&next.certificate);
    webhook
        .until("the next leaf", async || served(&webhook).await == expected)
        .await;
}
