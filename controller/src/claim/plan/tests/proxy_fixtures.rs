//! Test hosts, which in-cluster Services stand for.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};

use super::super::{TestHost, TestHosts, fixture_services};
use super::connections::{vcs, world};
use super::egress::{port, serves};
use super::refusals::answer;
use super::world::{World, at};
use crate::claim::observed::{AllowedTarget, Lookup, ObjectKind, ServiceKey, Target};

const SPKI: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

fn fixture() -> AllowedTarget {
    AllowedTarget {
        selector: vec![("app".to_owned(), "login".to_owned())],
        addresses: vec!["10.96.0.20".parse().unwrap()],
        ports: vec![
            port(80, Target::Number(8080), "TCP"),
            port(443, Target::Name("https".to_owned()), "TCP"),
        ],
    }
}

/// A claim both of whose Connections name these hosts, in a cluster with a test host.
fn with_hosts(hosts: &[&str]) -> World {
    let mut world = world();
    world.settings.egress.test_hosts = Some(TestHosts {
        hosts: vec![TestHost {
            host: "login.fixture.test".parse().unwrap(),
            service: ServiceKey {
                namespace: "e2e".to_owned(),
                name: "login-fixture".to_owned(),
            },
        }],
        spki: None,
    });
    for binding in world.observed.bindings.as_mut().unwrap() {
        let spec = binding.found.as_mut().unwrap();
        spec.hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
    }
    serves(&mut world, "e2e", "login-fixture", Lookup::Found(fixture()));
    world
}

fn trusting(mut world: World) -> World {
    let hosts = world.settings.egress.test_hosts.as_mut().unwrap();
    hosts.spki = Some(SPKI.to_owned());
    world
}

fn args(world: &World) -> Vec<String> {
    let pod = &world.store[&ObjectKind::EgressDeployment]["spec"]["template"]["spec"];
    serde_json::from_value(pod["containers"][0]["args"].clone()).unwrap()
}

fn pins(world: &World) -> Vec<String> {
    let args = args(world).into_iter();
    args.filter(|arg| arg.contains("insecure")).collect()
}

fn allowlist(world: &World) -> &Value {
    &world.store[&ObjectKind::EgressAllowlist]["data"]["allowlist.json"]
}

fn rules(world: &World) -> Vec<Value> {
    let policy = &world.store[&ObjectKind::EgressNetworkPolicy]["spec"]["egress"];
    policy.as_array().unwrap().clone()
}

fn variable(world: &World, name: &str) -> Option<String> {
    let container =
        &world.store[&ObjectKind::Deployment]["spec"]["template"]["spec"]["containers"][0];
    let mut env = container["env"].as_array().unwrap().iter();
    let found = env.find(|it| it["name"] == name)?;
    found["value"].as_str().map(str::to_owned)
}

fn told(world: &World) -> (String, String, String) {
    world.condition("InsecureEgressTestHosts").unwrap()
}

// Proves: E-029
#[test]
fn a_claim_whose_connections_name_no_test_host_is_not_touched() {
    let mut world = with_hosts(&["fixture.test.example", "other.fixture.test"]);
    world.settle(at(62));
    assert_eq!(pins(&world), Vec::<String>::new());
    assert_eq!(rules(&world).len(), 2);
    assert_eq!(world.condition("InsecureEgressTestHosts"), None);
    assert!(!allowlist(&world).to_string().contains("login.fixture.test"));
}

// Proves: E-030, E-032, E-036
#[rstest]
#[case::by_name(&["login.fixture.test"])]
#[case::by_a_wildcard(&["*.fixture.test"])]
fn a_test_host_is_pinned_to_its_service_and_opened_at_its_pods_alone(#[case] hosts: &[&str]) {
    let mut world = with_hosts(hosts);
    world.settle(at(62));
    assert_eq!(
        pins(&world),
        [
            "-insecure-test-hosts=login.fixture.test=10.96.0.20",
            "-acknowledge-insecure-test-only",
        ]
    );
    assert_eq!(
        allowlist(&world),
        &json!(json!({"hosts": hosts}).to_string())
    );
    let all = rules(&world);
    assert_eq!(all.len(), 3);
    assert_eq!(
        all[2],
        json!({
            "to": [{
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "e2e"}},
                "podSelector": {"matchLabels": {"app": "login"}},
            }],
            "ports": [{"protocol": "TCP", "port": "https"}],
        })
    );
    let (holds, reason, _) = told(&world);
    assert_eq!(
        (holds.as_str(), reason.as_str()),
        ("True", "InsecureEgressTestHostsEnabled")
    );
    assert!(world.events.contains(&"InsecureEgressTestHostsEnabled"));
    assert_eq!(variable(&world, "OMNIA_INSECURE_TEST_SPKI"), None);
}

