//! Bodies that are large, slow, in pieces or without end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sandgate_shared::rules::{Attempt, Verdict};
use serde_json::json;

use crate::webhook::{UID, Webhook, admits, review, review_of};

const MIB: usize = 1024 * 1024;

#[tokio::test(flavor = "multi_thread")]
async fn a_body_just_under_the_limit_is_judged() {
    let webhook = Webhook::start(admits).await;
    let answer = webhook
        .connect()
        .await
        .post("/validate", review_of(7 * MIB - 1024))
        .await;
    assert_eq!(answer.review()["response"]["allowed"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_over_seven_mebibytes_is_denied_with_its_uid() {
    let webhook = Webhook::start(admits).await;
    let mut connection = webhook.connect().await;
    for size in [7 * MIB, 20 * MIB] {
        let response =
            connection.post("/mutate", review_of(size)).await.review()["response"].clone();
        assert_eq!(response["uid"], UID);
        assert_eq!(response["allowed"], false);
        assert_eq!(response["status"]["code"], 413);
        assert_eq!(response["status"]["reason"], "RequestEntityTooLarge");
    }
    let next = connection
        .post("/mutate", review(&json!({})))
        .await
        .review();
    assert_eq!(next["response"]["allowed"], true, "on the same connection");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_over_the_limit_without_a_uid_is_a_plain_413() {
    let webhook = Webhook::start(admits).await;
    let answer = webhook
        .connect()
        .await
        .post("/mutate", vec![b'['; 8 * MIB])
        .await;
    assert_eq!(answer.code, 413);
    assert!(answer.text().contains("7340032 bytes"), "{}", answer.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_in_chunks_without_a_length_is_judged() {
    let webhook = Webhook::start(admits).await;
    let mut connection = webhook.connect().await;
    connection
        .send(b"POST /validate HTTP/1.1\r\nhost: webhook\r\ntransfer-encoding: chunked\r\n\r\n")
        .await;
    for piece in review(&json!({})).as_bytes().chunks(100) {
        connection
            .send(format!("{:x}\r\n", piece.len()).as_bytes())
            .await;
        connection.send(piece).await;
        connection.send(b"\r\n").await;
    }
    connection.send(b"0\r\n\r\n").await;
    let answer = connection.answer().await.unwrap().review();
    assert_eq!(answer["response"]["allowed"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_stalls_is_given_up_before_the_api_server_does() {
    let webhook = Webhook::start(admits).await;
    let mut connection = webhook.connect().await;
    let started = Instant::now();
    connection
        .send(
            b"POST /validate?timeout=1s HTTP/1.1\r\nhost: webhook\r\ncontent-length: 500\r\n\r\n{",
        )
        .await;
    let answer = connection.answer().await.unwrap();
    assert_eq!(answer.code, 408);
    assert!(started.elapsed() < Duration::from_secs(5));
    assert!(answer.closes());
    assert!(
        connection.answer().await.is_none(),
        "the connection is closed"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn large_bodies_are_judged_one_at_a_time_and_small_ones_are_not_held_up() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (entered, release) = (
        Arc::new(tokio::sync::Semaphore::new(0)),
        Arc::new(std::sync::Barrier::new(2)),
    );
    let judge = {
        let (now, most) = (Arc::clone(&now), Arc::clone(&most));
        let (entered, release) = (Arc::clone(&entered), Arc::clone(&release));
        move |attempt: &Attempt<'_>| {
            if attempt.object["spec"]["padding"].is_string() {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                entered.add_permits(1);
                release.wait();
                now.fetch_sub(1, Ordering::SeqCst);
            }
            Verdict::default()
        }
    };
    let webhook = Arc::new(Webhook::start(judge).await);
    let large: Vec<_> = (0..6)
        .map(|_| {
            let webhook = Arc::clone(&webhook);
            tokio::spawn(async move {
                webhook
                    .connect()
                    .await
                    .post("/validate", review_of(MIB))
                    .await
                    .review()
            })
        })
        .collect();
    for _ in 0..6 {
        entered.acquire().await.unwrap().forget();
        let small = webhook
            .connect()
            .await
            .post("/validate", review(&json!({})))
            .await
            .review();
        assert_eq!(
            small["response"]["allowed"], true,
            "while a large one is being judged"
        );
        let release = Arc::clone(&release);
        tokio::task::spawn_blocking(move || release.wait())
            .await
            .unwrap();
    }
    for answer in large {
        assert_eq!(answer.await.unwrap()["response"]["allowed"], true);
    }
    assert_eq!(most.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_hold_every_place_for_large_bodies_delay_small_ones_not_at_all() {
    let webhook = Webhook::start(admits).await;
    let mut holding = Vec::new();
    for _ in 0..sandgate_webhook::handler::BIG_BODIES {
        let mut connection = webhook.connect().await;
        connection
            .send(b"POST /validate HTTP/1.1\r\nhost: webhook\r\ncontent-length: 2000000\r\n\r\n")
            .await;
        connection
            .send(&review_of(1_999_000).as_bytes()[..1_000_000])
            .await;
        holding.push(connection);
    }
    let small = webhook
        .connect()
        .await
        .post("/validate", review_of(10_000))
        .await
        .review();
    assert_eq!(small["response"]["allowed"], true);
    let large = webhook
        .connect()
        .await
        .post("/validate?timeout=1s", review_of(MIB))
        .await
        .review();
    assert_eq!(large["response"]["uid"], UID);
    assert_eq!(large["response"]["status"]["code"], 500);
    drop(holding);
    let large = webhook
        .connect()
        .await
        .post("/validate", review_of(MIB))
        .await
        .review();
    assert_eq!(large["response"]["allowed"], true, "places are given back");
}
