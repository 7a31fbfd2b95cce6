//! Tunnels of which one end breaks off: that is told, and takes nothing from what came before it.

use std::time::Duration;

use sandgate_egress::limits::Limits;
use socket2::SockRef;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::{connect, established, tunnel};
use crate::proxy::Proxy;
use crate::tunnels::{both_ends, closed, is_reset, pattern, settled, with_origin};

/// Breaks a connection off.
fn reset(stream: TcpStream) {
    SockRef::from(&stream)
        .set_linger(Some(Duration::ZERO))
        .unwrap();
    drop(stream);
}

/// One end breaks off behind what it has sent; the other gets that and is told of the break.
async fn breaks_off(proxy: &Proxy, mut one: TcpStream, mut other: TcpStream, cause: &str) {
    one.write_all(b"half").await.unwrap();
    let mut half = [0; 4];
    other.read_exact(&mut half).await.unwrap();
    reset(one);
    let read = other.read(&mut half).await;
    assert!(is_reset(&read), "{read:?}");
    closed(proxy, cause).await;
}

#[tokio::test]
async fn a_server_that_breaks_off_is_no_server_that_is_done() {
    let (proxy, client, server) = both_ends(Limits::default()).await;
    breaks_off(&proxy, server, client, "upstream-reset").await;
}

#[tokio::test]
async fn a_client_that_breaks_off_is_no_client_that_is_done() {
    let (proxy, client, server) = both_ends(Limits::default()).await;
    breaks_off(&proxy, client, server, "client-reset").await;
}

// Proves: E-015
#[tokio::test]
async fn what_a_server_says_before_it_breaks_off_an_upload_is_heard() {
    let (proxy, mut origin) = with_origin(Limits::default()).await;
    let mut clients = Vec::new();
    let mut servers = Vec::new();
    for _ in 0..16 {
        let (reading, mut writing) = tunnel(proxy.address, "a.example:443").await.into_split();
        servers.push(origin.next().await);
        let upload = tokio::spawn(async move {
            let piece = pattern(64 * 1024);
            while writing.write_all(&piece).await.is_ok() {}
        });
        clients.push((reading, upload));
    }
    settled(&proxy, "up").await;
    for mut server in servers {
        server.write_all(b"too large").await.unwrap();
        // It has not read what came, so this is a reset.
        drop(server);
    }
    for (mut reading, upload) in clients {
        let mut heard = Vec::new();
        // The kernel tells a reset once, to whoever asks first: here, or there.
        let _read = reading.read_to_end(&mut heard).await;
        assert_eq!(String::from_utf8_lossy(&heard), "too large");
        upload.await.unwrap();
    }
    let series = r#"tunnels_closed_total{cause="upstream-reset"}"#;
    proxy.until_metric(series, 16.0).await;
}

#[tokio::test]
async fn a_server_that_was_done_takes_nothing_back_by_breaking_off_what_the_client_still_sends() {
    const LENGTH: usize = 20_000;
    let (proxy, mut origin) = with_origin(Limits::default()).await;
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    // All that this client has not read yet waits at the proxy.
    socket.set_recv_buffer_size(2048).unwrap();
    let mut client = socket.connect(proxy.address).await.unwrap();
    let request = connect("a.example:443");
    client.write_all(request.as_bytes()).await.unwrap();
    established(&mut client).await;
    let mut server = origin.next().await;
    server.write_all(&pattern(LENGTH)).await.unwrap();
    drop(server);
    settled(&proxy, "down").await;
    let series = r#"tunnels_closed_total{cause="upstream-reset"}"#;
    // The first is answered by a reset, which the second meets.
    for _ in 0..2 {
        client.write_all(b"x").await.unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    proxy.until_metric(series, 1.0).await;
    let mut got = Vec::new();
    client.read_to_end(&mut got).await.unwrap();
    assert!(got == pattern(LENGTH), "{} bytes", got.len());
}
