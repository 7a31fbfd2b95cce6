use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use sandgate_probe::hardening::Hardening;
use sandgate_probe::line::Line;

use crate::running::{PATIENCE, Running, probe};

#[test]
fn a_server_ends_well_when_it_is_told_to() {
    for signal in [Signal::TERM, Signal::INT] {
        let (server, ..) = Running::serving("bob");
        server.signal(signal);
        assert_eq!(server.wait().code(), Some(0));
    }
}

#[test]
fn who_is_to_ignore_the_end_goes_on() {
    let words = [
        "serve",
        "--name",
        "bob",
        "--tcp",
        "0",
        "--udp",
        "0",
        "--ignore-term",
    ];
    let mut server = Running::start(&words);
    let (tcp, _) = server.ports();
    server.signal(Signal::TERM);
    // Signals of one process arrive in order, and it still serves.
    let mut stream = TcpStream::connect(("127.0.0.1", tcp)).unwrap();
    stream.write_all(b"still>there\n").unwrap();
    assert_eq!(server.contact().said, "still>there");
    assert!(!server.ended());
}

#[test]
fn a_dialler_without_end_reports_as_it_goes_and_finally_when_told_to_end() {
    let (_server, tcp, _) = Running::serving("bob");
    let target = format!("it=tcp:127.0.0.1:{tcp}");
    let dialler = Running::start(&["dial", "--name", "me", "--target", &target, "--for", "0s"]);
    let so_far = dialler.first(|line| match line {
        Line::Tally(tally) => Some(tally),
        _ => None,
    });
    assert!(so_far.so_far && so_far.answers > 0, "{so_far:?}");
    dialler.signal(Signal::TERM);
    let last = dialler.tallies().pop().unwrap();
    assert!(last.answers >= so_far.answers, "{last:?}");
    assert_eq!(dialler.wait().code(), Some(0));
}

#[test]
fn a_dialler_with_an_end_reports_as_it_goes_too_if_asked_and_dials_no_more_after_it() {
    let (server, tcp, _) = Running::serving("bob");
    let target = format!("it=tcp:127.0.0.1:{tcp}");
    let mut words = vec![
        "dial", "--name", "me", "--target", &target, "--for", "1200ms",
    ];
    words.extend(["--so-far", "--ignore-term", "--serve", "0"]);
    let mut dialler = Running::start(&words);
    let so_far = dialler.first(|line| match line {
        Line::Tally(tally) => Some(tally),
        _ => None,
    });
    assert!(so_far.so_far, "{so_far:?}");
    let last = dialler.tallies().pop().unwrap();
    assert!(
        !last.so_far && last.last_attempt_us > so_far.last_attempt_us,
        "{last:?}"
    );
    assert!(last.last_attempt_us < Some(1_200_000), "{last:?}");
    drop(server);
    assert!(!dialler.ended(), "it serves on, and ignores SIGTERM");
}

#[test]
fn a_dialler_that_is_done_serves_on_until_it_is_told_to_end() {
    let mut words = vec!["dial", "--name", "me", "--target", "it=udp:127.0.0.1:9"];
    words.extend(["--for", "10ms", "--serve", "0"]);
    let dialler = Running::start(&words);
    let (tcp, _) = dialler.ports();
    dialler.tallies();
    let mut stream = TcpStream::connect(("127.0.0.1", tcp)).unwrap();
    stream.write_all(b"you>me\n").unwrap();
    assert_eq!(dialler.contact().said, "you>me");
    dialler.signal(Signal::TERM);
    assert_eq!(dialler.wait().code(), Some(0));
}

#[test]
fn a_server_that_nobody_listens_to_serves_on() {
    let mut command = probe(&["serve", "--name", "bob", "--tcp", "0"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut first = [0; 64];
    let length = std::io::Read::read(&mut out, &mut first).unwrap();
    let line: Line = serde_json::from_slice(&first[..length]).unwrap();
    let Line::Serving { tcp, .. } = line else {
        panic!("{line:?}");
    };
    // Its lines have nowhere to go from now on.
    drop(out);
    for _ in 0..3 {
        let mut stream = TcpStream::connect(("127.0.0.1", tcp[0])).unwrap();
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
        let mut page = String::new();
        std::io::Read::read_to_string(&mut stream, &mut page).unwrap();
        assert!(page.ends_with("bob\n"), "{page}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_a_process_sees_of_itself_is_one_object() {
    let mut command = probe(&["hardening"]);
    command
        .env("WEB_SERVICE_HOST", "10.0.0.1")
        .env("SECRET", "s3cret");
    let told = command.output().unwrap();
    assert!(told.status.success());
    let text = String::from_utf8(told.stdout).unwrap();
    assert!(
        !text.contains("s3cret") && !text.contains("10.0.0.1"),
        "{text}"
    );
    let seen: Hardening = serde_json::from_str(&text).unwrap();
    assert_eq!(seen.service_env, ["WEB_SERVICE_HOST"]);
    assert!(seen.env_names.contains(&"SECRET".to_owned()));
    assert!(!seen.token_present);
    assert!(seen.root_read_only.is_some());
}

#[test]
fn a_pause_reaps_what_is_left_to_it_and_ends_when_it_is_told_to() {
    // What the shell has started is left to whom it turns into.
    let script = r#"sleep 1000 & echo "$!"; exec "$0" pause"#;
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_sandgate-probe")]);
    let mut pause = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut left = String::new();
    let mut out = BufReader::new(pause.stdout.take().unwrap());
    out.read_line(&mut left).unwrap();
    let left: i32 = left.trim().parse().unwrap();

    let id = Pid::from_child(&pause);
    eventually("it listens for the end", || caught(id) & (1 << 14) != 0);
    kill_process(Pid::from_raw(left).unwrap(), Signal::KILL).unwrap();
    eventually("it reaps", || !Path::new(&format!("/proc/{left}")).exists());
    kill_process(id, Signal::TERM).unwrap();
    assert_eq!(pause.wait().unwrap().code(), Some(0));
}

/// The signals a process has handlers for: bit 14 stands for SIGTERM.
fn caught(id: Pid) -> u64 {
    let path = format!("/proc/{}/status", id.as_raw_nonzero());
    let status = std::fs::read_to_string(path).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    u64::from_str_radix(line.unwrap().trim(), 16).unwrap()
}

/// Waits for what the kernel tells nobody of.
fn eventually(what: &str, happened: impl Fn() -> bool) {
    let began = Instant::now();
    while !happened() {
        assert!(began.elapsed() < PATIENCE, "never: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
