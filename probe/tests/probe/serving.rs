use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::time::Duration;

use sandgate_probe::line::Protocol;

use crate::running::{Running, run};

#[test]
fn a_request_for_a_page_gets_the_name() {
    let (server, tcp, _) = Running::serving("bob");
    let mut stream = TcpStream::connect(("127.0.0.1", tcp)).unwrap();
    // Cut in the middle of its first word, as a network may.
    stream.write_all(b"GE").unwrap();
    stream.flush().unwrap();
    stream
        .write_all(b"T /health HTTP/1.1\r\nHost: x\r\n\r\n")
        .unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    assert!(page.ends_with("\r\n\r\nbob\n"), "{page}");
    let contact = server.contact();
    assert_eq!(contact.said, "GET /health HTTP/1.1");
    assert_eq!((contact.contact, contact.port), (Protocol::Tcp, tcp));
    assert_eq!(contact.from, "127.0.0.1");
    assert_eq!(contact.to.as_deref(), Some("127.0.0.1"));
}

#[test]
fn anything_else_comes_back_as_it_was_however_much() {
    let (_server, tcp, _) = Running::serving("bob");
    let mut stream = TcpStream::connect(("127.0.0.1", tcp)).unwrap();
    let sent: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let mut half = stream.try_clone().unwrap();
    let copy = sent.clone();
    let writer = std::thread::spawn(move || {
        half.write_all(&copy).unwrap();
    });
    let mut back = vec![0; sent.len()];
    stream.read_exact(&mut back).unwrap();
    assert!(back == sent);
    writer.join().unwrap();
}

#[test]
fn who_says_nothing_and_who_leaves_at_once_are_written_down_too() {
    let (server, tcp, _) = Running::serving("bob");
    let silent = TcpStream::connect(("127.0.0.1", tcp)).unwrap();
    assert_eq!(server.contact().said, "");
    drop(silent);
    let brief = TcpStream::connect(("127.0.0.1", tcp)).unwrap();
    brief.shutdown(Shutdown::Both).unwrap();
    assert_eq!(server.contact().said, "");
}

#[test]
fn bytes_of_any_kind_do_no_harm() {
    let (server, tcp, udp) = Running::serving("bob");
    let hostile: &[&[u8]] = &[b"\xff\xfe\x00\x1b[2J\"}\n", &[0; 5000], b"GET", b"\r\n\r\n"];
    for bytes in hostile {
        let mut stream = TcpStream::connect(("127.0.0.1", tcp)).unwrap();
        stream.write_all(bytes).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        // The line is valid JSON, or reading it would fail.
        assert_eq!(server.contact().contact, Protocol::Tcp);
    }
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for bytes in hostile.iter().copied().chain([[].as_slice()]) {
        socket.send_to(bytes, ("127.0.0.1", udp)).unwrap();
        assert_eq!(server.contact().contact, Protocol::Udp);
        let mut back = vec![0; 6000];
        let length = socket.recv(&mut back).unwrap();
        assert_eq!(&back[..length], bytes);
    }
}

/// All of 127.0.0.0/8 is this machine: an answer by route alone would come from 127.0.0.1.
#[test]
fn a_datagram_is_answered_from_the_address_it_came_to() {
    let (server, _, udp) = Running::serving("bob");
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    // Takes datagrams of this peer alone.
    socket.connect(("127.0.0.7", udp)).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    socket.send(b"me>it\n").unwrap();
    let mut back = [0; 16];
    let length = socket.recv(&mut back).unwrap();
    assert_eq!(&back[..length], b"me>it\n");
    let contact = server.contact();
    assert_eq!(contact.to.as_deref(), Some("127.0.0.7"));
    assert_eq!(contact.from, "127.0.0.1");
}

#[test]
fn both_families_are_served_where_there_are_two() {
    let (server, tcp, udp) = Running::serving("bob");
    let Ok(mut stream) = TcpStream::connect(("::1", tcp)) else {
        // No IPv6 here: then IPv4 is what there is, and other tests use it.
        assert!(UdpSocket::bind("[::1]:0").is_err());
        return;
    };
    stream.write_all(b"me>tcp\n").unwrap();
    assert_eq!(server.contact().from, "::1");
    let socket = UdpSocket::bind("[::1]:0").unwrap();
    socket.connect(("::1", udp)).unwrap();
    socket.send(b"me>udp\n").unwrap();
    socket.recv(&mut [0; 16]).unwrap();
    let contact = server.contact();
    assert_eq!(
        (contact.from.as_str(), contact.said.as_str()),
        ("::1", "me>udp")
    );
}

#[test]
fn a_port_that_is_taken_is_named() {
    let (_server, tcp, _) = Running::serving("bob");
    let port = tcp.to_string();
    let second = run(&["serve", "--name", "eve", "--tcp", &port]);
    assert!(!second.status.success());
    let error = String::from_utf8(second.stderr).unwrap();
    assert!(error.contains(&format!("TCP port {port}")), "{error}");
}
