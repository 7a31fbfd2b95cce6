//! What the command says of flags that it cannot use: before it asks any cluster.

#![allow(clippy::unwrap_used, reason = "a failing test stops where it stands")]

use std::process::Command;

use rstest::rstest;

#[rstest]
#[case(
    "isolation",
    "--namespace-prefix",
    "A_b",
    "names of namespaces begin with it"
)]
#[case(
    "isolation",
    "--pull-secret",
    "secret",
    "write NAMESPACE/NAME of a Secret"
)]
#[case("isolation", "--outside", "example.com", "write tcp:ADDR:PORT")]
#[case("isolation", "--only", "nonsense", "deny-all")]
#[case("isolation", "--parallel", "0", "must be 1 to 100")]
#[case("isolation", "--dial-for", "4m", "must be 1s to 60s, in whole seconds")]
#[case("doctor", "--namespace", "a/b", "must be the name of a namespace")]
#[case("doctor", "--accept", "alice", "write User:NAME")]
fn a_flag_that_cannot_be_used_is_named_with_its_value_and_what_it_must_be(
    #[case] command: &str,
    #[case] flag: &str,
    #[case] value: &str,
    #[case] must_be: &str,
) {
    let output = Command::new(env!("CARGO_BIN_EXE_sandgate"))
        .args([command, flag, value])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains(&format!("'{value}' for '{flag}")), "{text}");
    assert!(text.contains(must_be), "{text}");
}

#[test]
fn its_help_begins_with_what_both_commands_are_for() {
    let output = Command::new(env!("CARGO_BIN_EXE_sandgate"))
        .arg("--help")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let first = text.lines().next().unwrap();
    assert!(
        first.contains("packets") && first.contains("forge"),
        "{text}"
    );
    for command in ["isolation", "doctor"] {
        assert!(text.contains(&format!("\n  {command} ")), "{text}");
    }
}
