//! Bytes through a tunnel: all of them, in order, both ways, and no longer than they should.

use std::time::Duration;

use rstest::rstest;
use sandgate_egress::limits::Limits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::client::{connect, dial, established, is_echoed, tunnel};
use crate::dns::{Dns, at};
use crate::origin::Origin;
use crate::proxy::{PUBLIC, Proxy, Setup};

/// Bytes of which none is like its neighbours for long.
pub fn pattern(length: usize) -> Vec<u8> {
    (0..length)
        .map(|n| u8::try_from((n * 31 + n / 251) % 256).unwrap())
        .collect()
}

pub async fn with_origin(limits: Limits) -> (Proxy, Origin) {
    let dns = Dns::start(|_, _, _| at(&[PUBLIC])).await;
    let setup = Setup {
        limits,
        ..Setup::default()
    };
    let proxy = Proxy::start(setup, dns);
    let origin = Origin::start().await;
    proxy.internet.put(PUBLIC, origin.address);
    (proxy, origin)
}

/// A tunnel and both its ends.
pub async fn both_ends(limits: Limits) -> (Proxy, TcpStream, TcpStream) {
    let (proxy, mut origin) = with_origin(limits).await;
    let client = tunnel(proxy.address, "a.example:443").await;
    let server = origin.next().await;
    (proxy, client, server)
}

