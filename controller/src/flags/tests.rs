use std::time::Duration;

use clap::{CommandFactory as _, Parser as _};
use rstest::rstest;

use sandgate_shared::render::WebhookEndpoint;

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
        ["--dns-namespace", "openshift-dns"],
        [
            "--dns-pod-label",
            "dns.operator.openshift.io/daemonset-dns=default,tier=dns",
        ],
        ["--dns-port", "5353"],
        ["--dns-port", "53"],
        ["--dns-address", "169.254.20.10"],
        ["--dns-address", "fd00:10::/120,172.20.0.10"],
    ];
    let dns = parse(more.as_flattened()).unwrap().settings().dns;
    assert_eq!(dns.namespace, "openshift-dns");
    let labels = [
        ("dns.operator.openshift.io/daemonset-dns", "default"),
        ("tier", "dns"),
    ];
    let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(dns.pod_labels, labels.into());
    assert_eq!(dns.ports, [53, 5353].into());
    let addresses: Vec<String> = dns.addresses.iter().map(ToString::to_string).collect();
    assert_eq!(
        addresses,
        ["169.254.20.10/32", "172.20.0.10/32", "fd00:10::/120"]
    );
}

// Proves: X-015
#[rstest]
#[case::beyond_its_length("10.96.0.10/16", "write 10.96.0.0/16 for the network or 10.96.0.10")]
#[case::every_address("0.0.0.0/0", "would open every address")]
#[case::every_address_of_the_other_family("::/0", "would open every address")]
#[case::an_older_address_in_a_newer_one("::ffff:10.0.0.10", "IPv4 address it is: 10.0.0.10")]
#[case::a_name("kube-dns", "must be an IP address or a CIDR, such as 169.254.20.10")]
#[case::a_network_too_long("10.0.0.0/33", "must be an IP address or a CIDR")]
#[case::with_a_zone("fe80::1%eth0", "must be an IP address or a CIDR")]
#[case::with_a_port("10.0.0.10:53", "must be an IP address or a CIDR")]
#[case::nobody("0.0.0.0", "no resolver answers a pod at 0.0.0.0")]
#[case::the_pod_itself("127.0.0.53", "no resolver answers a pod at 127.0.0.53")]
#[case::a_group("ff02::fb", "no resolver answers a pod at ff02::fb")]
fn an_address_of_no_resolver_is_refused_with_the_way_out(
    #[case] address: &str,
    #[case] says: &str,
) {
    let error = parse(&["--dns-address", address]).unwrap_err().to_string();
    assert!(error.contains(says), "{error}");
    assert!(error.contains("--dns-address"), "{error}");
}

