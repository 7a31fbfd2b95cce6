use std::net::TcpListener;

use crate::running::{Running, run};

#[test]
fn all_that_answer_are_told_and_mean_success() {
    let (_server, tcp, udp) = Running::serving("bob");
    let tcp = format!("page=tcp:127.0.0.1:{tcp}");
    let udp = format!("udp:127.0.0.1:{udp}");
    let got = run(&["get", "--target", &tcp, "--target", &udp]);
    let said = String::from_utf8(got.stdout).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 2, "{said}");
    assert!(lines[0].starts_with("page: answered after "), "{said}");
    assert!(lines[0].ends_with(": bob"), "{said}");
    // Without a label, the target is called what it is.
    assert!(
        lines[1].starts_with(&format!("{udp}: answered after ")),
        "{said}"
    );
    assert!(got.status.success());
}

#[test]
fn one_that_does_not_answer_means_failure_and_the_others_are_told_all_the_same() {
    let (_server, tcp, _) = Running::serving("bob");
    let open = format!("open=tcp:localhost:{tcp}");
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("shut=tcp:{}", listener.local_addr().unwrap())
    };
    let got = run(&["get", "--target", &closed, "--target", &open]);
    let said = String::from_utf8(got.stdout).unwrap();
    assert!(said.contains("shut: no answer after "), "{said}");
    assert!(said.contains("refused"), "{said}");
    assert!(said.contains("open: answered after "), "{said}");
    assert_eq!(got.status.code(), Some(1));
}

#[test]
fn what_cannot_be_understood_is_refused_before_anything_is_sent() {
    let got = run(&["get", "--target", "tcp:10.0.0.1"]);
    assert_eq!(got.status.code(), Some(2));
    let error = String::from_utf8(got.stderr).unwrap();
    assert!(error.contains("port from 1 to 65535"), "{error}");
}
