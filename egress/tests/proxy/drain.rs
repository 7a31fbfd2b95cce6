//! The end of a proxy.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::client::{asked, dial, is_echoed, refused, tunnel};
use crate::proxy::{Proxy, Setup};

fn draining_for(time: &str) -> Setup {
    Setup {
        flags: vec![format!("--drain={time}")],
        ..Setup::default()
    }
}

#[tokio::test]
async fn open_tunnels_go_on_and_new_ones_are_refused_until_the_last_is_done() {
    let mut proxy = Proxy::echoing(draining_for("1m")).await;
    let mut open = tunnel(proxy.address, "a.example:443").await;
    let mut asking = dial(proxy.address).await;
    asking.write_all(b"CONNECT a.exam").await.unwrap();
    let running = proxy.running.take().unwrap();
    let stopping = tokio::spawn(running.stop());
    assert_eq!(refused(&mut asking).await.refusal(), (503, "draining"));
    let answer = asked(proxy.address, "a.example:443").await;
    assert_eq!(answer.refusal(), (503, "draining"));
    assert!(proxy.page("/readyz").await.starts_with("HTTP/1.1 503"));
    assert!(proxy.page("/healthz").await.starts_with("HTTP/1.1 200"));
    assert!(is_echoed(&mut open, "still here").await);
    assert!(!stopping.is_finished());
    open.shutdown().await.unwrap();
    let mut rest = Vec::new();
    open.read_to_end(&mut rest).await.unwrap();
    stopping.await.unwrap();
    assert!(tokio::net::TcpStream::connect(proxy.address).await.is_err());
}

#[tokio::test]
async fn a_tunnel_that_does_not_end_is_cut_when_the_time_is_over() {
    let mut proxy = Proxy::echoing(draining_for("300ms")).await;
    let mut open = tunnel(proxy.address, "a.example:443").await;
    let began = Instant::now();
    proxy.running.take().unwrap().stop().await;
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    let read = open.read(&mut [0]).await;
    assert!(read.is_err(), "a cut tunnel looks whole: {read:?}");
}

#[tokio::test]
async fn a_proxy_without_tunnels_ends_at_once() {
    let mut proxy = Proxy::echoing(draining_for("1m")).await;
    let began = Instant::now();
    proxy.running.take().unwrap().stop().await;
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
}

/// Waits on this very thread until a proxy tells that it is ending.
fn wait_for_the_end(admin: SocketAddr) {
    let mut told = String::new();
    while !told.starts_with("HTTP/1.0 503") {
        let mut stream = TcpStream::connect(admin).unwrap();
        stream.write_all(b"GET /readyz HTTP/1.0\r\n\r\n").unwrap();
        told.clear();
        stream.read_to_string(&mut told).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tunnel_that_opens_while_the_end_begins_is_none() {
    let mut proxy = Proxy::echoing(draining_for("1m")).await;
    let (admin, running) = (proxy.admin, proxy.running.take().unwrap());
    let runtime = tokio::runtime::Handle::current();
    proxy.internet.meanwhile(move || {
        // By then it has looked for open tunnels, or does so now.
        std::thread::spawn(move || runtime.block_on(running.stop()));
        wait_for_the_end(admin);
    });
    let answer = asked(proxy.address, "a.example:443").await;
    assert_eq!(answer.refusal(), (503, "draining"));
}
