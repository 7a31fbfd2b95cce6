//! A run that is told to stop while the API server says nothing.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on stops where it stands"
)]

use std::fs;
use std::net::TcpListener;
use std::process::{Command, Stdio};

use rstest::rstest;
use rustix::process::{Pid, Signal, kill_process};

#[rstest]
#[case::terminal_goes_away("hangup", Signal::HUP)]
#[case::ctrl_c("interrupt", Signal::INT)]
#[case::asked_to_end("terminate", Signal::TERM)]
fn whoever_waits_for_a_silent_api_server_stops_when_told_to(
    #[case] name: &str,
    #[case] signal: Signal,
) {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let folder = std::env::temp_dir().join(format!("sandgate-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let kubeconfig = folder.join("config");
    let text = format!(
        "{{apiVersion: v1, kind: Config, current-context: c, users: [{{name: u, user: {{}}}}],
          clusters: [{{name: k, cluster: {{server: 'http://{address}'}}}}],
          contexts: [{{name: c, context: {{cluster: k, user: u}}}}]}}"
    );
    fs::write(&kubeconfig, text).unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_sandgate"))
        .args(["isolation", "--kubeconfig"])
        .arg(&kubeconfig)
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // It listens to signals before it connects.
    let (_connection, _) = silent.accept().unwrap();
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(said, "error: stopped before the end\n");
    assert_eq!(ended.status.code(), Some(2));
    fs::remove_dir_all(folder).unwrap();
}
