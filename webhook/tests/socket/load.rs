//! Requests without a pause while certificates change and while the webhook ends: none is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustls::pki_types::CertificateDer;
use serde_json::json;
use tokio::task::JoinSet;

use crate::certificates::{fingerprint, served};
use crate::client::{self, PATIENCE, Tls};
use crate::webhook::{NAME, UID, Webhook, admits, files, review};

const FAILURES: &str = "sandgate_webhook_tls_reload_failures_total";

/// Clients that ask again and again, on a connection for as long as the webhook keeps it open, as API
/// servers do.
struct Load {
    enough: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
    clients: JoinSet<()>,
}

impl Load {
    fn of(clients: usize, webhook: &Webhook) -> Self {
        let mut load = Self {
            enough: Arc::default(),
            answered: Arc::default(),
            clients: JoinSet::new(),
        };
        let address = webhook.running.address;
        let authority: CertificateDer<'static> = webhook.authority.certificate.der().clone();
        for _ in 0..clients {
            let (enough, answered) = (Arc::clone(&load.enough), Arc::clone(&load.answered));
            let authority = authority.clone();
            load.clients.spawn(async move {
                let mut standing: Option<Tls> = None;
                while !enough.load(Ordering::Relaxed) {
                    let mut connection = match standing.take() {
                        Some(connection) => connection,
                        None => client::connect(address, &authority, NAME, &[])
                            .await
                            .unwrap(),
                    };
                    let answer = connection.post("/validate", review(&json!({}))).await;
                    let response = &answer.review()["response"];
                    assert_eq!(
                        (&response["uid"], &response["allowed"]),
                        (&json!(UID), &json!(true))
                    );
                    answered.fetch_add(1, Ordering::Relaxed);
                    standing = (!answer.closes()).then_some(connection);
                }
            });
        }
        load
    }

    /// Waits until as many more are answered.
    async fn goes_on(&mut self, for_more: usize) {
        let answered = Arc::clone(&self.answered);
        let until = answered.load(Ordering::Relaxed) + for_more;
        let going = async {
            while answered.load(Ordering::Relaxed) < until {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            failed = self.clients.join_next() => panic!("a client has ended: {failed:?}"),
            gone_on = tokio::time::timeout(PATIENCE, going) => gone_on.expect("nothing is answered"),
        }
    }

    /// Every client ends with its last request answered.
    async fn end(mut self) {
        self.enough.store(true, Ordering::Relaxed);
        while let Some(ended) = self.clients.join_next().await {
            ended.unwrap();
        }
    }
}

// Proves: X-012
#[tokio::test(flavor = "multi_thread")]
async fn no_request_is_lost_while_leaves_change_and_bad_ones_come_between() {
    let webhook = Webhook::start(admits).await;
    let mut load = Load::of(8, &webhook);
    load.goes_on(50).await;
    for _ in 0..3 {
        let renewed = files(&webhook.authority, &[NAME, "127.0.0.1"]);
        let mut bad = renewed.clone();
        bad.key = files(&webhook.authority, &[NAME]).key;
        let failures = webhook.metric(FAILURES).await;
        webhook.directory.write(&bad).unwrap();
        webhook
            .until("a set that does not fit is noticed", async || {
                webhook.metric(FAILURES).await > failures
            })
            .await;
        load.goes_on(50).await;
        webhook.directory.write(&renewed).unwrap();
        let expected = fingerprint(&renewed.certificate);
        webhook
            .until("the renewed leaf", async || {
                served(&webhook).await == expected
            })
            .await;
        load.goes_on(50).await;
    }
    load.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_is_lost_while_the_webhook_drains() {
    let webhook = Webhook::start_draining("10s").await;
    let health = webhook.running.health_address;
    let mut load = Load::of(8, &webhook);
    load.goes_on(50).await;
    let stopping = tokio::spawn(webhook.running.stop());
    client::until_unready(health).await;
    // Each on a connection of its own now.
    load.goes_on(100).await;
    load.end().await;
    stopping.abort();
}
