use std::time::Duration;

use clap::{CommandFactory as _, Parser as _};
use rstest::rstest;

use super::Flags;

fn parse(more: &[&str]) -> Result<Flags, clap::Error> {
    let needed = [
        "sandgate-controller",
        "--tls-dir",
        "/tls",
        "--identity",
        "pod-1",
    ];
    Flags::try_parse_from(needed.iter().chain(more))
}

#[test]
fn the_definition_is_sound() {
    Flags::command().debug_assert();
}

// Proves: X-015
#[test]
fn the_clusters_dns_is_a_choice() {
    let more = [
        "--dns-namespace",
        "openshift-dns",
        "--dns-pod-label",
        "dns=default",
    ];
    let ports = ["--dns-port", "5353", "--dns-port", "53"];
    let settings = parse(&[&more[..], &ports[..]].concat()).unwrap().settings();
    assert_eq!(settings.dns.namespace, "openshift-dns");
    assert_eq!(
        settings.dns.pod_label,
        ("dns".to_owned(), "default".to_owned())
    );
    assert_eq!(settings.dns.ports, [5353, 53]);
}

#[test]
fn everything_has_a_default_but_the_directory_and_the_identity() {
    let flags = parse(&[]).unwrap();
    assert_eq!(flags.lease(), "sandgate-controller");
    assert_eq!(flags.lease_duration, Duration::from_secs(15));
    assert!(flags.require_pod_bound_token);
    let username = "system:serviceaccount:sandgate-system:sandgate-controller";
    assert_eq!(flags.operator_username(), username);
    assert_eq!(flags.settings(), crate::claim::plan::Settings::default());
}

#[rstest]
#[case(&["--lease-duration", "0s"], "must be 1s to 3600s")]
#[case(&["--lease-duration", "soon"], "must be 1s to 3600s")]
#[case(&["--dns-pod-label", "kube-dns"], "must be KEY=VALUE")]
#[case(&["--dns-pod-label", "=x"], "must be KEY=VALUE")]
#[case(&["--health-listen", "8082"], "--health-listen")]
#[case(&["--require-pod-bound-token", "perhaps"], "--require-pod-bound-token")]
fn a_bad_flag_is_refused_with_what_it_must_be(#[case] more: &[&str], #[case] says: &str) {
    let error = parse(more).unwrap_err().to_string();
    assert!(error.contains(says), "{error}");
    assert!(error.contains(more[0]), "{error}");
}
