//! What the binary says of flags that it cannot use: before it asks any API server.

#![allow(clippy::unwrap_used, reason = "a failing test stops where it stands")]

use std::process::Command;

use rstest::rstest;

#[rstest]
#[case("--release", "A.b", "such as sandgate: names of objects begin with it")]
#[case("--namespace", "A", "must be the name of a namespace")]
#[case("--service-account", "ns/a", "such as sandgate-controller")]
#[case("--cluster-domain", ".x", "such as cluster.local")]
#[case("--dns-namespace", "Kube_System", "must be the name of a namespace")]
#[case("--dns-port", "dns", "such as 53")]
#[case("--dns-pod-label", "dns", "such as k8s-app=kube-dns")]
#[case("--dns-address", "dns", "such as 169.254.20.10")]
#[case("--runtime-pod-label", "a b", "such as k8s-app")]
#[case("--health-listen", "8082", "such as [::]:8082")]
#[case("--lease-duration", "1m", "must be 1s to 3600s")]
#[case("--claim-policy-grace", "0s", "must be 1s to 3600s")]
#[case("--default-idle-timeout", "30", "such as 30m or 1h30m")]
#[case("--default-idle-timeout", "0s", "must be longer than nothing")]
#[case("--webhook-url", "http://a", "such as https://127.0.0.1:9443")]
#[case("--require-pod-bound-token", "perhaps", "possible values: true, false")]
fn a_flag_that_cannot_be_used_is_named_with_its_value_and_what_it_must_be(
    #[case] flag: &str,
    #[case] value: &str,
    #[case] must_be: &str,
) {
    let output = Command::new(env!("CARGO_BIN_EXE_sandgate-controller"))
        .args(["--tls-dir=/tls", "--identity=pod-1", flag, value])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains(&format!("'{value}' for '{flag}")), "{text}");
    assert!(text.contains(must_be), "{text}");
}

#[test]
fn a_replica_without_a_name_is_refused() {
    let output = Command::new(env!("CARGO_BIN_EXE_sandgate-controller"))
        .args(["--tls-dir=/tls", "--identity="])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("'--identity <NAME>'"), "{text}");
}

const TEST_HOST: &str = "--sandbox-egress-insecure-test-hosts=login.fixture.test=e2e/login-fixture";
const NO_KUBECONFIG: &str = "--kubeconfig=/nowhere";

// Proves: E-028
#[test]
fn test_hosts_without_their_acknowledgement_end_it_before_it_asks_for_anything() {
    let output = Command::new(env!("CARGO_BIN_EXE_sandgate-controller"))
        .args([
            "--tls-dir=/tls",
            "--identity=pod-1",
            NO_KUBECONFIG,
            TEST_HOST,
        ])
        .output()
        .unwrap();
    let text =
        String::from_utf8(output.stderr).unwrap() + &String::from_utf8(output.stdout).unwrap();
    assert!(!output.status.success(), "{text}");
    assert!(
        text.contains("--sandbox-egress-acknowledge-insecure-test-only"),
        "{text}"
    );
    assert!(!text.contains("kubeconfig"), "{text}");
}

// Proves: E-028
#[test]
fn acknowledged_test_hosts_are_told_as_an_error() {
    let output = Command::new(env!("CARGO_BIN_EXE_sandgate-controller"))
        .args([
            "--tls-dir=/tls",
            "--identity=pod-1",
            "--health-listen=127.0.0.1:0",
        ])
        .args([
            NO_KUBECONFIG,
            TEST_HOST,
            "--sandbox-egress-acknowledge-insecure-test-only",
        ])
        .output()
        .unwrap();
    let text =
        String::from_utf8(output.stderr).unwrap() + &String::from_utf8(output.stdout).unwrap();
    // It got past them, to what it was not given.
    assert!(text.contains("kubeconfig"), "{text}");
    let told = text.lines().any(|line| {
        line.contains("ERROR") && line.contains("login.fixture.test=e2e/login-fixture")
    });
    assert!(told, "{text}");
}
