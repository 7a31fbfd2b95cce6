//! Being told to stop, and the real binary.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::SystemTime;

use sandgate_certs::directory::TlsDirectory;
use sandgate_certs::issue::{self, Lifetimes};
use sandgate_shared::rules::{Attempt, Verdict};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::client::{self, PATIENCE};
use crate::webhook::{NAME, UID, Webhook, files, review};

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_fails_readiness_at_once_and_answers_on_until_the_drain_is_over() {
    let webhook = Webhook::start_draining("3s").await;
    let (address, health) = (webhook.running.address, webhook.running.health_address);
    let authority = webhook.authority.certificate.der().clone();
    let mut before = webhook.connect().await;
    let mut idle = webhook.connect().await;
    assert!(!before.post("/validate", review(&json!({}))).await.closes());
    let stopping = tokio::spawn(webhook.running.stop());
    let ready = client::until_unready(health).await;
    assert!(ready.text().contains("stopping"), "{}", ready.text());

    let answer = before.post("/validate", review(&json!({}))).await;
    assert!(answer.closes(), "{}", answer.head);
    assert_eq!(answer.review()["response"]["allowed"], true);
    let mut during = client::connect(address, &authority, NAME, &[])
        .await
        .unwrap();
    let answer = during.post("/validate", review(&json!({}))).await;
    assert!(answer.closes());
    assert_eq!(answer.review()["response"]["allowed"], true);

    tokio::time::timeout(PATIENCE, stopping)
        .await
        .expect("never stopped")
        .unwrap();
    assert!(
        idle.answer().await.is_none(),
        "idle connections are closed at the end"
    );
    assert!(
        TcpStream::connect(address).await.is_err(),
        "nothing is accepted any more"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_in_flight_at_the_end_is_answered() {
    let (entered, release) = (
        Arc::new(Notify::new()),
        Arc::new(std::sync::Barrier::new(2)),
    );
    let (tells, waits) = (Arc::clone(&entered), Arc::clone(&release));
    let webhook = Webhook::start(move |_: &Attempt<'_>| {
        tells.notify_one();
        waits.wait();
        Verdict::default()
    })
    .await;
    let address = webhook.running.address;
    let mut connection = webhook.connect().await;
    let asking =
        tokio::spawn(async move { connection.post("/validate", review(&json!({}))).await });
    entered.notified().await;
    let stopping = tokio::spawn(webhook.running.stop());
    let refused = async {
        while TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, refused)
        .await
        .expect("went on accepting");
    assert!(!stopping.is_finished(), "stopped over a request in flight");
    tokio::task::spawn_blocking(move || release.wait())
        .await
        .unwrap();
    let answer = asking.await.unwrap();
    assert_eq!(answer.review()["response"]["allowed"], true);
    assert!(answer.closes());
    tokio::time::timeout(PATIENCE, stopping)
        .await
        .expect("never stopped")
        .unwrap();
}

/// The binary, killed when a test fails.
struct Binary(Child);

impl Drop for Binary {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The binary, saying what is wrong to whoever reads its standard error.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sandgate-webhook"));
    command
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

// Proves: W-001, W-002
#[tokio::test(flavor = "multi_thread")]
async fn the_binary_judges_by_the_rule_table_and_ends_cleanly_on_sigterm() {
    let place = tempfile::tempdir().unwrap();
    let authority = issue::authority(Lifetimes::default().authority, SystemTime::now()).unwrap();
    TlsDirectory::new(place.path())
        .write(&files(&authority, &[NAME]))
        .unwrap();
    let mut binary = Binary(
        command(&[
            "--listen",
            "127.0.0.1:0",
            "--health-listen",
            "127.0.0.1:0",
            "--tls-dir",
            place.path().to_str().unwrap(),
            "--operator-username",
            "system:serviceaccount:sandgate-system:sandgate-controller",
            "--drain",
            "100ms",
        ])
        .spawn()
        .unwrap(),
    );
    let stderr = BufReader::new(binary.0.stderr.take().unwrap());
    let (told, mut lines) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in stderr.lines().map_while(Result::ok) {
            let _ = told.send(serde_json::from_str::<Value>(&line).unwrap());
        }
    });
    let (mut address, mut loaded) = (None, false);
    while address.is_none() || !loaded {
        let line = tokio::time::timeout(PATIENCE, lines.recv())
            .await
            .unwrap()
            .unwrap();
        let fields = &line["fields"];
        loaded |= fields["leaf"].is_string();
        address = address.or(fields["address"]
            .as_str()
            .map(|a| a.parse::<SocketAddr>().unwrap()));
    }
    let trusted = authority.certificate.der().clone();
    let mut connection = client::connect(address.unwrap(), &trusted, NAME, &["http/1.1"])
        .await
        .unwrap();
    let spec = json!({"targetPath": "a/../b", "sessionID": "s"});
    let answer = connection.post("/mutate", review(&spec)).await.review();
    assert_eq!(answer["response"]["uid"], UID);
    assert_eq!(answer["response"]["status"]["code"], 422);
    let message = answer["response"]["status"]["message"].as_str().unwrap();
    assert!(
        message.contains("spec.targetPath: Invalid value: "),
        "{message}"
    );
    assert!(message.contains("[claim-target-path]"), "{message}");

    let pid = binary.0.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
    let ended = tokio::task::spawn_blocking(move || binary.0.wait().unwrap());
    let status = tokio::time::timeout(PATIENCE, ended)
        .await
        .expect("did not end")
        .unwrap();
    assert!(status.success(), "{status}");
}