pub async fn closed(proxy: &Proxy, cause: &str) {
    let series = format!(r#"tunnels_closed_total{{cause="{cause}"}}"#);
    proxy.until_metric(&series, 1.0).await;
    proxy.until_metric("open_tunnels", 0.0).await;
}

// Proves: E-015
#[tokio::test]
async fn a_client_that_is_done_still_gets_all_of_its_answer() {
    let proxy = Proxy::echoing(Setup::default()).await;
    let mut stream = tunnel(proxy.address, "a.example:443").await;
    let sent = pattern(200_000);
    let (mut reading, mut writing) = stream.split();
    let sending = async {
        writing.write_all(&sent).await.unwrap();
        writing.shutdown().await.unwrap();
    };
    let mut back = Vec::new();
    let (read, ()) = tokio::join!(reading.read_to_end(&mut back), sending);
    read.unwrap();
    assert_eq!(back.len(), 200_000);
    assert!(back == sent);
    closed(&proxy, "eof").await;
    let up = proxy.metric(r#"carried_bytes_total{direction="up"}"#).await;
    let down = proxy
        .metric(r#"carried_bytes_total{direction="down"}"#)
        .await;
    assert!(
        (up - 200_000.0).abs() < 0.5 && (down - 200_000.0).abs() < 0.5,
        "{up}, {down}"
    );
}

// Proves: E-015
#[tokio::test]
async fn a_server_that_answers_at_the_end_is_told_of_it() {
    let (_proxy, mut client, mut server) = both_ends(Limits::default()).await;
    client.write_all(b"question").await.unwrap();
    client.shutdown().await.unwrap();
    let mut asked = String::new();
    server.read_to_string(&mut asked).await.unwrap();
    assert_eq!(asked, "question");
    server.write_all(&pattern(200_000)).await.unwrap();
    drop(server);
    let mut back = Vec::new();
    client.read_to_end(&mut back).await.unwrap();
    assert!(back == pattern(200_000), "{}", back.len());
}

#[tokio::test]
async fn a_server_that_is_done_first_still_gets_what_the_client_sends() {
    let (proxy, mut client, mut server) = both_ends(Limits::default()).await;
    server.shutdown().await.unwrap();
    let mut nothing = Vec::new();
    client.read_to_end(&mut nothing).await.unwrap();
    assert_eq!(nothing, b"");
    client.write_all(&pattern(100_000)).await.unwrap();
    drop(client);
    let mut got = Vec::new();
    server.read_to_end(&mut got).await.unwrap();
    assert!(got == pattern(100_000), "{}", got.len());
    closed(&proxy, "eof").await;
}

// Proves: E-015
#[rstest]
#[case::a_few(517)]
#[case::as_many_as_the_head_leaves_room_for(15_000)]
#[case::more_than_is_read_before_there_is_a_tunnel(300_000)]
#[tokio::test]
async fn bytes_sent_behind_the_request_arrive_first(#[case] length: usize) {
    let (proxy, mut origin) = with_origin(Limits::default()).await;
    let early = pattern(length);
    let all = [connect("a.example:443").as_bytes(), &early].concat();
    let mut client = dial(proxy.address).await;
    let (mut reading, mut writing) = client.split();
    let sending = async {
        writing.write_all(&all).await.unwrap();
        writing.write_all(b"later").await.unwrap();
        writing.shutdown().await.unwrap();
    };
    let receive = async {
        let mut got = Vec::new();
        origin.next().await.read_to_end(&mut got).await.unwrap();
        got
    };
    let (got, ()) = tokio::join!(receive, sending);
    assert!(got == [early, b"later".to_vec()].concat(), "{}", got.len());
    let mut answer = String::new();
    reading.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer, crate::client::ESTABLISHED);
}

#[tokio::test]
async fn a_client_that_is_done_right_behind_its_request_is_served() {
    let (proxy, mut origin) = with_origin(Limits::default()).await;
    let mut client = dial(proxy.address).await;
    client
        .write_all(connect("a.example:443").as_bytes())
        .await
        .unwrap();
    client.shutdown().await.unwrap();
    established(&mut client).await;
    let mut server = origin.next().await;
    server.write_all(b"hello").await.unwrap();
    drop(server);
    let mut got = String::new();
    client.read_to_string(&mut got).await.unwrap();
    assert_eq!(got, "hello");
}

#[tokio::test]
async fn a_server_that_speaks_first_is_heard() {
    let (_proxy, mut client, mut server) = both_ends(Limits::default()).await;
    server.write_all(b"220 hello\r\n").await.unwrap();
    let mut got = [0; 11];
    client.read_exact(&mut got).await.unwrap();
    assert_eq!(&got, b"220 hello\r\n");
}

pub fn is_reset(read: &std::io::Result<usize>) -> bool {
    matches!(read, Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset)
}

fn impatient(idle: u64, half_closed: u64) -> Limits {
    Limits {
        idle: Duration::from_millis(idle),
        half_closed: Duration::from_millis(half_closed),
        ..Limits::default()
    }
}

#[tokio::test]
async fn a_tunnel_through_which_nothing_goes_is_ended() {
    let (proxy, mut client, _server) = both_ends(impatient(300, 60_000)).await;
    let read = client.read(&mut [0]).await;
    assert!(is_reset(&read), "{read:?}");
    closed(&proxy, "idle").await;
}

#[tokio::test]
async fn a_download_is_no_idle_tunnel_and_neither_is_one_byte_now_and_then() {
    let (proxy, mut client, mut server) = both_ends(impatient(1500, 60_000)).await;
    let mut got = [0];
    for _ in 0..8 {
        // Time itself is what is tested: longer in all than a tunnel may be idle.
        tokio::time::sleep(Duration::from_millis(400)).await;
        server.write_all(b"x").await.unwrap();
        client.read_exact(&mut got).await.unwrap();
    }
    assert!((proxy.metric("open_tunnels").await - 1.0).abs() < 0.5);
}

#[tokio::test]
async fn a_tunnel_of_which_one_end_is_done_waits_less_long_for_the_other() {
    let (proxy, mut client, mut server) = both_ends(impatient(60_000, 300)).await;
    client.shutdown().await.unwrap();
    assert_eq!(server.read(&mut [0]).await.unwrap(), 0);
    let read = timeout(Duration::from_secs(10), client.read(&mut [0])).await;
    assert!(is_reset(&read.unwrap()));
    closed(&proxy, "half-close-idle").await;
}

/// Waits until the sockets and what is between them take no more; how many bytes that are.
pub async fn settled(proxy: &Proxy, direction: &str) -> f64 {
    let series = format!(r#"carried_bytes_total{{direction="{direction}"}}"#);
    let mut last = -1.0;
    loop {
        let carried = proxy.metric(&series).await;
        if carried > 0.0 && (carried - last).abs() < 0.5 {
            return carried;
        }
        last = carried;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_up_its_own_server_only() {
    let (proxy, mut client, mut server) = both_ends(Limits::default()).await;
    let flood = tokio::spawn(async move {
        let piece = pattern(64 * 1024);
        for _ in 0..512 {
            server.write_all(&piece).await.unwrap();
        }
        server
    });
    let last = settled(&proxy, "down").await;
    assert!(
        last < 32.0 * 1024.0 * 1024.0 && !flood.is_finished(),
        "{last}"
    );
    let mut other = Vec::new();
    client.read_buf(&mut other).await.unwrap();
    let mut got = other.len();
    let mut bytes = vec![0; 1 << 20];
    while got < 512 * 64 * 1024 {
        got += client.read(&mut bytes).await.unwrap();
    }
    assert_eq!(got, 512 * 64 * 1024);
    flood.await.unwrap();
}

#[tokio::test]
async fn more_busy_tunnels_than_there_are_pipes_lose_no_byte() {
    let proxy = Proxy::echoing(Setup::default()).await;
    let address = proxy.address;
    let all = (0..300).map(|n: usize| {
        tokio::spawn(async move {
            let mut stream = tunnel(address, "a.example:443").await;
            let sent = pattern(64 * 1024 + n);
            let (mut reading, mut writing) = stream.split();
            let sending = async {
                writing.write_all(&sent).await.unwrap();
                writing.shutdown().await.unwrap();
            };
            let mut back = Vec::new();
            let (read, ()) = tokio::join!(reading.read_to_end(&mut back), sending);
            read.unwrap();
            assert!(back == sent, "{} of {}", back.len(), sent.len());
        })
    });
    for one in all.collect::<Vec<_>>() {
        one.await.unwrap();
    }
    proxy.until_metric("open_tunnels", 0.0).await;
    let mut still = tunnel(address, "a.example:443").await;
    assert!(is_echoed(&mut still, "hello").await);
}

#[tokio::test]
async fn a_tunnel_whose_client_does_not_read_is_ended_as_an_idle_one() {
    let (proxy, client, mut server) = both_ends(impatient(500, 60_000)).await;
    let piece = pattern(64 * 1024);
    while server.write_all(&piece).await.is_ok() {}
    closed(&proxy, "idle").await;
    drop(client);
}
