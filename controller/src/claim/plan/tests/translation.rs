//! What the addresses of allowed Services open, for any class and any Services.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::world::{World, start};
use crate::claim::observed::{AllowedTarget, Lookup, ObjectKind, ServiceKey, Target, TargetPort};

const SERVICES: [&str; 3] = ["a", "b", "c"];

/// Few ports, so that Services and classes often name the same.
fn number() -> impl Strategy<Value = i32> {
    prop_oneof![80..84, 1..=65535]
}

fn port() -> impl Strategy<Value = TargetPort> {
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

fn service() -> impl Strategy<Value = AllowedTarget> {
    let selector = prop::collection::btree_map("[a-z]{1,3}", "[a-z]{1,3}", 0..2);
    let addresses = prop::collection::vec(any::<IpAddr>(), 0..3);
    (selector, addresses, prop::collection::vec(port(), 0..4)).prop_map(
        |(selector, addresses, ports)| AllowedTarget {
            selector,
            addresses,
            ports,
        },
    )
}

fn world(services: &[AllowedTarget], allowed: &[(usize, Vec<i32>)]) -> World {
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

fn egress(world: &World) -> Vec<Value> {
    let plan = world.plan(start());
    let mut intents = plan.ensure.into_iter();
    let policy = intents.find(|intent| intent.kind == ObjectKind::NetworkPolicy);
    let rules = policy.unwrap().object["spec"]["egress"].clone();
    serde_json::from_value(rules).unwrap()
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
        services in prop::collection::vec(service(), 3),
        allowed in prop::collection::vec((0..3_usize, prop::collection::vec(number(), 0..3)), 0..4),
    ) {
        let mut world = world(&services, &allowed);
        let before = egress(&world);
        prop_assert!(!before.iter().any(by_address));
        world.settings.judges_before_translation = true;
        let after = egress(&world);
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
