//! What is opened by the addresses of allowed Services, where a network judges packets before such an
//! address is translated to a pod's (Q67).

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::egress::{addresses, egress, policy, port, serves, target};
use super::world::{World, mirror, start};
use crate::claim::observed::{AllowedTarget, Lookup, ObjectKind, ServiceKey, Target, TargetPort};

// Proves: O-024, O-025
#[rstest]
fn where_packets_are_judged_before_translation_a_services_addresses_are_opened_at_its_ports() {
    let mut world = World::codegen();
    world.settings.judges_before_translation = true;
    egress(
        &mut world,
        json!({"allowedServices": [{"name": "db", "ports": [5432, 53]}]}),
    );
    let ports = vec![
        port(80, Target::Number(8080), "TCP"),
        port(5432, Target::Name("postgres".to_owned()), "TCP"),
        port(53, Target::Number(5353), "UDP"),
        port(53, Target::Number(5353), "TCP"),
    ];
    serves(&mut world, "my-agents", "db", target(ports));
    let rules = policy(&world)["egress"].clone();
    assert_eq!(rules[0]["to"][0]["podSelector"]["matchLabels"]["app"], "db");
    assert_eq!(
        rules[1],
        json!({
            "to": [
                {"ipBlock": {"cidr": "10.96.0.10/32"}},
                {"ipBlock": {"cidr": "fd00:10::10/128"}},
            ],
            "ports": [
                {"protocol": "TCP", "port": 5432},
                {"protocol": "UDP", "port": 53},
                {"protocol": "TCP", "port": 53},
            ],
        })
    );
    assert_eq!(rules.as_array().unwrap().len(), 2);
}

// Proves: O-024, O-030
#[rstest]
#[case::headless("db", &[], 1)]
#[case::without_selector("", &["10.96.0.10"], 0)]
fn a_service_of_no_address_or_of_no_pods_is_not_opened_by_address(
    #[case] app: &str,
    #[case] at: &[&str],
    #[case] rules: usize,
) {
    let mut world = World::codegen();
    world.settings.judges_before_translation = true;
    egress(
        &mut world,
        json!({"allowedServices": [{"name": "db", "ports": [5432]}]}),
    );
    let selector = [("app".to_owned(), app.to_owned())].into_iter();
    let found = AllowedTarget {
        selector: selector.filter(|(_, app)| !app.is_empty()).collect(),
        addresses: addresses(at),
        ports: vec![port(5432, Target::Number(5432), "TCP")],
    };
    serves(&mut world, "my-agents", "db", Lookup::Found(found));
    let egress = policy(&world)["egress"].clone();
    assert_eq!(egress.as_array().map_or(0, Vec::len), rules);
    assert!(!egress.to_string().contains("ipBlock"), "{egress}");
}

// Proves: O-024, O-039
#[rstest]
fn a_service_made_again_with_another_address_is_opened_there_and_no_longer_here() {
    let mut world = World::bound();
    world.settings.judges_before_translation = true;
    let mut found = mirror();
    for address in ["10.96.0.9", "10.96.7.7"] {
        found.addresses = addresses(&[address]);
        serves(
            &mut world,
            "my-agents",
            "artifact-mirror",
            Lookup::Found(found.clone()),
        );
        world.settle(start());
        let stands = &world.store[&ObjectKind::NetworkPolicy]["spec"]["egress"];
        assert_eq!(
            stands[1]["to"],
            json!([{"ipBlock": {"cidr": format!("{address}/32")}}])
        );
        assert_eq!(stands.to_string().matches("ipBlock").count(), 1);
    }
    assert_eq!(world.condition("SandboxModified"), None);
}

const SERVICES: [&str; 3] = ["a", "b", "c"];

/// Few ports, so that Services and classes often name the same.
fn number() -> impl Strategy<Value = i32> {
    prop_oneof![80..84, 1..=65535]
}