#[test]
fn policies_are_taken_to_judge_translated_packets_unless_told_otherwise() {
    let judges = |more: &[&str]| parse(more).unwrap().settings().judges_before_translation;
    assert!(!judges(&[]));
    assert!(judges(&["--judges-before-translation"]));
    assert!(judges(&["--judges-before-translation=true"]));
    assert!(!judges(&["--judges-before-translation=false"]));
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
#[case(&["--dns-pod-label", "=x"], "is no label key: must be NAME or DOMAIN/NAME")]
#[case(&["--dns-pod-label", "a/b/c=x"], "is no label key")]
#[case(&["--dns-pod-label", "a=x,a=y"], "names the label \"a\" twice")]
#[case(&["--dns-pod-label", "a=x y"], "is no label value")]
#[case(&["--dns-pod-label", "a=x,"], "must be KEY=VALUE")]
#[case(&["--dns-namespace", "Kube_System"], "must be the name of a namespace")]
#[case(&["--dns-namespace", ""], "must be the name of a namespace")]
#[case(&["--dns-port", "0"], "must be the number of a port")]
#[case(&["--dns-port", "dns"], "must be the number of a port")]
#[case(&["--runtime-pod-label", "a b"], "is no label key")]
#[case(&["--judges-before-translation=perhaps"], "possible values: true, false")]
#[case(&["--health-listen", "8082"], "must be ADDRESS:PORT, such as [::]:8082")]
#[case(&["--release", "A.b"], "a letter first and no '-' last, such as sandgate")]
#[case(&["--release", "1st"], "a letter first")]
#[case(&["--release", "a-release-that-is-longer-than-helm-allows-one-to-be-ever"], "at most 53")]
#[case(&["--namespace", "a.b"], "must be the name of a namespace: at most 63 lower-case letters")]
#[case(&["--service-account", "ns/name"], "without its namespace")]
#[case(&["--cluster-domain", ".x"], "such as cluster.local")]
#[case(&["--cluster-domain", "cluster.local."], "without a dot first or last")]
#[case(&["--require-pod-bound-token", "perhaps"], "--require-pod-bound-token")]
fn a_bad_flag_is_refused_with_what_it_must_be(#[case] more: &[&str], #[case] says: &str) {
    let error = parse(more).unwrap_err().to_string();
    assert!(error.contains(says), "{error}");
    let flag = more[0].split('=').next().unwrap();
    assert!(error.contains(flag), "{error}");
}

#[test]
fn the_grace_of_the_admission_policy_is_a_minute_unless_told_otherwise() {
    let grace = |more: &[&str]| parse(more).map(|flags| flags.settings().claim_policy_grace);
    assert_eq!(grace(&[]).unwrap(), Duration::from_mins(1));
    let told = grace(&["--claim-policy-grace=5s"]).unwrap();
    assert_eq!(told, Duration::from_secs(5));
    let error = grace(&["--claim-policy-grace=0s"]).unwrap_err().to_string();
    assert!(error.contains("must be 1s to 3600s"), "{error}");
}

#[test]
fn the_webhook_is_reached_by_its_service_or_by_a_url_of_its_own() {
    let of = |more: &[&str]| parse(more).unwrap().installation();
    let service = of(&["--release", "gate", "--namespace", "ns"]);
    let WebhookEndpoint::Service { name, port } = service.webhook else {
        panic!("{:?}", service.webhook);
    };
    assert_eq!((name.as_str(), port), ("gate-webhook", 443));
    let url = of(&["--webhook-url", "https://[::1]:9443/"]);
    let WebhookEndpoint::Url(url) = url.webhook else {
        panic!("{:?}", url.webhook);
    };
    assert_eq!(url, "https://[::1]:9443");
}

#[rstest]
#[case::plain_http("http://webhook.example:9443")]
#[case::a_path("https://webhook.example/mutate")]
#[case::a_query("https://webhook.example/?timeout=1s")]
#[case::a_user("https://me:secret@webhook.example")]
#[case::no_host("https://")]
#[case::a_name("webhook")]
fn a_url_that_no_configuration_could_hold_is_refused_at_start(#[case] url: &str) {
    let refused = parse(&["--webhook-url", url]).unwrap_err().to_string();
    assert!(refused.contains("must be https://HOST[:PORT]"), "{refused}");
}

// Proves: M-001
#[rstest]
#[case::no_json(
    "project",
    "write a JSON list of objects with name, path, mustExist and minRole"
)]
#[case::a_built_in_role(
    r#"[{"name":"scratch","path":"a/{id}"}]"#,
    r#"failed to accept mount role "scratch": its name is that of a built-in role"#
)]
#[case::a_reserved_directory(
    r#"[{"name":"any","path":"{id}"}]"#,
    r#"mount role "any": its path "{id}" can reach or contain sandboxes/"#
)]
fn a_wrong_mount_role_is_no_start(#[case] roles: &str, #[case] told: &str) {
    let error = parse(&["--sandbox-mount-roles", roles]).unwrap_err();
    assert_eq!(error.kind(), clap::error::ErrorKind::ValueValidation);
    let error = error.to_string();
    assert!(error.contains("--sandbox-mount-roles"), "{error}");
    assert!(error.contains(told), "{error}");
}

#[test]
fn no_mount_role_is_configured_unless_one_is_named() {
    let roles = |more: &[&str]| {
        let roles = parse(more).unwrap().sandbox_mount_roles;
        let names = roles.iter().map(|role| role.name.clone());
        names.collect::<Vec<_>>()
    };
    assert!(roles(&[]).is_empty());
    let one = r#"[{"name":"project","path":"arena/workspaces/{id}/{user}"}]"#;
    assert_eq!(roles(&["--sandbox-mount-roles", one]), ["project"]);
}
