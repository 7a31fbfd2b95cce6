//! Clients that hold on to more than their share.

use std::time::{Duration, Instant};

use rstest::rstest;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::client::{asked, connect, dial, is_echoed, refused, tunnel};
use crate::proxy::{Proxy, Setup};

async fn impatient() -> Proxy {
    let mut setup = Setup::default();
    setup.limits.head = Duration::from_millis(500);
    Proxy::echoing(setup).await
}

// Proves: E-026
#[rstest]
#[case::nothing("")]
#[case::half_a_line("CONNECT a.exam")]
#[case::half_a_head("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n")]
#[tokio::test]
async fn a_request_that_does_not_end_is_answered_and_closed(#[case] text: &str) {
    let proxy = impatient().await;
    let began = Instant::now();
    let mut stream = dial(proxy.address).await;
    stream.write_all(text.as_bytes()).await.unwrap();
    assert_eq!(refused(&mut stream).await.refusal(), (408, "head-timeout"));
    assert!(
        began.elapsed() >= Duration::from_millis(450),
        "{:?}",
        began.elapsed()
    );
}

// Proves: E-026
#[tokio::test]
async fn a_byte_now_and_then_does_not_win_time() {
    let proxy = impatient().await;
    let began = Instant::now();
    let (mut reading, mut writing) = dial(proxy.address).await.into_split();
    let drip = tokio::spawn(async move {
        for byte in connect("a.example:443").bytes().cycle() {
            if writing.write_all(&[byte]).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    let mut text = String::new();
    reading.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 408 "), "{text}");
    assert!(
        began.elapsed() < Duration::from_secs(3),
        "{:?}",
        began.elapsed()
    );
    drip.abort();
}

#[tokio::test]
async fn a_client_that_goes_before_it_has_asked_is_no_refusal() {
    let proxy = impatient().await;
    let mut stream = dial(proxy.address).await;
    stream.write_all(b"CONNECT a.exam").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.unwrap();
    assert_eq!(rest, b"");
    proxy.until_metric("open_connections", 0.0).await;
    let page = proxy.page("/metrics").await;
    let refused = page
        .lines()
        .filter(|line| line.contains(r#"result="refused""#));
    assert!(refused.clone().all(|line| line.ends_with(" 0")), "{page}");
    assert!(refused.count() >= 13, "{page}");
}

// Proves: E-026
#[tokio::test]
async fn beyond_its_places_a_proxy_says_that_it_is_busy_and_goes_on() {
    let proxy = Proxy::echoing(Setup {
        flags: vec!["--max-tunnels=3".to_owned()],
        limits: sandgate_egress::limits::Limits {
            tunnels: 3,
            ..Default::default()
        },
        ..Setup::default()
    })
    .await;
    let mut open = Vec::new();
    for _ in 0..2 {
        open.push(tunnel(proxy.address, "a.example:443").await);
    }
    // One that has not asked for anything holds a place, too.
    let silent = dial(proxy.address).await;
    proxy.until_metric("open_connections", 3.0).await;
    for _ in 0..5 {
        let answer = asked(proxy.address, "a.example:443").await;
        assert_eq!(answer.refusal(), (503, "busy"));
    }
    for stream in &mut open {
        assert!(is_echoed(stream, "still here").await);
    }
    drop(silent);
    proxy.until_metric("open_connections", 2.0).await;
    let mut next = tunnel(proxy.address, "a.example:443").await;
    assert!(is_echoed(&mut next, "hello").await);
}

#[tokio::test]
async fn a_crowd_beyond_the_places_is_told_or_closed_and_the_rest_goes_on() {
    let proxy = Proxy::echoing(Setup {
        limits: sandgate_egress::limits::Limits {
            tunnels: 1,
            farewell: Duration::from_millis(500),
            ..Default::default()
        },
        ..Setup::default()
    })
    .await;
    let mut open = tunnel(proxy.address, "a.example:443").await;
    let mut crowd = Vec::new();
    for _ in 0..400 {
        crowd.push(dial(proxy.address).await);
    }
    assert!(is_echoed(&mut open, "still here").await);
    for mut stream in crowd {
        let mut text = Vec::new();
        let read = stream.read_to_end(&mut text).await;
        let told = text.starts_with(b"HTTP/1.1 503 Egress refused: busy\r\n");
        assert!(told || text.is_empty() || read.is_err());
    }
    assert!(is_echoed(&mut open, "still here").await);
}
