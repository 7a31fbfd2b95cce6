//! What holds for every claim and class, odd ones too.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use proptest::prelude::*;
use sandgate_shared::api::{SandboxClaim, SandboxClassSpec};
use serde_json::{Value, json};

use super::super::Verdict;
use super::world::{World, at, proven, start};
use crate::claim::observed::{
    AllowedTarget, Binding, Lookup, ObjectKind, ServiceKey, Target, TargetPort,
};

/// Names as the API server admits them, and some it never would.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]([-a-z0-9]{0,40}[a-z0-9])?",
        "[a-z]{1,3}",
        "[ -~é\u{1F980}]{0,80}",
        Just("x".repeat(300)),
    ]
}

fn class() -> impl Strategy<Value = SandboxClassSpec> {
    let port = (("[a-z]{1,8}"), 1..=65535);
    let ports = prop::collection::vec(port, 0..4).prop_map(|ports| {
        let ports = ports.into_iter();
        ports
            .map(|(name, port)| json!({"name": name, "port": port}))
            .collect::<Vec<_>>()
    });
    let scratch = prop::collection::vec(name(), 0..3).prop_map(|names| {
        let names = names.into_iter();
        names
            .map(|name| json!({"name": name, "mountPath": "/x", "sizeLimit": "1Gi", "medium": "Memory"}))
            .collect::<Vec<_>>()
    });
    let egress = (
        any::<bool>(),
        prop::collection::vec((name(), 1..=65535), 0..4),
    )
        .prop_map(|(dns, services)| {
            let services = services.into_iter();
            let services = services.map(|(name, port)| json!({"name": name, "ports": [port]}));
            json!({"dns": dns, "allowedServices": services.collect::<Vec<_>>()})
        });
    let roles = prop::collection::vec(prop_oneof![Just("scratch".to_owned()), name()], 0..2);
    (ports, scratch, egress, any::<[bool; 4]>(), name(), roles).prop_map(
        |(ports, scratch, egress, [workspace, limits, probe, some_egress], word, roles)| {
            let mut class = json!({
                "image": word,
                "args": [word],
                "env": [{"name": "A"}, {"name": "B", "value": word}],
                "ports": ports,
                "filesystem": {"scratch": scratch},
                "mounts": roles.into_iter().map(|role| json!({"role": role})).collect::<Vec<_>>(),
            });
            if workspace {
                class["filesystem"]["workspace"] = json!({"mountPath": "/workspace"});
            }
            if limits {
                class["resources"] = json!({"limits": {"cpu": "1", "memory": "1Gi"}});
            }
            if probe {
                class["readiness"] = json!({"httpGet": {"path": "/"}});
            }
            if some_egress {
                class["egress"] = egress;
            }
            serde_json::from_value(class).unwrap()
        },
    )
}

fn claim() -> impl Strategy<Value = SandboxClaim> {
    let uid = "[0-9a-f]{8}-[0-9a-f]{4}";
    (name(), uid, name(), name(), prop::option::of(name())).prop_map(
        |(name, uid, session, runtime, role)| {
            let mut claim = json!({
                "apiVersion": "omnia.altairalabs.ai/v1alpha1",
                "kind": "SandboxClaim",
                "metadata": {"name": name, "namespace": "n", "uid": uid, "resourceVersion": "1"},
                "spec": {
                    "agentRuntimeRef": {"name": runtime},
                    "classRef": {"name": "c"},
                    "sessionID": session,
                },
            });
            if let Some(role) = role {
                claim["spec"]["mounts"] = json!([{"role": role}]);
            }
            serde_json::from_value(claim).unwrap()
        },
    )
}

/// A class the API server admits: with ports, and no name of the operator's.
fn sound_class() -> impl Strategy<Value = SandboxClassSpec> {
    class().prop_map(|mut class| {
        if class.ports.is_empty() {
            class.ports = serde_json::from_value(json!([{"name": "mcp", "port": 80}])).unwrap();
        }
        class.mounts = None;
        class
    })
}

fn plain_claim() -> impl Strategy<Value = SandboxClaim> {
    claim().prop_map(|mut claim| {
        claim.spec.mounts = None;
        claim
    })
}

fn world(claim: SandboxClaim, class: SandboxClassSpec) -> World {
    let mut world = World::codegen();
    let keys = super::super::allowed_services(&claim, &class);
    let target = |key: &ServiceKey| AllowedTarget {
        selector: vec![("app".to_owned(), key.name.clone())],
        addresses: vec!["10.96.0.9".parse().unwrap()],
        ports: vec![TargetPort {
            port: 443,
            target: Target::Name("https".to_owned()),
            protocol: "TCP".to_owned(),
        }],
    };
    let found = keys.into_iter().map(|key| {
        let target = Lookup::Found(target(&key));
        (key, target)
    });
    world.observed.services = found.collect();
    world.observed.claim = claim;
    world.observed.class = Lookup::Found(class);
    world
}

