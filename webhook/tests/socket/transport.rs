//! Clients that stall, speak something else or come in crowds.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use sandgate_webhook::server::Limits;
use serde_json::json;
use tokio::io::AsyncReadExt as _;

use crate::client::{PATIENCE, connect, connect_plain};
use crate::webhook::{NAME, Setup, Webhook, admits, review};

fn limits(limits: Limits) -> Setup {
    Setup {
        limits,
        ..Setup::default()
    }
}

async fn is_served(webhook: &Webhook) {
    let answer = webhook
        .connect()
        .await
        .post("/validate", review(&json!({})))
        .await
        .review();
    assert_eq!(answer["response"]["allowed"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_stall_in_the_handshake_hold_up_nobody_and_are_cut_off() {
    let short = Limits {
        handshake: Duration::from_secs(2),
        ..Limits::default()
    };
    let webhook = Webhook::start_with(admits, limits(short)).await;
    let mut silent = Vec::new();
    for _ in 0..50 {
        silent.push(connect_plain(webhook.running.address).await);
    }
    silent[0].send(&[0x16, 0x03, 0x01, 0x02, 0x00]).await;
    is_served(&webhook).await;
    for connection in &mut silent {
        let read = tokio::time::timeout(PATIENCE, connection.stream.read_u8()).await;
        assert!(read.expect("was not cut off").is_err());
    }
    webhook
        .until("each counted", async || {
            webhook
                .metric("sandgate_webhook_tls_handshake_failures_total")
                .await
                >= 50.0
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_head_that_drips_is_cut_off_and_an_idle_connection_is_not() {
    let short = Limits {
        head: Duration::from_millis(300),
        ..Limits::default()
    };
    let webhook = Webhook::start_with(admits, limits(short)).await;
    let mut idle = webhook.connect().await;
    idle.post("/validate", review(&json!({}))).await.review();
    let mut slow = webhook.connect().await;
    slow.send(b"POST /vali").await;
    assert!(slow.answer().await.is_none(), "was not cut off");
    let answer = idle.post("/validate", review(&json!({}))).await.review();
    assert_eq!(answer["response"]["allowed"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_is_closed_at_its_limit() {
    let short = Limits {
        idle: Duration::from_secs(1),
        ..Limits::default()
    };
    let webhook = Webhook::start_with(admits, limits(short)).await;
    let mut connection = webhook.connect().await;
    connection
        .post("/validate", review(&json!({})))
        .await
        .review();
    let since = Instant::now();
    assert!(connection.answer().await.is_none());
    assert!(since.elapsed() >= Duration::from_millis(900));
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_http_and_garbage_on_the_tls_port_are_refused() {
    let webhook = Webhook::start(admits).await;
    for opening in [
        &b"POST /validate HTTP/1.1\r\nhost: a\r\n\r\n"[..],
        b"PRI * HTTP/2.0\r\n\r\n",
        &[0; 64],
    ] {
        let mut connection = connect_plain(webhook.running.address).await;
        connection.send(opening).await;
        let mut sent_back = Vec::new();
        let read = connection.stream.read_to_end(&mut sent_back);
        let _ = tokio::time::timeout(PATIENCE, read)
            .await
            .expect("was not closed");
        assert!(!sent_back.starts_with(b"HTTP"), "{sent_back:?}");
    }
    is_served(&webhook).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_http_1_is_spoken() {
    let webhook = Webhook::start(admits).await;
    let authority = webhook.authority.certificate.der().clone();
    let address = webhook.running.address;
    assert!(connect(address, &authority, NAME, &["h2"]).await.is_err());
    let both = connect(address, &authority, NAME, &["h2", "http/1.1"])
        .await
        .unwrap();
    assert_eq!(
        both.stream.get_ref().1.alpn_protocol(),
        Some(&b"http/1.1"[..])
    );
    let mut preface = webhook.connect().await;
    preface.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    assert!(
        preface
            .answer()
            .await
            .is_none_or(|answer| answer.code >= 400)
    );
    is_served(&webhook).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_and_a_name_are_both_served() {
    let webhook = Webhook::start(admits).await;
    let authority = webhook.authority.certificate.der().clone();
    connect(webhook.running.address, &authority, "127.0.0.1", &[])
        .await
        .unwrap();
    assert!(
        connect(
            webhook.running.address,
            &authority,
            "elsewhere.example",
            &[]
        )
        .await
        .is_err()
    );
    is_served(&webhook).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_unspecified_ipv6_address_serves_ipv4_too() {
    let setup = Setup {
        listen: "[::]:0",
        ..Setup::default()
    };
    let webhook = Webhook::start_with(admits, setup).await;
    let address = SocketAddr::from(([127, 0, 0, 1], webhook.running.address.port()));
    let authority = webhook.authority.certificate.der().clone();
    let mut connection = connect(address, &authority, "127.0.0.1", &[])
        .await
        .unwrap();
    connection
        .post("/validate", review(&json!({})))
        .await
        .review();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_beyond_the_cap_waits_and_is_served_when_another_leaves() {
    let two = Limits {
        connections: 2,
        ..Limits::default()
    };
    let webhook = Webhook::start_with(admits, limits(two)).await;
    let (first, _second) = (webhook.connect().await, webhook.connect().await);
    let mut third = Box::pin(webhook.connect());
    let early = tokio::time::timeout(Duration::from_millis(200), &mut third).await;
    assert!(
        early.is_err(),
        "a third connection was served beyond the cap"
    );
    drop(first);
    let answer = tokio::time::timeout(PATIENCE, third)
        .await
        .expect("was never served");
    let mut answer = answer;
    answer.post("/validate", review(&json!({}))).await.review();
}

#[tokio::test(flavor = "multi_thread")]
async fn hundreds_of_connections_at_once_are_all_answered() {
    let webhook = std::sync::Arc::new(Webhook::start(admits).await);
    let asking: Vec<_> = (0..300)
        .map(|_| {
            let webhook = std::sync::Arc::clone(&webhook);
            tokio::spawn(async move { is_served(&webhook).await })
        })
        .collect();
    for task in asking {
        task.await.unwrap();
    }
}
