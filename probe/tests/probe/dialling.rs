use std::net::{TcpListener, TcpStream, UdpSocket};

use sandgate_probe::line::{Line, Protocol};
use sandgate_probe::tally::Tally;
use socket2::{Domain, SockAddr, Socket, Type};

use crate::running::Running;

/// Dials `target` for `time` and returns what became of it.
fn dialled(target: &str, time: &str) -> Tally {
    let target = format!("it={target}");
    let dialler = Running::start(&["dial", "--name", "me", "--target", &target, "--for", time]);
    let mut tallies = dialler.tallies();
    assert_eq!(tallies.len(), 1);
    tallies.pop().unwrap()
}

/// A port of the loopback interface nobody listens on.
fn closed_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

#[test]
fn each_kind_of_target_that_answers_is_answered_and_hears_who_came() {
    let (server, tcp, udp) = Running::serving("bob");
    let tcp = format!("door=tcp:127.0.0.1:{tcp}");
    let udp = format!("box=udp:127.0.0.1:{udp}");
    let mut words = vec!["dial", "--name", "alice", "--for", "100ms"];
    words.extend(["--target", &tcp, "--target", &udp]);
    let dialler = Running::start(&words);
    let tallies = dialler.tallies();
    assert_eq!(tallies.len(), 2);
    for (tally, label) in tallies.iter().zip(["door", "box"]) {
        assert_eq!(tally.target, label);
        assert!(tally.answers > 0, "{tally:?}");
        assert!(tally.first_answer_us <= tally.last_answer_us, "{tally:?}");
    }
    let mut heard = [false, false];
    while heard != [true, true] {
        let contact = server.contact();
        let (index, said) = match contact.contact {
            Protocol::Tcp => (0, "alice>door"),
            Protocol::Udp => (1, "alice>box"),
        };
        assert_eq!(contact.said, said);
        heard[index] = true;
    }
}

#[test]
fn a_closed_port_refuses_by_either_protocol() {
    let port = closed_port();
    for protocol in ["tcp", "udp"] {
        let tally = dialled(&format!("{protocol}:127.0.0.1:{port}"), "50ms");
        assert!(tally.refusals > 0, "{tally:?}");
        assert_eq!(tally.refusals, tally.attempts);
        assert!(tally.last_error.unwrap().contains("refused"));
        assert_eq!(tally.first_answer_us, None);
    }
}

#[test]
fn who_says_nothing_lets_tries_time_out() {
    let mute = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = mute.local_addr().unwrap().port();
    let tally = dialled(&format!("udp:127.0.0.1:{port}"), "20ms");
    assert!(tally.timeouts > 0, "{tally:?}");
    assert_eq!(tally.timeouts, tally.attempts);
    assert!(tally.last_error.unwrap().contains("400 ms"));
}

#[test]
fn who_takes_no_connection_lets_tries_time_out() {
    // The kernel lets one wait; for others there is no room, and it does not even say so.
    let full = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let any: std::net::SocketAddr = "127.0.0.1:0".parse().unwrap();
    full.bind(&SockAddr::from(any)).unwrap();
    full.listen(0).unwrap();
    let address = full.local_addr().unwrap().as_socket().unwrap();
    let _waits = TcpStream::connect(address).unwrap();
    let tally = dialled(&format!("tcp:{address}"), "20ms");
    assert!(tally.timeouts > 0, "{tally:?}");
    assert_eq!(tally.timeouts, tally.attempts);
}

#[test]
fn a_dns_server_answers_with_its_reply_and_nothing_else() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut bytes = [0; 512];
        while let Ok((length, from)) = server.recv_from(&mut bytes) {
            assert!(bytes[..length].windows(3).any(|it| it == b"\x01a\x02"));
            // The question itself first, which is no reply; then one that says "no such name".
            server.send_to(&bytes[..length], from).unwrap();
            bytes[2] |= 0x80;
            bytes[3] |= 3;
            server.send_to(&bytes[..length], from).unwrap();
        }
    });
    let tally = dialled(&format!("dns:127.0.0.1:{port}/a.bc"), "50ms");
    assert!(tally.answers > 0, "{tally:?}");
    assert_eq!(tally.answers, tally.attempts);

    let (_server, _, udp) = Running::serving("echo");
    let echoed = dialled(&format!("dns:127.0.0.1:{udp}/a.bc"), "20ms");
    assert_eq!((echoed.answers, echoed.timeouts), (0, echoed.attempts));
}

#[test]
fn an_echo_request_is_answered_or_the_kernel_says_that_it_may_not_be_sent() {
    let tally = dialled("icmp:127.0.0.1", "50ms");
    let kernel = Socket::new(Domain::IPV4, Type::DGRAM, Some(socket2::Protocol::ICMPV4));
    if kernel.is_ok() {
        assert!(tally.answers > 0, "{tally:?}");
    } else {
        assert_eq!(tally.attempts, 0);
        assert!(tally.last_error.is_some());
    }
}

#[test]
fn an_interface_that_does_not_exist_is_no_attempt() {
    let tally = dialled("tcp:[fe80::1%nowhere0]:80", "20ms");
    assert_eq!(tally.attempts, 0);
    assert!(tally.last_error.unwrap().contains("nowhere0"));
}

#[test]
fn dialling_begins_with_the_process_and_says_so_first() {
    let before = std::time::SystemTime::now();
    let port = closed_port();
    let target = format!("it=tcp:127.0.0.1:{port}");
    let mut words = vec!["dial", "--name", "me", "--target", &target];
    words.extend(["--for", "30ms", "--hardening"]);
    let dialler = Running::start(&words);
    let Line::Started { started_us, name } = dialler.line() else {
        panic!("it did not say first that it started");
    };
    assert_eq!(name, "me");
    assert!(started_us >= sandgate_probe::line::unix_us(before));
    let Line::Hardening { hardening } = dialler.line() else {
        panic!("it did not say what it sees of itself");
    };
    assert!(hardening.status.uid.is_some());
    assert!(hardening.mounts.iter().any(|mount| mount.path == "/"));
    let tallies = dialler.tallies();
    // A busy machine may take its time; a first dial after set-up and waits would take longer.
    assert!(tallies[0].first_attempt_us.unwrap() < 50_000, "{tallies:?}");
}