/// The same with Connections that name these hosts, and with a proxy that answers.
fn connected(claim: SandboxClaim, class: SandboxClassSpec, hosts: &[String]) -> World {
    let mut world = world(claim, class);
    let roles: Vec<_> = (0..hosts.len()).map(|at| format!("role-{at}")).collect();
    let bound = roles
        .iter()
        .map(|role| json!({"role": role, "connection": role}));
    let mut claim = serde_json::to_value(&world.observed.claim).unwrap();
    claim["spec"]["connections"] = bound.collect();
    world.observed.claim = serde_json::from_value(claim).unwrap();
    world.observed.claim.metadata.creation_timestamp = Some(Time(at(61)));
    world.observed.trust = proven();
    let offered = roles.iter().map(|role| json!({"role": role}));
    world.class_mut().connections = serde_json::from_value(offered.collect()).unwrap();
    let bindings = roles.into_iter().zip(hosts).map(|(role, host)| {
        let spec = json!({"hosts": [host], "credential": {"kind": "none"}});
        Binding {
            connection: role.clone(),
            role,
            found: Some(serde_json::from_value(spec).unwrap()),
            secret: None,
        }
    });
    world.observed.bindings = Some(bindings.collect());
    world
}

fn hosts() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("(\\*\\.)?[a-z]{1,8}\\.test", 1..5)
}

fn manifests(world: &World) -> BTreeMap<ObjectKind, Value> {
    let plan = world.planned();
    let objects = plan
        .ensure
        .into_iter()
        .map(|intent| (intent.kind, intent.object));
    objects.collect()
}