// Proves: E-033
#[rstest]
#[case::missing(|_: &mut AllowedTarget| {}, true, "does not exist")]
#[case::headless(|it: &mut AllowedTarget| it.addresses.clear(), false, "has no cluster IP")]
#[case::no_selector(|it: &mut AllowedTarget| it.selector.clear(), false, "has no selector")]
#[case::no_port(|it: &mut AllowedTarget| { it.ports.pop(); }, false, "has no port 443")]
#[case::another_protocol(|it: &mut AllowedTarget| it.ports[1].protocol = "UDP".to_owned(), false, "has no port 443")]
fn one_whose_service_lacks_something_is_kept_from_the_proxy_and_looked_for_every_ten_seconds(
    #[case] fault: fn(&mut AllowedTarget),
    #[case] missing: bool,
    #[case] says: &str,
) {
    let mut world = with_hosts(&["login.fixture.test", "*.fixture.test", "api.github.com"]);
    let mut service = fixture();
    fault(&mut service);
    let found = if missing {
        Lookup::Missing
    } else {
        Lookup::Found(service)
    };
    serves(&mut world, "e2e", "login-fixture", found);
    world.settle(at(62));
    assert_eq!(pins(&world), Vec::<String>::new());
    assert_eq!(
        allowlist(&world),
        r#"{"hosts":["api.github.com"]}"#,
        "it would be resolved"
    );
    assert_eq!(rules(&world).len(), 2);
    let (holds, reason, message) = told(&world);
    assert_eq!(
        (holds.as_str(), reason.as_str()),
        ("True", "InsecureEgressTestFixtureUnresolved")
    );
    assert!(
        message.contains("login.fixture.test: Service e2e/login-fixture"),
        "{message}"
    );
    assert!(message.contains(says), "{message}");
    let (_, decision) = world.reconcile(at(63));
    assert_eq!(decision.requeue, Some(Duration::from_secs(10)));
    serves(&mut world, "e2e", "login-fixture", Lookup::Found(fixture()));
    world.settle(at(73));
    assert_eq!(pins(&world).len(), 2);
    assert_eq!(told(&world).1, "InsecureEgressTestHostsEnabled");
}

