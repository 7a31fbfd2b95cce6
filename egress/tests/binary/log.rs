//! The lines it writes: one when a request is decided, one when its tunnel ends.

use std::fs;

use crate::process::{Process, asked, command, replace, sent};

#[test]
fn a_refusal_is_one_line_that_says_who_asked_for_what_and_why_not() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("allowlist.json");
    fs::write(&path, r#"{"hosts": ["a.example"]}"#).unwrap();
    let mut process = Process::start(&mut command(&path));
    let secret = "CONNECT Evil.Test.:443 HTTP/1.1\r\nHost: other.test\r\nProxy-Authorization: Basic c2VjcmV0\r\n\r\n";
    sent(process.address, secret.as_bytes());
    asked(process.address, "a.example:80");
    sent(process.address, b"\x16\x03\x01");
    let line = process.line("decided");
    assert_eq!(line["host"], "evil.test");
    assert_eq!(line["port"], "443");
    assert_eq!(line["result"], "refused");
    assert_eq!(line["reason"], "host-not-allowed");
    assert_eq!(line["other_host_header"], true);
    assert_eq!(line["generation"], 1);
    assert_eq!(line["id"], 1);
    assert!(line["client"].as_str().unwrap().starts_with("127.0.0.1:"));
    let line = process.line("decided");
    assert_eq!(
        (&line["reason"], &line["port"]),
        (&"port-not-allowed".into(), &"80".into())
    );
    assert_eq!(line.get("other_host_header"), None);
    let line = process.line("decided");
    assert_eq!(line["reason"], "bad-request");
    assert_eq!(line.get("host"), None);
    let (_, rest) = process.stop();
    assert!(
        !rest.contains("decided") && !rest.contains("c2VjcmV0"),
        "{rest}"
    );
}

#[test]
fn a_bad_allowlist_is_told_once_however_often_it_is_looked_at() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("allowlist.json");
    fs::write(&path, r#"{"hosts": ["a.example"]}"#).unwrap();
    let mut process = Process::start(command(&path).arg("--allowlist-interval=20ms"));
    replace(&path, r#"{"hosts": ["*.com"]}"#);
    let line = process.line("the last good allowlist stays in force");
    assert!(
        line["error"]
            .as_str()
            .unwrap()
            .contains("entry 1 is \"*.com\""),
        "{line}"
    );
    // It is looked at many times more.
    std::thread::sleep(std::time::Duration::from_millis(400));
    replace(&path, r#"{"hosts": ["b.example"]}"#);
    let line = process.line("allowlist changed");
    assert_eq!(
        (&line["generation"], &line["hosts"]),
        (&2.into(), &1.into())
    );
    let (_, rest) = process.stop();
    assert!(!rest.contains("last good"), "{rest}");
}
