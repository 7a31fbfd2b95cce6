//! What the values say of the network: the chart refuses what the controller would refuse when it starts,
//! and the pods can be reached where API servers reach nodes only.

use clap::Parser as _;
use rstest::rstest;
use sandgate_controller::flags::Flags;
use sandgate_e2e::{Failure, Outcome};
use serde_json::{Value, json};

use crate::rendered::{RELEASE, Rendered};

/// Whether the controller starts with this flag.
fn starts(flag: &str, value: &str) -> bool {
    let flag = format!("--{flag}={value}");
    let line = [
        "sandgate-controller",
        "--tls-dir=/tls",
        "--identity=gate-0",
        &flag,
    ];
    Flags::try_parse_from(line).is_ok()
}

/// Fails unless the chart takes the value just where the controller starts with it.
async fn agree(flag: &str, value: &str, values: Value, wanted: bool) -> Outcome {
    assert_eq!(starts(flag, value), wanted, "--{flag}={value}");
    match Rendered::with(&values).await {
        Ok(rendered) if wanted => {
            let line = rendered.command_line("controller")?;
            assert!(line.contains(&format!("--{flag}={value}")), "{line:?}");
            Ok(())
        }
        Ok(_) => Err(Failure::saying(format!("the chart takes {values}"))),
        Err(error) if wanted => Err(error),
        Err(error) => {
            let told = error.to_string();
            let of_schema = told.contains("values don't meet the specifications");
            assert!(
                of_schema || told.contains("network.") || told.contains("egressProxy."),
                "{told}"
            );
            Ok(())
        }
    }
}

#[rstest]
#[case::one("169.254.20.10", true)]
#[case::a_network("10.96.0.0/16", true)]
#[case::a_network_within_a_byte("10.96.16.0/20", true)]
#[case::one_as_a_network("10.96.0.10/32", true)]
#[case::half_of_all("128.0.0.0/1", true)]
#[case::the_last("255.255.255.254", true)]
#[case::one_of_the_other_family("fd00:10::a", true)]
#[case::one_in_full("fd00:0010:0:0:0:0:0:000A", true)]
#[case::a_network_of_the_other_family("fd00:10::/120", true)]
#[case::a_network_within_a_group("fd00:10:8000::/33", true)]
#[case::its_first_group_is_short("64:ff9b::/96", true)]
#[case::beyond_its_length("10.96.0.10/16", false)]
#[case::beyond_its_length_within_a_byte("10.96.16.0/19", false)]
#[case::beyond_its_length_of_the_other_family("fd00:10::a/120", false)]
#[case::beyond_its_length_within_a_group("fd00:10:8000::/32", false)]
#[case::every_address("0.0.0.0/0", false)]
#[case::every_address_of_the_other_family("::/0", false)]
#[case::an_older_address_in_a_newer_one("::ffff:10.0.0.10", false)]
#[case::the_same_in_hexadecimal("0:0::FFFF:a00:a", false)]
#[case::a_name("kube-dns", false)]
#[case::a_byte_too_large("10.0.0.256", false)]
#[case::a_byte_too_few("10.0.0", false)]
#[case::a_group_too_long("fd00:00010::1", false)]
#[case::a_group_too_many("1:2:3:4:5:6:7:8:9", false)]
#[case::a_group_too_few("1:2:3:4:5:6:7", false)]
#[case::two_gaps("fd00::1::2", false)]
#[case::a_network_too_long("10.0.0.0/33", false)]
#[case::a_network_too_long_of_the_other_family("fd00::/129", false)]
#[case::with_a_zone("fe80::1%eth0", false)]
#[case::with_a_port("10.0.0.10:53", false)]
#[case::nobody("0.0.0.0", false)]
#[case::nobody_of_the_other_family("::", false)]
#[case::the_pod_itself("127.0.0.53", false)]
#[case::the_pod_itself_of_the_other_family("::1", false)]
#[case::a_group("224.0.0.251", false)]
#[case::a_group_of_the_other_family("ff02::fb", false)]
#[tokio::test]
async fn an_address_of_the_dns_is_taken_just_where_the_controller_starts_with_it(
    #[case] address: &str,
    #[case] wanted: bool,
) -> Outcome {
    let values = json!({"network": {"dns": {"addresses": [address]}}});
    agree("dns-address", address, values, wanted).await
}