// Proves: E-030
#[test]
fn one_whose_service_appears_is_on_the_list_only_once_the_proxy_was_told_where_it_is() {
    let mut world = with_hosts(&["login.fixture.test", "api.github.com"]);
    serves(&mut world, "e2e", "login-fixture", Lookup::Missing);
    world.settle(at(62));
    serves(&mut world, "e2e", "login-fixture", Lookup::Found(fixture()));
    world.refuses = Some((ObjectKind::EgressDeployment, answer(403, "exceeded quota")));
    world.reconcile(at(73));
    world.reconcile(at(74));
    assert_eq!(allowlist(&world), r#"{"hosts":["api.github.com"]}"#);
    world.refuses = None;
    // What was refused is tried again after a while.
    world.reconcile(at(400));
    assert_eq!(pins(&world).len(), 2);
    world.settle(at(401));
    assert_eq!(
        allowlist(&world),
        r#"{"hosts":["api.github.com","login.fixture.test"]}"#
    );
}

// Proves: E-031
#[rstest]
#[case("127.0.0.1")]
#[case("169.254.169.254")]
#[case("::1")]
#[case("fe80::1")]
fn a_service_at_the_machine_s_or_the_link_s_address_is_no_test_host(#[case] address: &str) {
    let mut world = with_hosts(&["login.fixture.test"]);
    let mut service = fixture();
    service.addresses = vec![address.parse().unwrap()];
    serves(&mut world, "e2e", "login-fixture", Lookup::Found(service));
    world.settle(at(62));
    assert_eq!(pins(&world), Vec::<String>::new());
    assert_eq!(told(&world).1, "InsecureEgressTestFixtureUnresolved");
}

#[test]
fn a_service_that_moves_moves_the_pin_and_not_the_sandbox() {
    let mut world = with_hosts(&["login.fixture.test"]);
    world.settle(at(62));
    world.pod_is(|pod| pod.ready = true);
    world.settle(at(63));
    let sandbox = world.store[&ObjectKind::Deployment].clone();
    let mut service = fixture();
    service.addresses = vec!["10.96.0.21".parse().unwrap()];
    serves(&mut world, "e2e", "login-fixture", Lookup::Found(service));
    let plan = world.plan(at(73));
    assert_eq!(
        World::kinds(&plan),
        [ObjectKind::EgressAllowlist, ObjectKind::EgressDeployment]
    );
    world.settle(at(73));
    assert_eq!(
        pins(&world)[0],
        "-insecure-test-hosts=login.fixture.test=10.96.0.21"
    );
    assert_eq!(world.store[&ObjectKind::Deployment], sandbox);
}

// Proves: E-034, O-034
#[test]
fn the_fixtures_key_is_trusted_where_nothing_else_is_reached() {
    let mut world = trusting(with_hosts(&["login.fixture.test"]));
    world.settle(at(62));
    let hosts = variable(&world, "OMNIA_INSECURE_TEST_FIXTURES");
    assert_eq!(hosts.as_deref(), Some("login.fixture.test"));
    let key = variable(&world, "OMNIA_INSECURE_TEST_SPKI");
    assert_eq!(key.as_deref(), Some(SPKI));
    assert_eq!(told(&world).1, "InsecureEgressTestHostsEnabled");
}

// Proves: E-035
#[rstest]
#[case::a_real_host(&["login.fixture.test", "api.github.com"], "api.github.com")]
#[case::a_wildcard_is_more_than_its_fixtures(&["*.fixture.test"], "*.fixture.test")]
fn it_is_withheld_where_a_real_host_is_reached(#[case] hosts: &[&str], #[case] real: &str) {
    let mut world = trusting(with_hosts(hosts));
    world.settle(at(62));
    assert_eq!(variable(&world, "OMNIA_INSECURE_TEST_SPKI"), None);
    assert_eq!(variable(&world, "OMNIA_INSECURE_TEST_FIXTURES"), None);
    assert_eq!(pins(&world).len(), 2, "the switch stays");
    let (holds, reason, message) = told(&world);
    assert_eq!(
        (holds.as_str(), reason.as_str()),
        ("True", "InsecureEgressTestSPKIWithheld")
    );
    assert!(message.contains(real), "{message}");
}

// Proves: E-034, E-035
#[test]
fn a_sandbox_that_trusts_is_made_anew_when_a_real_host_comes() {
    let mut world = trusting(with_hosts(&["login.fixture.test"]));
    world.settle(at(62));
    world.pod_is(|pod| pod.ready = true);
    world.settle(at(63));
    assert!(variable(&world, "OMNIA_INSECURE_TEST_SPKI").is_some());
    let spec = vcs(&mut world).found.as_mut().unwrap();
    spec.hosts = vec!["api.github.com".to_owned()];
    world.settle(at(70));
    assert_eq!(variable(&world, "OMNIA_INSECURE_TEST_SPKI"), None);
    assert_eq!(told(&world).1, "InsecureEgressTestSPKIWithheld");
}

// Proves: E-030
#[test]
fn their_services_are_looked_up() {
    let world = with_hosts(&[]);
    let names: Vec<_> = fixture_services(&world.settings)
        .map(|it| it.name.as_str())
        .collect();
    assert_eq!(names, ["login-fixture"]);
    assert_eq!(fixture_services(&World::codegen().settings).count(), 0);
}