fn selects(selector: &Value, pod: &Value) -> bool {
    let wanted = selector.as_object().unwrap();
    !wanted.is_empty()
        && wanted
            .iter()
            .all(|(key, value)| pod.get(key) == Some(value))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    // Proves: O-005
    #[test]
    fn every_selector_selects_exactly_the_claims_own_pods(
        one in plain_claim(),
        other in plain_claim(),
        class in sound_class(),
    ) {
        prop_assume!(one.metadata.uid != other.metadata.uid);
        let one = manifests(&world(one, class.clone()));
        let other = manifests(&world(other, class));
        let pod = |objects: &BTreeMap<ObjectKind, Value>| {
            objects[&ObjectKind::Deployment]["spec"]["template"]["metadata"]["labels"].clone()
        };
        for (mine, theirs) in [(&one, &other), (&other, &one)] {
            let selectors = [
                &mine[&ObjectKind::Deployment]["spec"]["selector"]["matchLabels"],
                &mine[&ObjectKind::Service]["spec"]["selector"],
                &mine[&ObjectKind::NetworkPolicy]["spec"]["podSelector"]["matchLabels"],
            ];
            for selector in selectors {
                prop_assert!(selects(selector, &pod(mine)));
                prop_assert!(!selects(selector, &pod(theirs)));
            }
            let baseline = &mine[&ObjectKind::Baseline]["spec"]["podSelector"]["matchLabels"];
            prop_assert!(selects(baseline, &pod(mine)));
        }
    }

    // Proves: E-010, O-005, O-028
    #[test]
    fn every_selector_of_a_proxy_selects_exactly_the_claims_own_proxy(
        one in plain_claim(),
        other in plain_claim(),
        class in sound_class(),
        hosts in hosts(),
    ) {
        prop_assume!(one.metadata.uid != other.metadata.uid);
        let built = |claim| {
            let mut world = connected(claim, class.clone(), &hosts);
            world.settle(at(62));
            world.store
        };
        let (one, other) = (built(one), built(other));
        prop_assume!(one.len() == 8 && other.len() == 8);
        let pod = |objects: &BTreeMap<ObjectKind, Value>, kind| {
            objects[&kind]["spec"]["template"]["metadata"]["labels"].clone()
        };
        for (mine, theirs) in [(&one, &other), (&other, &one)] {
            let policy = &mine[&ObjectKind::NetworkPolicy]["spec"];
            let rules = policy["egress"].as_array().unwrap();
            let way = rules.iter().find(|rule| rule["ports"][0]["port"] == 3128).unwrap();
            let entrance = &mine[&ObjectKind::EgressNetworkPolicy]["spec"]["ingress"][0];
            let of_proxy = [
                &mine[&ObjectKind::EgressDeployment]["spec"]["selector"]["matchLabels"],
                &mine[&ObjectKind::EgressService]["spec"]["selector"],
                &mine[&ObjectKind::EgressNetworkPolicy]["spec"]["podSelector"]["matchLabels"],
                &way["to"][0]["podSelector"]["matchLabels"],
            ];
            let of_sandbox = [
                &mine[&ObjectKind::Deployment]["spec"]["selector"]["matchLabels"],
                &mine[&ObjectKind::Service]["spec"]["selector"],
                &policy["podSelector"]["matchLabels"],
                &entrance["from"][0]["podSelector"]["matchLabels"],
            ];
            let (proxy, sandbox) = (ObjectKind::EgressDeployment, ObjectKind::Deployment);
            for (selectors, own, neighbour) in [(of_proxy, proxy, sandbox), (of_sandbox, sandbox, proxy)] {
                for selector in selectors {
                    prop_assert!(selects(selector, &pod(mine, own)), "{selector}");
                    prop_assert!(!selects(selector, &pod(mine, neighbour)), "{selector}");
                    prop_assert!(!selects(selector, &pod(theirs, own)), "{selector}");
                    prop_assert!(!selects(selector, &pod(theirs, neighbour)), "{selector}");
                }
            }
        }
    }

    // Proves: E-001, E-003, E-011
    #[test]
    fn a_proxy_stands_while_a_host_is_named_and_lets_through_what_is_named(
        claim in plain_claim(),
        class in sound_class(),
        steps in prop::collection::vec(prop::collection::vec(prop::option::of("[a-z]{1,8}\\.test"), 3), 1..5),
    ) {
        let first = ["a.test", "b.test", "c.test"].map(str::to_owned);
        let mut world = connected(claim, class, &first);
        world.settle(at(62));
        prop_assume!(world.store.contains_key(&ObjectKind::Deployment));
        world.pod_is(|pod| pod.ready = true);
        world.settle(at(63));
        for (step, hosts) in steps.into_iter().enumerate() {
            let bindings = world.observed.bindings.as_mut().unwrap();
            for (binding, host) in bindings.iter_mut().zip(&hosts) {
                let spec = |host| json!({"hosts": [host], "credential": {"kind": "none"}});
                binding.found = host.as_ref().map(|host| serde_json::from_value(spec(host)).unwrap());
            }
            let now = at(70 + 10 * i64::try_from(step).unwrap());
            world.settle(now);
            let named: BTreeSet<_> = hosts.into_iter().flatten().collect();
            let stands = ObjectKind::OF_PROXY.iter().filter(|kind| world.store.contains_key(kind));
            prop_assert_eq!(stands.count(), if named.is_empty() { 0 } else { 4 });
            if !named.is_empty() {
                let file = &world.store[&ObjectKind::EgressAllowlist]["data"]["allowlist.json"];
                let list: Value = serde_json::from_str(file.as_str().unwrap()).unwrap();
                prop_assert_eq!(list, json!({"hosts": named}));
            }
            let env = world.store[&ObjectKind::Deployment].to_string().contains("HTTPS_PROXY");
            prop_assert_eq!(env, world.store.contains_key(&ObjectKind::EgressService));
        }
    }

    // Proves: O-023, O-030
    #[test]
    fn no_rule_is_ever_without_peers_or_without_ports(
        claim in plain_claim(),
        class in sound_class(),
    ) {
        let objects = manifests(&world(claim, class));
        let spec = &objects[&ObjectKind::NetworkPolicy]["spec"];
        prop_assert_eq!(&spec["policyTypes"], &json!(["Ingress", "Egress"]));
        for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
            for rule in spec[rules].as_array().into_iter().flatten() {
                for list in [peers, "ports"] {
                    let entries = rule[list].as_array().map_or(0, Vec::len);
                    prop_assert!(entries > 0, "{rules} {list}: {rule}");
                }
                for peer in rule[peers].as_array().unwrap() {
                    let pods = peer["podSelector"]["matchLabels"].as_object();
                    let somebody = pods.is_some_and(|labels| !labels.is_empty());
                    let somewhere = peer["ipBlock"]["cidr"].is_string();
                    prop_assert!(somebody != somewhere, "{peer}");
                }
            }
        }
    }

    // Proves: O-040, C-033
    #[test]
    fn a_settled_claim_plans_nothing_and_any_class_renders_or_says_why(
        claim in claim(),
        class in class(),
    ) {
        let mut world = world(claim, class);
        world.settle(start());
        let plan = world.plan(at(60));
        prop_assert_eq!(&plan.ensure, &[]);
        prop_assert_eq!(&plan.delete, &[]);
        let (reason, message) = world.ready();
        prop_assert!(!reason.is_empty() && !message.is_empty());
        if let Verdict::Build(_) = plan.verdict {
            prop_assert_eq!(world.store.len(), 4);
            world.pod_is(|pod| pod.ready = true);
            world.settle(at(61));
            prop_assert_eq!(world.ready().0, "SandboxReady");
        } else {
            prop_assert_eq!(world.store.len(), 0);
        }
    }

    // Proves: C-033
    #[test]
    fn the_same_world_gets_the_same_plan(claim in claim(), class in class()) {
        let world = world(claim, class);
        prop_assert_eq!(world.plan(start()), world.clone().plan(start()));
    }
}