#[rstest]
#[case::of_services("34.118.224.0/20", true)]
#[case::one("34.118.224.7/32", true)]
#[case::everything("0.0.0.0/0", true)]
#[case::of_the_other_family("2600:1900::/28", true)]
#[case::everything_of_the_other_family("::/0", true)]
#[case::beyond_its_length("34.118.224.1/20", false)]
#[case::beyond_its_length_of_the_other_family("2600:1910::/27", false)]
#[case::no_length("34.118.224.7", false)]
#[case::a_byte_too_large("34.118.256.0/20", false)]
#[case::a_byte_too_few("34.118.224/20", false)]
#[case::a_length_too_large("34.118.224.0/33", false)]
#[case::a_length_too_large_of_the_other_family("2600:1900::/129", false)]
#[case::two_gaps("2600::1900::/28", false)]
#[case::a_name("nodes/20", false)]
#[tokio::test]
async fn a_network_that_no_proxy_reaches_is_taken_just_where_the_controller_starts_with_it(
    #[case] network: &str,
    #[case] wanted: bool,
) -> Outcome {
    let values = json!({"sandbox": {"egressProxy": {"denyCIDRs": [network]}}});
    agree("egress-proxy-deny-cidr", network, values, wanted).await
}

#[rstest]
#[case::one("k8s-app=kube-dns", true)]
#[case::one_with_a_domain("dns.operator.openshift.io/daemonset-dns=default", true)]
#[case::several("a=x,b.example/c=y", true)]
#[case::without_a_value("dns=", true)]
#[case::no_pair("kube-dns", false)]
#[case::no_key("=x", false)]
#[case::a_key_that_begins_with_a_slash("/y=z", false)]
#[case::a_domain_that_begins_with_a_dash("-x/y=z", false)]
#[case::two_slashes("a/b/c=x", false)]
#[case::a_key_twice("a=x,a=y", false)]
#[case::a_key_twice_with_others_between("a=x,b=y,a=x", false)]
#[case::two_words("a=x y", false)]
#[case::marks("a!!=x", false)]
#[case::a_value_that_ends_in_a_dash("a=x-", false)]
#[case::nothing_at_the_end("a=x,", false)]
#[case::a_value_of_63(&format!("a={}", "v".repeat(63)), true)]
#[case::a_value_of_64(&format!("a={}", "v".repeat(64)), false)]
#[case::a_name_of_64(&format!("{}=x", "n".repeat(64)), false)]
#[case::a_domain_of_253(&format!("{}d/n=x", "d.".repeat(126)), true)]
#[case::a_domain_of_254(&format!("{}dd/n=x", "d.".repeat(126)), false)]
#[tokio::test]
async fn a_label_of_dns_pods_is_taken_just_where_the_controller_starts_with_it(
    #[case] label: &str,
    #[case] wanted: bool,
) -> Outcome {
    let values = json!({"network": {"dns": {"podLabel": label}}});
    agree("dns-pod-label", label, values, wanted).await
}

#[rstest]
#[case::with_a_domain("example.com/runtime", true)]
#[case::without("runtime", true)]
#[case::two_words("a b", false)]
#[case::a_domain_with_an_empty_part("a..b/runtime", false)]
#[case::a_domain_of_254(&format!("{}dd/n", "d.".repeat(126)), false)]
#[case::a_name_of_64(&"n".repeat(64), false)]
#[tokio::test]
async fn the_label_of_runtimes_is_taken_just_where_the_controller_starts_with_it(
    #[case] label: &str,
    #[case] wanted: bool,
) -> Outcome {
    let values = json!({"sandbox": {"runtimePodLabel": label}});
    agree("runtime-pod-label", label, values, wanted).await
}

#[tokio::test]
async fn pods_on_their_nodes_network_are_rolled_without_needing_a_node_more() -> Outcome {
    let rendered = Rendered::with(&json!({"hostNetwork": true})).await?;
    let spec = &rendered.pod()?["spec"];
    assert_eq!(spec["hostNetwork"], true);
    // Names of the cluster are found there, too.
    assert_eq!(spec["dnsPolicy"], "ClusterFirstWithHostNet");
    let rolling = &rendered.one("Deployment", RELEASE)?["spec"]["strategy"]["rollingUpdate"];
    assert_eq!(*rolling, json!({"maxUnavailable": 1, "maxSurge": 0}));

    let plain = Rendered::with(&json!({})).await?;
    let spec = &plain.pod()?["spec"];
    assert!(spec["hostNetwork"].is_null() && spec["dnsPolicy"].is_null());
    Ok(())
}

#[tokio::test]
async fn the_operators_own_policy_opens_the_ports_that_the_values_name() -> Outcome {
    let values = json!({
        "networkPolicy": {"enabled": true, "metricsFrom": [{"podSelector": {}}]},
        "webhook": {"port": 10250, "healthPort": 10251},
        "controller": {"healthPort": 10252},
    });
    let rendered = Rendered::with(&values).await?;
    let policy = &rendered.one("NetworkPolicy", RELEASE)?["spec"];
    let ports = |index: usize| policy["ingress"][index]["ports"].clone();
    assert_eq!(ports(0), json!([{"port": 10250}]));
    assert_eq!(ports(1), json!([{"port": 10251}, {"port": 10252}]));
    Ok(())
}
