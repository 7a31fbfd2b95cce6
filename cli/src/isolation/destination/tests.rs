use std::collections::BTreeSet;

use super::rows::NODE_CACHE;
use super::*;
use crate::isolation::facts::{Addresses, Facts, Node, Peer};
use crate::isolation::scenario::{Expected, scenario};

pub fn peer(number: u8, six: bool) -> Peer {
    let (pod, service) = (format!("10.244.0.{number}"), format!("10.96.0.{number}"));
    let (pod_six, service_six) = (format!("fd00::{number}"), format!("fd96::{number}"));
    let mut pods = vec![pod.as_str()];
    let mut services = vec![service.as_str()];
    if six {
        pods.push(&pod_six);
        services.push(&service_six);
    }
    Peer {
        pod: Addresses::read(pods),
        service: Addresses::read(services),
    }
}

pub fn facts(six: bool) -> Facts {
    Facts {
        node: Node {
            name: "one".to_owned(),
            addresses: Addresses::read(["10.245.0.1"]),
            gateway: Addresses::read(["10.244.0.1"]),
        },
        numbered: peer(1, six),
        named: peer(2, six),
        elsewhere: peer(3, six),
        forbidden: peer(4, six),
        sibling: peer(5, false),
        dns: Some(peer(6, false)),
        dns_port: 5353,
        api: Peer {
            pod: Addresses::read(["10.245.0.1"]),
            service: Addresses::read(["10.96.0.100"]),
        },
        api_port: 6443,
        cluster_domain: "cluster.local".to_owned(),
        ..Facts::default()
    }
}

fn row<'a>(rows: &'a [Destination], label: &str) -> &'a Destination {
    rows.iter().find(|row| row.label == label).unwrap()
}

fn written_out(rows: &[Destination]) -> String {
    let lines = rows.iter().map(|row| {
        let target = row
            .target
            .as_ref()
            .map_or_else(|why| format!("({why})"), Clone::clone);
        format!("{} = {target}  [{}]\n", row.label, row.to)
    });
    lines.collect()
}

#[test]
fn what_is_dialled_on_a_plain_cluster() {
    insta::assert_snapshot!(written_out(&destinations(&facts(false))));
}

#[test]
fn with_ipv6_all_of_it_is_dialled_again() {
    let rows = destinations(&facts(true));
    let six = rows.iter().filter(|row| row.family == Family::IPv6);
    let six: BTreeSet<&str> = six.map(|row| row.label.as_str()).collect();
    for label in [
        "forbidden-pod-tcp-v6",
        "forbidden-pod-udp-v6",
        "forbidden-pod-icmp-v6",
        "numbered-svc-tcp-v6",
    ] {
        assert!(six.contains(label), "{label}");
    }
    assert_eq!(
        row(&rows, "forbidden-pod-tcp-v6").target.as_deref(),
        Ok("tcp:[fd00::4]:8080")
    );
    assert_eq!(
        row(&rows, "forbidden-pod-icmp-v6").target.as_deref(),
        Ok("icmp:[fd00::4]")
    );
}

#[test]
fn a_family_that_is_not_here_is_said_to_be_absent() {
    let rows = destinations(&facts(false));
    let six = row(&rows, "forbidden-pod-udp-v6");
    assert_eq!(six.target.as_deref(), Err(&"no IPv6 here".to_owned()));
    assert_eq!(six.presence, Presence::Perhaps);
}

#[test]
fn no_two_rows_share_a_label() {
    let mut facts = facts(true);
    facts.far_node = Some(facts.node.clone());
    facts.far = Some(peer(7, true));
    facts.outside = ["tcp:1.1.1.1:443", "udp:1.1.1.1:53", "tcp:1.0.0.1:443"]
        .map(|text| text.parse().unwrap())
        .to_vec();
    let rows = destinations(&facts);
    let labels: BTreeSet<&str> = rows.iter().map(|row| row.label.as_str()).collect();
    assert_eq!(labels.len(), rows.len());
}

#[test]
fn the_api_server_is_left_to_the_plugin_only_where_it_is_on_the_pods_own_node() {
    let undefined = |facts: &Facts| row(&destinations(facts), "api-svc-tcp").undefined.is_some();
    let mut facts = facts(false);
    assert!(undefined(&facts));
    facts.api.pod = Addresses::read(["10.245.0.2"]);
    assert!(!undefined(&facts));
}

#[test]
fn another_node_is_to_be_shut_and_the_own_one_is_left_to_the_plugin() {
    let mut facts = facts(false);
    facts.far_node = Some(Node {
        name: "two".to_owned(),
        addresses: Addresses::read(["10.245.0.2"]),
        ..Node::default()
    });
    let rows = destinations(&facts);
    assert!(row(&rows, "node-icmp").undefined.is_some());
    assert!(row(&rows, "far-node-icmp").undefined.is_none());
}

#[test]
fn a_cluster_without_known_dns_says_so() {
    let mut facts = facts(false);
    facts.dns = None;
    let rows = destinations(&facts);
    let dns = row(&rows, "dns-svc-dns");
    assert!(dns.target.is_err());
    assert_eq!(dns.presence, Presence::Always);
}

#[test]
fn resolvers_that_the_installation_names_are_open_with_dns_and_each_is_dialled_once() {
    let mut facts = facts(false);
    facts.dns_ports = vec![53];
    let service = facts
        .dns
        .as_ref()
        .unwrap()
        .service
        .of(Family::IPv4)
        .unwrap();
    facts.dns_addresses = vec![NODE_CACHE, "10.9.9.9".parse().unwrap(), service];
    let rows = destinations(&facts);
    let resolvers = rows.iter().filter(|row| row.label.starts_with("resolver-"));
    let targets: Vec<&str> = resolvers
        .clone()
        .map(|row| row.target.as_deref().unwrap())
        .collect();
    assert_eq!(
        targets,
        [
            "dns:169.254.20.10:53/kubernetes.default.svc.cluster.local",
            "tcp:169.254.20.10:53",
            "dns:10.9.9.9:53/kubernetes.default.svc.cluster.local",
            "tcp:10.9.9.9:53",
        ]
    );
    let (dns, shut) = (scenario("dns").unwrap(), scenario("deny-all").unwrap());
    for row in resolvers {
        assert_eq!(dns.expects(row), Expected::Open, "{}", row.label);
    }
    let expected = |label| shut.expects(row(&rows, label));
    assert_eq!(expected("resolver-2-tcp"), Expected::Shut);
    // Only the own node can answer there.
    assert_eq!(expected("resolver-1-tcp"), Expected::ImplementationDefined);
    facts.dns_ports = vec![5353];
    let closed = destinations(&facts);
    assert_eq!(dns.expects(row(&closed, "resolver-2-tcp")), Expected::Shut);
}

#[test]
fn what_has_no_address_of_a_family_is_nothing_to_reach() {
    let mut facts = facts(true);
    facts.dns = Some(peer(6, true));
    let rows = destinations(&facts);
    for label in ["node-tcp-v6", "api-svc-tcp-v6"] {
        let row = row(&rows, label);
        assert!(row.target.is_err(), "{label}");
        assert_eq!(row.presence, Presence::Perhaps, "{label}");
    }
}
