//! What the `NetworkPolicy` opens, and what it never does.

use std::net::IpAddr;

use rstest::rstest;
use sandgate_shared::api::sandbox_class::Egress;
use serde_json::{Value, json};

use super::super::{Settings, allowed_services};
use super::world::{World, start};
use crate::claim::observed::{AllowedTarget, Lookup, ObjectKind, ServiceKey, Target, TargetPort};

/// The policy the world's claim gets.
pub(super) fn policy(world: &World) -> Value {
    let plan = world.planned();
    let mut intents = plan.ensure.into_iter();
    let intent = intents.find(|intent| intent.kind == ObjectKind::NetworkPolicy);
    intent.unwrap().object["spec"].clone()
}

pub(super) fn egress(world: &mut World, egress: Value) {
    world.class_mut().egress = serde_json::from_value::<Option<Egress>>(egress).unwrap();
}

pub(super) fn serves(
    world: &mut World,
    namespace: &str,
    name: &str,
    target: Lookup<AllowedTarget>,
) {
    let key = ServiceKey {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    world.observed.services.insert(key, target);
}

pub(super) fn port(port: i32, target: Target, protocol: &str) -> TargetPort {
    TargetPort {
        port,
        target,
        protocol: protocol.to_owned(),
    }
}

pub(super) fn target(ports: Vec<TargetPort>) -> Lookup<AllowedTarget> {
    Lookup::Found(AllowedTarget {
        selector: [("app".to_owned(), "db".to_owned())].into(),
        addresses: addresses(&["10.96.0.10", "fd00:10::10"]),
        ports,
    })
}

pub(super) fn addresses(all: &[&str]) -> Vec<IpAddr> {
    all.iter().map(|text| text.parse().unwrap()).collect()
}

// Proves: O-022
#[rstest]
fn only_the_pods_of_the_claims_runtime_come_in_and_only_on_the_class_ports() {
    let mut world = World::codegen();
    world.settings.runtime_pod_label = "example.com/runtime".to_owned();
    let ports = json!([{"name": "mcp", "port": 8080}, {"name": "web", "port": 9000}]);
    world.class_mut().ports = serde_json::from_value(ports).unwrap();
    assert_eq!(
        policy(&world)["ingress"],
        json!([{
            "from": [{"podSelector": {"matchLabels": {"example.com/runtime": "my-agent"}}}],
            "ports": [{"protocol": "TCP", "port": 8080}, {"protocol": "TCP", "port": 9000}],
        }])
    );
}

// Proves: O-022
#[rstest]
fn a_runtime_whose_name_no_pod_can_bear_as_a_label_lets_nobody_in() {
    let mut world = World::codegen();
    let runtime = world.observed.claim.spec.agent_runtime_ref.as_mut();
    runtime.unwrap().name = "r".repeat(64);
    assert_eq!(policy(&world).get("ingress"), None);
}

// Proves: O-023
#[rstest]
#[case::absent(json!(null))]
#[case::empty(json!({}))]
#[case::nothing_listed(json!({"allowedServices": [], "dns": false}))]
fn a_class_that_names_nothing_gets_a_policy_that_denies_all_egress(#[case] named: Value) {
    let mut world = World::codegen();
    egress(&mut world, named);
    let policy = policy(&world);
    assert_eq!(policy["policyTypes"], json!(["Ingress", "Egress"]));
    assert_eq!(
        policy.get("egress"),
        None,
        "an empty list would make each PUT a write"
    );
}

// Proves: O-024, O-025, O-026
#[rstest]
fn an_allowed_service_opens_its_own_selector_in_its_namespace_on_its_target_ports() {
    let mut world = World::codegen();
    let named = json!({"allowedServices": [
        {"name": "artifact-mirror", "ports": [443]},
        {"name": "db", "namespace": "data", "ports": [5432, 53]},
    ]});
    egress(&mut world, named);
    let ports = vec![
        port(80, Target::Number(8080), "TCP"),
        port(5432, Target::Name("postgres".to_owned()), "TCP"),
        port(53, Target::Number(5353), "UDP"),
        port(53, Target::Number(5353), "TCP"),
    ];
    serves(&mut world, "data", "db", target(ports));
    let peer = |namespace: &str, app: &str| {
        json!([{
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "podSelector": {"matchLabels": {"app": app}},
        }])
    };
    assert_eq!(
        policy(&world)["egress"],
        json!([
            {"to": peer("my-agents", "artifact-mirror"), "ports": [{"protocol": "TCP", "port": 8443}]},
            {"to": peer("data", "db"), "ports": [
                {"protocol": "TCP", "port": "postgres"},
                {"protocol": "UDP", "port": 5353},
                {"protocol": "TCP", "port": 5353},
            ]},
        ])
    );
}

// Proves: O-025, O-030
#[rstest]
fn what_leads_to_the_same_place_is_opened_once() {
    let mut world = World::codegen();
    let entry = json!({"name": "db", "ports": [80, 8080]});
    egress(&mut world, json!({"allowedServices": [entry, entry]}));
    let ports = vec![
        port(80, Target::Number(8080), "TCP"),
        port(8080, Target::Number(8080), "TCP"),
    ];
    serves(&mut world, "my-agents", "db", target(ports));
    let rules = policy(&world)["egress"].clone();
    assert_eq!(rules.as_array().unwrap().len(), 1);
    assert_eq!(
        rules[0]["ports"],
        json!([{"protocol": "TCP", "port": 8080}])
    );
    world.settle(start());
    assert_eq!(world.condition("AllowedServicesResolved"), None);
}

// Proves: O-024, O-026
#[rstest]
fn the_services_to_look_up_are_those_named_each_in_its_namespace() {
    let mut world = World::codegen();
    let named = json!({"allowedServices": [
        {"name": "db", "namespace": "data", "ports": [1]},
        {"name": "db", "ports": [2]},
        {"name": "db", "ports": [3]},
    ]});
    egress(&mut world, named);
    let class = world.class_mut().clone();
    let keys = allowed_services(&world.observed.claim, &class);
    let keys: Vec<_> = keys
        .iter()
        .map(|key| format!("{}/{}", key.namespace, key.name))
        .collect();
    assert_eq!(keys, ["data/db", "my-agents/db"]);
}

// Proves: O-027
#[rstest]
fn dns_opens_the_cluster_resolver_and_nothing_else() {
    let mut world = World::codegen();
    egress(&mut world, json!({"dns": true}));
    world.settings.dns.ports = [53, 8053].into();
    assert_eq!(
        policy(&world)["egress"],
        json!([{
            "to": [{
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
                "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
            }],
            "ports": [
                {"protocol": "UDP", "port": 53},
                {"protocol": "TCP", "port": 53},
                {"protocol": "UDP", "port": 8053},
                {"protocol": "TCP", "port": 8053},
            ],
        }])
    );
}

// Proves: O-027, X-015
#[rstest]
fn dns_opens_the_pods_and_addresses_of_the_installations_resolver_at_its_ports() {
    let mut world = World::codegen();
    egress(&mut world, json!({"dns": true}));
    let dns = &mut world.settings.dns;
    dns.namespace = "openshift-dns".to_owned();
    dns.pod_labels = [("dns", "default"), ("tier", "dns")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
    dns.ports = [5353].into();
    let networks = ["169.254.20.10/32", "fd00:10::/120"];
    dns.addresses = networks.map(|text| text.parse().unwrap()).into();
    assert_eq!(
        policy(&world)["egress"],
        json!([{
            "to": [
                {
                    "namespaceSelector": {
                        "matchLabels": {"kubernetes.io/metadata.name": "openshift-dns"},
                    },
                    "podSelector": {"matchLabels": {"dns": "default", "tier": "dns"}},
                },
                {"ipBlock": {"cidr": "169.254.20.10/32"}},
                {"ipBlock": {"cidr": "fd00:10::/120"}},
            ],
            "ports": [{"protocol": "UDP", "port": 5353}, {"protocol": "TCP", "port": 5353}],
        }])
    );
    egress(&mut world, json!({"dns": false}));
    assert_eq!(policy(&world).get("egress"), None);
}

// Proves: O-027
#[rstest]
fn dns_without_a_port_opens_nothing_rather_than_every_port() {
    let mut world = World::codegen();
    egress(&mut world, json!({"dns": true}));
    world.settings = Settings::default();
    world.settings.dns.ports.clear();
    assert_eq!(policy(&world).get("egress"), None);
}

// Proves: O-030
#[rstest]
#[case::missing(
    Lookup::Missing,
    "Service my-agents/db does not exist, so nothing is opened for it"
)]
#[case::without_selector(
    Lookup::Found(AllowedTarget {
        selector: [].into(),
        addresses: addresses(&["10.96.0.10"]),
        ports: vec![port(5432, Target::Number(5432), "TCP")],
    }),
    "Service my-agents/db selects no pods, so nothing is opened for it"
)]
#[case::other_port(
    target(vec![port(80, Target::Number(80), "TCP")]),
    "Service my-agents/db has no port 5432, so it is not opened"
)]
fn a_service_that_cannot_be_resolved_opens_nothing_and_the_claim_says_so(
    #[case] found: Lookup<AllowedTarget>,
    #[case] words: &str,
) {
    let mut world = World::codegen();
    egress(
        &mut world,
        json!({"allowedServices": [{"name": "db", "ports": [5432]}]}),
    );
    serves(&mut world, "my-agents", "db", found);
    assert_eq!(policy(&world).get("egress"), None);
    world.settle(start());
    let (status, reason, message) = world.condition("AllowedServicesResolved").unwrap();
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("False", "AllowedServiceUnresolved")
    );
    assert!(message.contains(words), "{message}");

    let ports = vec![port(5432, Target::Number(5432), "TCP")];
    serves(&mut world, "my-agents", "db", target(ports));
    world.settle(start());
    let (status, ..) = world.condition("AllowedServicesResolved").unwrap();
    assert_eq!(status, "True");
    assert_eq!(
        world.store[&ObjectKind::NetworkPolicy]["spec"]["egress"][0]["ports"][0]["port"],
        5432
    );
}

// Proves: O-030
#[rstest]
fn a_service_name_that_would_steer_a_terminal_is_told_with_its_control_characters_spelt_out() {
    let mut world = World::codegen();
    egress(
        &mut world,
        json!({"allowedServices": [{"name": "\u{1b}[2Jdb\n", "ports": [5432]}]}),
    );
    world.settle(start());
    let (_, _, message) = world.condition("AllowedServicesResolved").unwrap();
    assert!(message.contains(r"my-agents/\u{1b}[2Jdb\n does not exist"));
    assert!(!message.contains(char::is_control), "{message:?}");
}
