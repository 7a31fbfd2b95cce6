//! The option that a ClientHello must name the host.

use std::time::Duration;

use rstest::rstest;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::{connect, dial, established, is_echoed, tunnel};
use crate::dns::{Dns, at};
use crate::origin::Origin;
use crate::proxy::{PUBLIC, Proxy, Setup};

/// A ClientHello that names `host`, in one record.
fn hello(host: &str) -> Vec<u8> {
    let long = |content: &[u8]| {
        let length = u16::try_from(content.len()).unwrap().to_be_bytes();
        [&length, content].concat()
    };
    let name = long(&[&[0], long(host.as_bytes()).as_slice()].concat());
    let extensions = match host {
        "" => long(&[]),
        _ => long(&[&[0, 0], long(&name).as_slice()].concat()),
    };
    let body = [
        [3, 3].as_slice(),
        &[7; 32],
        &[0, 0, 2, 0x13, 0x01, 1, 0],
        &extensions,
    ]
    .concat();
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    let message = [&[1], &length[1..], &body].concat();
    [[22, 3, 1].as_slice(), &long(&message)].concat()
}

async fn strict() -> (Proxy, Origin) {
    let dns = Dns::start(|_, _, _| at(&[PUBLIC])).await;
    let mut setup = Setup {
        flags: vec!["--require-sni-match".to_owned()],
        ..Setup::default()
    };
    setup.limits.hello = Duration::from_millis(500);
    let proxy = Proxy::start(setup, dns);
    let origin = Origin::start().await;
    proxy.internet.put(PUBLIC, origin.address);
    (proxy, origin)
}

async fn got(server: &mut TcpStream, length: usize) -> Vec<u8> {
    let mut got = vec![0; length];
    server.read_exact(&mut got).await.unwrap();
    got
}

#[rstest]
#[case::as_it_is("a.example")]
#[case::in_capitals("A.EXAMPLE")]
#[tokio::test]
async fn a_hello_for_the_host_passes_unaltered(#[case] name: &str) {
    let (proxy, mut origin) = strict().await;
    let mut client = tunnel(proxy.address, "a.example:443").await;
    let sent = [hello(name), b"and more".to_vec()].concat();
    client.write_all(&sent).await.unwrap();
    let mut server = origin.next().await;
    assert_eq!(got(&mut server, sent.len()).await, sent);
    server.write_all(b"back").await.unwrap();
    assert_eq!(got(&mut client, 4).await, b"back");
}

#[tokio::test]
async fn a_hello_in_pieces_is_waited_for_and_one_sent_early_is_seen() {
    let (proxy, mut origin) = strict().await;
    let sent = hello("a.example");
    let (first, second) = sent.split_at(20);
    let mut client = dial(proxy.address).await;
    let head = connect("a.example:443");
    client
        .write_all(&[head.as_bytes(), first].concat())
        .await
        .unwrap();
    established(&mut client).await;
    client.write_all(second).await.unwrap();
    let mut server = origin.next().await;
    assert_eq!(got(&mut server, sent.len()).await, sent);
}

#[rstest]
#[case::another_host(hello("evil.test"), "sni-mismatch")]
#[case::below_the_host(hello("x.a.example"), "sni-mismatch")]
#[case::no_host(hello(""), "sni-missing")]
#[case::no_tls(b"GET / HTTP/1.1\r\n\r\n".to_vec(), "not-tls")]
#[case::half_a_hello(hello("a.example")[..30].to_vec(), "not-tls")]
#[case::nothing(Vec::new(), "not-tls")]
#[tokio::test]
async fn anything_else_is_cut_before_a_byte_of_it_is_passed_on(
    #[case] sent: Vec<u8>,
    #[case] cause: &str,
) {
    let (proxy, mut origin) = strict().await;
    let mut client = tunnel(proxy.address, "a.example:443").await;
    client.write_all(&sent).await.unwrap();
    let mut server = origin.next().await;
    let mut passed = Vec::new();
    server.read_to_end(&mut passed).await.unwrap();
    assert_eq!(passed, b"");
    assert!(client.read(&mut [0]).await.is_err());
    let series = format!(r#"tunnels_closed_total{{cause="{cause}"}}"#);
    proxy.until_metric(&series, 1.0).await;
}

// Proves: E-016
#[tokio::test]
async fn without_the_option_nothing_is_looked_at() {
    let proxy = Proxy::echoing(Setup::default()).await;
    let mut client = tunnel(proxy.address, "a.example:443").await;
    for text in ["GET / HTTP/1.1\r\n\r\n", "SSH-2.0-OpenSSH_9.9\r\n"] {
        assert!(is_echoed(&mut client, text).await);
    }
    let other = hello("evil.test");
    client.write_all(&other).await.unwrap();
    assert_eq!(got(&mut client, other.len()).await, other);
}
