//! The controller's own program and the mount roles it is given. Runs it, without any API server.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failing test stops where it stands"
)]

use std::process::{Command, Output};

fn started_with(roles: &str) -> Output {
    let arguments = [
        "--tls-dir=/nowhere",
        "--identity=pod-0",
        "--health-listen=127.0.0.1:0",
        "--kubeconfig=/nowhere/kubeconfig",
    ];
    Command::new(env!("CARGO_BIN_EXE_sandgate-controller"))
        .args(arguments)
        .arg(format!("--sandbox-mount-roles={roles}"))
        .output()
        .unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

// Proves: M-001
#[test]
fn a_wrong_mount_role_ends_the_controller_before_it_does_anything() {
    let refused = started_with(
        r#"[{"name":"project","path":"a/{id}"},{"name":"notes","path":"a/{user}/{id}"}]"#,
    );
    let said = told(&refused);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(
        said.contains(
            r#"failed to accept mount role "notes": its path a/{user}/{id} and that of role "project", a/{id}, can become one directory"#
        ),
        "{said}"
    );
    assert!(!said.contains("kubeconfig"), "{said}");
}

// Proves: M-001
#[test]
fn with_mount_roles_that_are_right_it_goes_on() {
    let started = started_with(r#"[{"name":"project","path":"arena/workspaces/{id}/{user}"}]"#);
    let said = told(&started);
    assert!(said.contains("kubeconfig"), "{said}");
    assert!(said.contains("arena/workspaces/{id}/{user}"), "{said}");
}
