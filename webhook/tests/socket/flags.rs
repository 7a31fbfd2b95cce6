//! What the binary says of flags that it cannot use.

use rstest::rstest;

use crate::ending::command;

const NEEDED: [&str; 4] = [
    "--tls-dir",
    "/tls",
    "--operator-username",
    "system:serviceaccount:sandgate-system:sandgate-controller",
];

/// What it says and what it ends with.
fn said(arguments: &[&str]) -> (Option<i32>, String) {
    let output = command(arguments).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), text)
}

#[rstest]
#[case("--listen", "9443", "must be ADDRESS:PORT, such as [::]:9443")]
#[case("--health-listen", ":8081", "must be ADDRESS:PORT, such as [::]:8081")]
#[case(
    "--operator-username",
    "alice",
    "must be the controller's ServiceAccount, system:serviceaccount:NAMESPACE:NAME"
)]
#[case("--tls-interval", "5", "like 250ms, 5s or 2m")]
#[case("--drain", "0s", "like 250ms, 5s or 2m")]
#[case("--require-pod-bound-token", "perhaps", "possible values: true, false")]
fn a_flag_that_cannot_be_used_is_named_with_its_value_and_what_it_must_be(
    #[case] flag: &str,
    #[case] value: &str,
    #[case] must_be: &str,
) {
    let other = NEEDED
        .chunks_exact(2)
        .filter(|pair| pair[0] != flag)
        .flatten();
    let arguments: Vec<&str> = other.copied().chain([flag, value]).collect();
    let (code, text) = said(&arguments);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains(&format!("'{value}' for '{flag}")), "{text}");
    assert!(text.contains(must_be), "{text}");
}

#[test]
fn a_flag_that_is_missing_is_named() {
    let (code, text) = said(&["--tls-dir", "/tls"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("--operator-username"), "{text}");
}

#[test]
fn a_port_that_is_taken_is_said_in_one_line_of_the_log() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, text) = said(&[&NEEDED[..], &["--listen", &address]].concat());
    assert_eq!(code, Some(1), "{text}");
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect();
    let last = &lines.last().unwrap()["fields"];
    assert_eq!(last["message"], "the webhook stopped");
    let error = last["error"].as_str().unwrap();
    assert!(
        error.contains(&address) && error.contains("is the port taken?"),
        "{error}"
    );
}
