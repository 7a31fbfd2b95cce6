//! The binary in a network of its own, where addresses of the internet are at hand: nothing of it is
//! replaced, neither how it asks DNS nor how it connects.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::thread;

use crate::process::{BINARY, Process, asked};

/// All of these are at the room's loopback, and connections to them come from 127.0.0.1.
const ROUTES: [&str; 2] = ["1.2.3.0/24", "10.96.0.0/16"];
/// An address of the room itself, which looks public.
const OWN: &str = "1.9.9.9";

/// Runs the ignored test `name` of this program in a network of its own.
pub fn run_inside(name: &str) {
    let routes = ROUTES.map(|network| format!("ip route add local {network} dev lo src 127.0.0.1"));
    let script = [
        "ip link set lo up".to_owned(),
        format!("ip addr add {OWN}/32 dev lo"),
        routes.join(" && "),
        // What the room's hosts file says is asked of DNS all the same.
        "hosts=$(mktemp) && echo '1.2.3.4 nameless.example' > $hosts".to_owned(),
        "mount --bind $hosts /etc/hosts && rm $hosts".to_owned(),
        "echo 2000 65000 > /proc/sys/net/ipv4/ip_local_port_range".to_owned(),
        // Thousands of tunnels have both their ends in the test.
        "ulimit -Sn $(ulimit -Hn)".to_owned(),
        "exec \"$0\" \"$@\"".to_owned(),
    ];
    let output = Command::new("unshare")
        .args(["--map-root-user", "--net", "--mount", "sh", "-c"])
        .arg(script.join(" && "))
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name, "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && told.contains("1 passed"),
        "{told}\n{errors}"
    );
    println!("{told}");
}

/// Says for each name at which IPv4 address it is, for a minute.
pub fn dns(zone: fn(&str) -> Option<Ipv4Addr>) -> String {
    let socket = UdpSocket::bind("127.0.0.1:53").unwrap();
    let address = socket.local_addr().unwrap();
    thread::spawn(move || {
        let mut bytes = [0; 1024];
        loop {
            let (count, from) = socket.recv_from(&mut bytes).unwrap();
            let _sent = socket
                .send_to(&answer(&bytes[..count], zone), from)
                .unwrap();
        }
    });
    address.to_string()
}

/// The answer to the one question of a message (RFC 1035, 4.1).
fn answer(asked: &[u8], zone: fn(&str) -> Option<Ipv4Addr>) -> Vec<u8> {
    let mut labels = Vec::new();
    let mut at = 12;
    while asked[at] != 0 {
        let end = at + 1 + usize::from(asked[at]);
        labels.push(String::from_utf8(asked[at + 1..end].to_vec()).unwrap());
        at = end;
    }
    let question = &asked[12..at + 5];
    let is_a = question[question.len() - 4..] == [0, 1, 0, 1];
    let found = zone(&labels.join(".")).filter(|_| is_a);
    let count = u8::from(found.is_some());
    let head = [asked[0], asked[1], 0x81, 0x80, 0, 1, 0, count, 0, 0, 0, 0];
    let mut message = [head.as_slice(), question].concat();
    if let Some(address) = found {
        message.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
        message.extend(address.octets());
    }
    message
}

/// The binary with an allowlist of `hosts`, asking `dns`.
pub fn serve(hosts: &[&str], dns: &str, flags: &[&str]) -> (tempfile::TempDir, Process) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("allowlist.json");
    let content = serde_json::json!({ "hosts": hosts });
    fs::write(&path, content.to_string()).unwrap();
    let mut command = Command::new(BINARY);
    command
        .args(["--listen=127.0.0.1:3128", "--admin-listen=127.0.0.1:8083"])
        .args(["--dns-server", dns, "--allowlist"])
        .arg(&path)
        .args(flags);
    (directory, Process::start(&mut command))
}

/// Sends back to each client of `address`, port 443, what it sends.
fn echo(address: &str) {
    let listener = TcpListener::bind((address, 443)).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = [0; 1024];
            while let Ok(count @ 1..) = stream.read(&mut bytes) {
                stream.write_all(&bytes[..count]).unwrap();
            }
        }
    });
}

// Proves: E-015, E-019, E-022, E-024
// The proxy's half of E-030.
#[test]
fn the_binary_tunnels_to_a_public_address_and_a_pin_and_to_nothing_else() {
    run_inside("room::inside");
}

#[test]
#[ignore = "runs in a network of its own, which another test makes"]
fn inside() {
    let dns = dns(|name| match name {
        "public.example" => Some(Ipv4Addr::new(1, 2, 3, 4)),
        "private.example" => Some(Ipv4Addr::new(10, 96, 0, 20)),
        "own.example" => Some(Ipv4Addr::new(1, 9, 9, 9)),
        "nobody.example" => Some(Ipv4Addr::new(1, 2, 3, 5)),
        _ => None,
    });
    for address in ["1.2.3.4", "10.96.0.20", OWN] {
        echo(address);
    }
    let hosts = [
        "public.example",
        "private.example",
        "own.example",
        "nobody.example",
        "nameless.example",
        "pinned.example",
    ];
    let pin = [
        "-insecure-test-hosts=pinned.example=10.96.0.20",
        "-acknowledge-insecure-test-only",
    ];
    let (_directory, mut process) = serve(&hosts, &dns, &pin);
    for host in ["public.example", "pinned.example"] {
        let mut stream = TcpStream::connect(process.address).unwrap();
        let request = format!("CONNECT {host}:443 HTTP/1.1\r\nHost: {host}\r\n\r\nhello");
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert_eq!(text, "HTTP/1.1 200 Connection Established\r\n\r\nhello");
        let line = process.line("decided");
        assert_eq!(
            (&line["host"], &line["result"]),
            (&host.into(), &"allowed".into())
        );
        let address = if host == "public.example" {
            "1.2.3.4:443"
        } else {
            "10.96.0.20:443"
        };
        assert_eq!(line["address"], address);
        let line = process.line("closed");
        let told = [&line["cause"], &line["bytes_up"], &line["bytes_down"]];
        assert_eq!(
            told,
            [&"eof".into(), &5.into(), &5.into()] as [&serde_json::Value; 3]
        );
    }
    for (target, wanted) in [
        (
            "private.example:443",
            "HTTP/1.1 403 Egress refused: address-not-public",
        ),
        (
            "own.example:443",
            "HTTP/1.1 502 Egress refused: dial-failed",
        ),
        (
            "nobody.example:443",
            "HTTP/1.1 502 Egress refused: dial-failed",
        ),
        (
            "nameless.example:443",
            "HTTP/1.1 502 Egress refused: resolve-failed",
        ),
        (
            "pinned.example:80",
            "HTTP/1.1 403 Egress refused: port-not-allowed",
        ),
        (
            "other.example:443",
            "HTTP/1.1 403 Egress refused: host-not-allowed",
        ),
    ] {
        let answer = asked(process.address, target);
        assert!(answer.starts_with(wanted), "{target}: {answer}");
    }
    let (status, _) = process.stop();
    assert!(status.success());
}
