//! What it needs to start, and how it ends.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rstest::rstest;
use tempfile::TempDir;

use crate::process::{Process, asked, command, sent};

const LIST: &str = r#"{"hosts": ["a.example"]}"#;

fn allowlist(content: &str) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("allowlist.json");
    fs::write(&path, content).unwrap();
    (directory, path)
}

/// What a process that does not start says.
fn refused(command: &mut Command) -> String {
    let Output { status, stderr, .. } = command.env_remove("RUST_LOG").output().unwrap();
    let told = String::from_utf8(stderr).unwrap();
    assert!(!status.success(), "{told}");
    told
}

#[rstest]
#[case::half_of_it(r#"{"hosts": ["a.exam"#, "it must be")]
#[case::a_bad_entry(r#"{"hosts": ["*.com"]}"#, r#"entry 1 is \"*.com\""#)]
fn without_a_good_allowlist_it_does_not_start(#[case] content: &str, #[case] told: &str) {
    let (_directory, path) = allowlist(content);
    let error = refused(&mut command(&path));
    assert!(error.contains(told), "{error}");
}

#[test]
fn without_an_allowlist_it_does_not_start_and_names_the_file() {
    let error = refused(&mut command(Path::new("/nowhere/allowlist.json")));
    assert!(error.contains("/nowhere/allowlist.json"), "{error}");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let (_directory, path) = allowlist(LIST);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    // Of two the first would be taken.
    let mut fresh = Command::new(crate::process::BINARY);
    fresh
        .args([&format!("--listen={address}"), "--admin-listen=127.0.0.1:0"])
        .args(["--dns-server=127.0.0.1:1", "--allowlist"])
        .arg(&path);
    let error = refused(&mut fresh);
    assert!(
        error.contains(&format!("failed to listen on {address}")),
        "{error}"
    );
}

// The proxy's half of E-028.
#[test]
fn test_hosts_without_their_acknowledgement_are_refused_with_the_way_out() {
    let (_directory, path) = allowlist(LIST);
    let pin = "-insecure-test-hosts=a.example=10.96.0.20";
    let error = refused(command(&path).arg(pin));
    assert!(
        error.contains("--acknowledge-insecure-test-only"),
        "{error}"
    );
    assert!(error.contains(r#""level":"ERROR""#), "{error}");
}

// The proxy's half of E-028.
#[test]
fn test_hosts_with_their_acknowledgement_are_told_as_an_error() {
    let (_directory, path) = allowlist(LIST);
    let pin = "-insecure-test-hosts=a.example=10.96.0.20";
    let process = command(&path)
        .args([pin, "--acknowledge-insecure-test-only"])
        .env_remove("RUST_LOG")
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let id = rustix::process::Pid::from_child(&process);
    let mut process = process;
    let mut lines = std::io::BufReader::new(process.stderr.take().unwrap());
    let mut told = String::new();
    while !told.contains("\"serving\"") {
        let count = std::io::BufRead::read_line(&mut lines, &mut told).unwrap();
        assert_ne!(count, 0, "{told}");
    }
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    process.wait().unwrap();
    let line = told.lines().find(|line| line.contains("INSECURE"));
    let line = line.unwrap_or_else(|| panic!("{told}"));
    assert!(
        line.contains(r#""level":"ERROR""#) && line.contains("a.example=10.96.0.20"),
        "{line}"
    );
}

// Proves: E-031
#[rstest]
#[case("127.0.0.1")]
#[case("169.254.169.254")]
#[case("::1")]
#[case("fe80::1")]
fn a_test_host_at_the_machine_or_the_link_is_refused(#[case] address: &str) {
    let (_directory, path) = allowlist(LIST);
    let pin = format!("-insecure-test-hosts=a.example={address}");
    let error = refused(command(&path).args([&pin, "--acknowledge-insecure-test-only"]));
    assert!(error.contains("never dialled"), "{error}");
}

#[test]
fn told_to_stop_it_ends_well_and_says_so() {
    let (_directory, path) = allowlist(LIST);
    let process = Process::start(&mut command(&path));
    let ready = sent(process.admin, b"GET /readyz HTTP/1.0\r\n\r\n");
    assert!(ready.starts_with("HTTP/1.0 200"), "{ready}");
    assert!(asked(process.address, "b.example:443").starts_with("HTTP/1.1 403 "));
    let (status, rest) = process.stop();
    assert!(status.success(), "{status}: {rest}");
    assert!(rest.contains("\"draining\""), "{rest}");
}

#[test]
fn without_a_descriptor_left_it_waits_and_goes_on_when_there_are_some() {
    let (_directory, path) = allowlist(LIST);
    let mut limited = Command::new("sh");
    // The hard limit, too: it raises its own as far as it may.
    limited
        .args([
            "-c",
            "ulimit -n 40 && exec \"$0\" \"$@\"",
            crate::process::BINARY,
        ])
        .args(command(&path).get_args());
    let mut process = Process::start(&mut limited);
    let connections: Vec<_> = (0..60)
        .map(|_| std::net::TcpStream::connect(process.address).unwrap())
        .collect();
    let told = process.line("failed to accept connections; trying on");
    assert!(
        told["error"].as_str().unwrap().contains("os error 24"),
        "{told}"
    );
    drop(connections);
    assert!(asked(process.address, "b.example:443").starts_with("HTTP/1.1 403 "));
    let page = sent(process.admin, b"GET /metrics HTTP/1.0\r\n\r\n");
    let series = "sandgate_egress_accept_failures_total ";
    let count = page.lines().find_map(|line| line.strip_prefix(series));
    assert!(count.unwrap().parse::<f64>().unwrap() >= 1.0);
    let (_, rest) = process.stop();
    assert!(
        !rest.contains("failed to accept"),
        "told more than once: {rest}"
    );
}