fn any_port() -> impl Strategy<Value = TargetPort> {
    let target = prop_oneof![
        number().prop_map(Target::Number),
        "[a-z]{1,5}".prop_map(Target::Name),
    ];
    let protocol = prop::sample::select(vec!["TCP", "UDP", "SCTP"]);
    (number(), target, protocol).prop_map(|(port, target, protocol)| TargetPort {
        port,
        target,
        protocol: protocol.to_owned(),
    })
}

fn any_service() -> impl Strategy<Value = AllowedTarget> {
    let selector = prop::collection::vec(("[a-z]{1,3}", "[a-z]{1,3}"), 0..2);
    let addresses = prop::collection::vec(any::<IpAddr>(), 0..3);
    (selector, addresses, prop::collection::vec(any_port(), 0..4)).prop_map(
        |(selector, addresses, ports)| AllowedTarget {
            selector,
            addresses,
            ports,
        },
    )
}

fn allowing(services: &[AllowedTarget], allowed: &[(usize, Vec<i32>)]) -> World {
    let mut world = World::codegen();
    let named = allowed
        .iter()
        .map(|(which, ports)| json!({"name": SERVICES[*which], "ports": ports}));
    let egress = json!({"allowedServices": named.collect::<Vec<_>>(), "dns": true});
    world.class_mut().egress = serde_json::from_value(egress).unwrap();
    let found = SERVICES.iter().zip(services).map(|(name, service)| {
        let key = ServiceKey {
            namespace: "my-agents".to_owned(),
            name: (*name).to_owned(),
        };
        (key, Lookup::Found(service.clone()))
    });
    world.observed.services = found.collect();
    world
}

fn rules(world: &World) -> Vec<Value> {
    serde_json::from_value(policy(world)["egress"].clone()).unwrap()
}

fn by_address(rule: &Value) -> bool {
    rule["to"][0].get("ipBlock").is_some()
}

/// Each network, protocol and port that the rules open by address.
fn opened(rules: &[Value]) -> BTreeSet<(String, String, i64)> {
    let mut all = BTreeSet::new();
    for rule in rules.iter().filter(|rule| by_address(rule)) {
        for peer in rule["to"].as_array().unwrap() {
            let network = peer["ipBlock"]["cidr"].as_str().unwrap();
            for port in rule["ports"].as_array().unwrap() {
                assert_eq!(port.get("endPort"), None);
                all.insert((
                    network.to_owned(),
                    port["protocol"].as_str().unwrap().to_owned(),
                    port["port"].as_i64().unwrap(),
                ));
            }
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    // Proves: O-024, O-025, O-030
    #[test]
    fn by_address_nothing_is_opened_but_the_allowed_services_own_at_the_listed_ports(
        services in prop::collection::vec(any_service(), 3),
        allowed in prop::collection::vec((0..3_usize, prop::collection::vec(number(), 0..3)), 0..4),
    ) {
        let mut world = allowing(&services, &allowed);
        let before = rules(&world);
        prop_assert!(!before.iter().any(by_address));
        world.settings.judges_before_translation = true;
        let after = rules(&world);
        let by_pods: Vec<_> = after.iter().filter(|rule| !by_address(rule)).cloned().collect();
        prop_assert_eq!(by_pods, before, "what is opened by selector stays as it was");

        let mut expected = BTreeSet::new();
        let ports: BTreeMap<usize, BTreeSet<i32>> =
            allowed.into_iter().fold(BTreeMap::new(), |mut all, (which, ports)| {
                all.entry(which).or_default().extend(ports);
                all
            });
        for (which, listed) in ports {
            let service = &services[which];
            let selects = !service.selector.is_empty();
            let offered = service.ports.iter().filter(|port| selects && listed.contains(&port.port));
            for port in offered {
                expected.extend(service.addresses.iter().map(|address| {
                    let length = if address.is_ipv4() { 32 } else { 128 };
                    (format!("{address}/{length}"), port.protocol.clone(), port.port.into())
                }));
            }
        }
        prop_assert_eq!(opened(&after), expected);
    }
}
