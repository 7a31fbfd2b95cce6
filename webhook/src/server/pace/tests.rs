use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

use super::*;

const HEAD: Duration = Duration::from_secs(10);
const IDLE: Duration = Duration::from_secs(150);

fn paced() -> (
    tokio::io::DuplexStream,
    Paced<tokio::io::DuplexStream>,
    Arc<Pace>,
) {
    let (client, server) = duplex(64);
    let pace = Arc::new(Pace::default());
    let paced = Paced::new(server, Arc::clone(&pace), HEAD, IDLE);
    (client, paced, pace)
}

async fn times_out_after(paced: &mut Paced<tokio::io::DuplexStream>, expected: Duration) {
    let started = Instant::now();
    let error = paced.read_u8().await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert_eq!(started.elapsed().as_secs(), expected.as_secs());
}

#[tokio::test(start_paused = true)]
async fn a_silent_connection_lives_longer_than_the_api_servers_own_limit() {
    let (_client, mut paced, _pace) = paced();
    times_out_after(&mut paced, IDLE).await;
    assert!(IDLE > Duration::from_secs(90));
}

#[tokio::test(start_paused = true)]
async fn a_request_once_begun_must_go_on() {
    let (mut client, mut paced, _pace) = paced();
    client.write_all(b"P").await.unwrap();
    paced.read_u8().await.unwrap();
    times_out_after(&mut paced, HEAD).await;
}

#[tokio::test(start_paused = true)]
async fn dripping_bytes_buys_no_time() {
    let (mut client, mut paced, _pace) = paced();
    let started = Instant::now();
    tokio::spawn(async move {
        while client.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    });
    while paced.read_u8().await.is_ok() {}
    assert!(started.elapsed() <= HEAD + Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn an_answered_request_starts_the_long_limit_again() {
    let (mut client, mut paced, pace) = paced();
    client.write_all(b"P").await.unwrap();
    paced.read_u8().await.unwrap();
    pace.begin();
    tokio::time::sleep(2 * HEAD).await;
    pace.end();
    times_out_after(&mut paced, IDLE).await;
}

#[tokio::test(start_paused = true)]
async fn while_a_request_is_answered_no_limit_runs_here() {
    let (mut client, mut paced, pace) = paced();
    client.write_all(b"P").await.unwrap();
    paced.read_u8().await.unwrap();
    pace.begin();
    let waiting = tokio::time::timeout(2 * IDLE, paced.read_u8()).await;
    assert!(waiting.is_err(), "the read itself never ended");
}
