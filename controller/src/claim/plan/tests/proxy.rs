//! What an egress proxy is made of, and what its sandbox is told of it.

use ipnet::IpNet;
use rstest::rstest;
use sandgate_shared::net::address::public_networks;
use serde_json::{Value, json};

use super::connections::world;
use super::egress::{egress, port, serves, target};
use super::world::{CLAIM_UID, World, at};
use crate::claim::observed::{Lookup, ObjectKind, Target};

const NAME: &str = "my-agent-sbx-7k2qp-egress";

/// A world whose claim has all its objects.
fn built(mut world: World) -> World {
    world.settle(at(62));
    world
}

fn of_proxy() -> Value {
    json!({
        "omnia.altairalabs.ai/sandbox-claim": "my-agent-sbx-7k2qp",
        "omnia.altairalabs.ai/component": "egress",
        "omnia.altairalabs.ai/sandbox-claim-uid": CLAIM_UID,
    })
}

/// The variables of the sandbox by name.
fn variables(world: &World) -> Vec<(String, String)> {
    let container =
        &world.store[&ObjectKind::Deployment]["spec"]["template"]["spec"]["containers"][0];
    let env = container["env"].as_array().unwrap().iter();
    let literal = env.filter_map(|it| {
        let value = it["value"].as_str()?;
        Some((it["name"].as_str().unwrap().to_owned(), value.to_owned()))
    });
    literal.collect()
}

fn variable(world: &World, name: &str) -> Option<String> {
    let all = variables(world).into_iter();
    let mut found = all
        .filter(|(found, _)| found == name)
        .map(|(_, value)| value);
    let first = found.next();
    assert_eq!(found.next(), None, "{name} is set twice");
    first
}

// Proves: E-002
#[test]
fn it_is_four_objects_of_one_name_that_the_claim_owns() {
    let world = built(world());
    for kind in ObjectKind::OF_PROXY {
        let metadata = &world.store[kind]["metadata"];
        assert_eq!(metadata["name"], NAME, "{kind:?}");
        assert_eq!(metadata["ownerReferences"][0]["uid"], CLAIM_UID, "{kind:?}");
        assert_eq!(metadata["ownerReferences"][0]["controller"], true);
        let component = &metadata["labels"]["omnia.altairalabs.ai/component"];
        assert_eq!(component, "egress");
    }
    let deployment = &world.store[&ObjectKind::EgressDeployment]["spec"];
    assert_eq!(deployment["replicas"], 1);
    assert_eq!(deployment["strategy"], json!({"type": "Recreate"}));
    let service = &world.store[&ObjectKind::EgressService]["spec"];
    assert_eq!(service["selector"], of_proxy());
    assert_eq!(
        service["ports"],
        json!([{"name": "proxy", "port": 3128, "targetPort": 3128, "protocol": "TCP"}])
    );
}

// Proves: E-003, E-007, E-014
#[test]
fn its_pod_is_restricted_has_no_token_and_runs_from_the_operator_s_image() {
    let mut world = world();
    world.settings.egress.image = "registry.test/sandgate@sha256:abc".to_owned();
    world.settings.egress.deny = vec!["34.118.224.0/20".parse().unwrap()];
    let world = built(world);
    let template = &world.store[&ObjectKind::EgressDeployment]["spec"]["template"];
    let mut pod = template["spec"].clone();
    pod.as_object_mut().unwrap().remove("restartPolicy");
    let probe = |path: &str, period: i32| json!({"httpGet": {"path": path, "port": 8083}, "periodSeconds": period});
    assert_eq!(
        pod,
        json!({
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "terminationGracePeriodSeconds": 40,
            "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{
                "name": "egress",
                "image": "registry.test/sandgate@sha256:abc",
                "imagePullPolicy": "IfNotPresent",
                "command": ["/sandgate-egress"],
                "args": [
                    "--listen=[::]:3128",
                    "--admin-listen=[::]:8083",
                    "--allowlist=/etc/sandgate-egress/allowlist.json",
                    "--drain=37s",
                    "--deny-cidr=34.118.224.0/20",
                ],
                "ports": [
                    {"name": "proxy", "containerPort": 3128, "protocol": "TCP"},
                    {"name": "admin", "containerPort": 8083, "protocol": "TCP"},
                ],
                "livenessProbe": probe("/healthz", 10),
                "readinessProbe": probe("/readyz", 1),
                "resources": {
                    "requests": {"cpu": "10m", "memory": "32Mi"},
                    "limits": {"cpu": "1", "memory": "128Mi"},
                },
                "securityContext": {
                    "allowPrivilegeEscalation": false,
                    "capabilities": {"drop": ["ALL"]},
                    "readOnlyRootFilesystem": true,
                },
                "terminationMessagePolicy": "FallbackToLogsOnError",
                "volumeMounts": [
                    {"name": "allowlist", "mountPath": "/etc/sandgate-egress", "readOnly": true},
                ],
            }],
            "volumes": [{"name": "allowlist", "configMap": {"name": NAME, "defaultMode": 0o444}}],
        })
    );
    let sandbox = &world.store[&ObjectKind::Deployment]["spec"]["template"]["spec"];
    assert_eq!(
        sandbox.get("terminationGracePeriodSeconds"),
        None,
        "30 s, as always"
    );
}

// Proves: E-010, O-037
#[test]
fn no_selector_of_the_sandbox_selects_its_pod_and_none_of_its_own_the_sandbox_s() {
    let world = built(world());
    let labels = |kind| world.store[&kind]["spec"]["template"]["metadata"]["labels"].clone();
    let (sandbox, proxy) = (
        labels(ObjectKind::Deployment),
        labels(ObjectKind::EgressDeployment),
    );
    let selects = |selector: &Value, pod: &Value| {
        let mut wanted = selector.as_object().unwrap().iter();
        wanted.all(|(key, value)| pod.get(key) == Some(value))
    };
    let selectors = |deployment, service, policy| {
        [
            world.store[&deployment]["spec"]["selector"]["matchLabels"].clone(),
            world.store[&service]["spec"]["selector"].clone(),
            world.store[&policy]["spec"]["podSelector"]["matchLabels"].clone(),
        ]
    };
    for selector in selectors(
        ObjectKind::Deployment,
        ObjectKind::Service,
        ObjectKind::NetworkPolicy,
    ) {
        assert!(
            selects(&selector, &sandbox) && !selects(&selector, &proxy),
            "{selector}"
        );
    }
    for selector in selectors(
        ObjectKind::EgressDeployment,
        ObjectKind::EgressService,
        ObjectKind::EgressNetworkPolicy,
    ) {
        assert!(
            selects(&selector, &proxy) && !selects(&selector, &sandbox),
            "{selector}"
        );
    }
    let baseline = &world.store[&ObjectKind::Baseline]["spec"]["podSelector"]["matchLabels"];
    assert!(
        selects(baseline, &proxy),
        "shut until its own policy stands"
    );
}

// Proves: E-003, E-013
#[test]
fn its_allowlist_is_the_union_of_the_hosts_of_all_kinds_of_connections() {
    let mut world = world();
    let hosts = |world: &mut World, at: usize, hosts: Value, credential: Value| {
        let spec = json!({"hosts": hosts, "credential": credential});
        let binding = &mut world.observed.bindings.as_mut().unwrap()[at];
        binding.found = Some(serde_json::from_value(spec).unwrap());
        binding.secret = None;
    };
    hosts(
        &mut world,
        0,
        json!(["*.example.com", "api.github.com"]),
        json!({"kind": "none"}),
    );
    let session = json!({"kind": "browserSession", "browserSession": {"encryption": {"kmsProvider": "local", "keyID": "k"}}});
    hosts(
        &mut world,
        1,
        json!(["portal.test", "api.github.com"]),
        session,
    );
    let roles = json!([{"role": "vcs", "session": {}}, {"role": "ticket"}]);
    world.class_mut().connections = serde_json::from_value(roles).unwrap();
    let world = built(world);
    let file = &world.store[&ObjectKind::EgressAllowlist]["data"];
    assert_eq!(
        file,
        &json!({"allowlist.json": r#"{"hosts":["*.example.com","api.github.com","portal.test"]}"#})
    );
}

// Proves: E-008, E-009
#[test]
fn its_policy_lets_its_own_sandbox_in_and_dns_and_public_https_out() {
    let world = built(world());
    let policy = &world.store[&ObjectKind::EgressNetworkPolicy]["spec"];
    assert_eq!(policy["podSelector"]["matchLabels"], of_proxy());
    assert_eq!(policy["policyTypes"], json!(["Ingress", "Egress"]));
    let sandbox = world.store[&ObjectKind::NetworkPolicy]["spec"]["podSelector"].clone();
    assert_eq!(
        policy["ingress"],
        json!([{"from": [{"podSelector": sandbox}], "ports": [{"protocol": "TCP", "port": 3128}]}])
    );
    let rules = policy["egress"].as_array().unwrap();
    assert_eq!(rules.len(), 2);
    assert_eq!(
        rules[0]["to"][0]["podSelector"]["matchLabels"],
        json!({"k8s-app": "kube-dns"})
    );
    assert_eq!(rules[1]["ports"], json!([{"protocol": "TCP", "port": 443}]));
    let blocks = rules[1]["to"].as_array().unwrap();
    for (block, public) in blocks.iter().zip(public_networks()) {
        assert_eq!(block["ipBlock"]["cidr"], public.network.to_string());
        let except: Vec<String> =
            serde_json::from_value(block["ipBlock"]["except"].clone()).unwrap();
        let except: Vec<IpNet> = except.iter().map(|it| it.parse().unwrap()).collect();
        let left_out = |net: &IpNet| except.iter().any(|it| it.contains(net));
        assert!(public.except.iter().all(left_out), "{except:?}");
        assert!(
            except
                .iter()
                .all(|it| public.network.contains(it) && *it != public.network)
        );
    }
    assert_eq!(blocks.len(), 2);
}

// Proves: E-009
#[test]
fn networks_that_the_cluster_keeps_for_itself_are_left_out_of_what_is_public() {
    let mut world = world();
    let denied = [
        "34.118.224.0/20",
        "2600:1900::/28",
        "10.1.0.0/16",
        "fd00::/8",
    ];
    world.settings.egress.deny = denied.map(|it| it.parse().unwrap()).into();
    let world = built(world);
    let blocks = &world.store[&ObjectKind::EgressNetworkPolicy]["spec"]["egress"][1]["to"];
    let except = |at: usize| blocks[at]["ipBlock"]["except"].as_array().unwrap().clone();
    assert!(except(0).contains(&json!("34.118.224.0/20")));
    assert!(
        !except(0).contains(&json!("10.1.0.0/16")),
        "in one that is left out"
    );
    assert!(except(1).contains(&json!("2600:1900::/28")));
    assert!(!except(1).contains(&json!("fd00::/8")), "no part of it");
}

// Proves: E-009
#[rstest]
#[case::a_family(&["::/0"], Some("0.0.0.0/0"))]
#[case::as_it_is_given_out(&["2000::/3"], Some("0.0.0.0/0"))]
#[case::in_halves(&["0.0.0.0/1", "128.0.0.0/1"], Some("2000::/3"))]
#[case::everything(&["0.0.0.0/0", "::/0"], None)]
fn a_network_that_the_cluster_keeps_whole_is_not_opened(
    #[case] denied: &[&str],
    #[case] left: Option<&str>,
) {
    let mut world = world();
    world.settings.egress.deny = denied.iter().map(|it| it.parse().unwrap()).collect();
    let world = built(world);
    let rules = &world.store[&ObjectKind::EgressNetworkPolicy]["spec"]["egress"];
    let blocks = rules[1]["to"].as_array().into_iter().flatten();
    let networks: Vec<_> = blocks.map(|it| &it["ipBlock"]["cidr"]).collect();
    assert_eq!(networks, left.iter().collect::<Vec<_>>());
}

// The way of the metrics, which nobody has unless he is named.
#[test]
fn its_metrics_are_read_by_those_that_the_installation_names_alone() {
    let mut world = world();
    let peer = json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}});
    world.settings.egress.metrics_from = serde_json::from_value(json!([peer])).unwrap();
    let world = built(world);
    let policy = &world.store[&ObjectKind::EgressNetworkPolicy]["spec"];
    assert_eq!(
        policy["ingress"][1],
        json!({"from": [peer], "ports": [{"protocol": "TCP", "port": 8083}]})
    );
}

// Proves: O-028
#[rstest]
#[case::by_pods(false, None)]
#[case::by_the_service_s_address_too(true, Some("10.96.0.7/32"))]
fn the_sandbox_is_let_out_to_its_own_proxy_alone(
    #[case] judges_before_translation: bool,
    #[case] address: Option<&str>,
) {
    let mut world = world();
    egress(&mut world, json!(null));
    world.settings.judges_before_translation = judges_before_translation;
    let world = built(world);
    let mut to = vec![json!({"podSelector": {"matchLabels": of_proxy()}})];
    to.extend(address.map(|cidr| json!({"ipBlock": {"cidr": cidr}})));
    assert_eq!(
        world.store[&ObjectKind::NetworkPolicy]["spec"]["egress"],
        json!([{"to": to, "ports": [{"protocol": "TCP", "port": 3128}]}])
    );
}

// Proves: E-004
#[rstest]
#[case("10.96.0.7", "http://10.96.0.7:3128")]
#[case("fd00:10::7", "http://[fd00:10::7]:3128")]
fn the_sandbox_finds_it_by_the_cluster_ip_of_its_service(#[case] address: &str, #[case] url: &str) {
    let mut world = world();
    world.service_address = address.to_owned();
    let world = built(world);
    for name in ["HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"] {
        assert_eq!(variable(&world, name).as_deref(), Some(url), "{name}");
    }
    let annotations = &world.store[&ObjectKind::Deployment]["metadata"]["annotations"];
    let told = annotations["omnia.altairalabs.ai/egress-proxy"].as_str();
    assert_eq!(told, url.strip_prefix("http://"));
}

// Proves: E-004
#[test]
fn a_variable_of_the_class_does_not_stand_in_the_proxy_s_place() {
    let mut world = world();
    let env = json!([{"name": "HOME", "value": "/sandbox-cache"}, {"name": "HTTPS_PROXY", "value": "http://elsewhere.test"}]);
    world.class_mut().env = serde_json::from_value(env).unwrap();
    let world = built(world);
    let url = variable(&world, "HTTPS_PROXY");
    assert_eq!(url.as_deref(), Some("http://10.96.0.7:3128"));
}

// Proves: E-005, E-006
#[test]
fn this_machine_names_of_the_cluster_and_allowed_services_are_reached_without_it() {
    let mut world = world();
    world.settings.cluster_domain = "cluster.example".to_owned();
    let named = json!({"allowedServices": [
        {"name": "artifact-mirror", "ports": [443]},
        {"name": "db", "namespace": "data", "ports": [5432]},
        {"name": "gone", "namespace": "data", "ports": [80]},
    ]});
    egress(&mut world, named);
    let ports = vec![port(5432, Target::Number(5432), "TCP")];
    serves(&mut world, "data", "db", target(ports));
    serves(&mut world, "data", "gone", Lookup::Missing);
    let world = built(world);
    let direct = variable(&world, "NO_PROXY").unwrap();
    assert_eq!(variable(&world, "no_proxy").as_ref(), Some(&direct));
    let direct: Vec<_> = direct.split(',').collect();
    for name in [
        "localhost",
        "127.0.0.1",
        "::1",
        ".svc",
        ".cluster.example",
        "artifact-mirror.my-agents",
        "artifact-mirror",
        "10.96.0.9",
        "db.data",
        "10.96.0.10",
        "fd00:10::10",
        "gone.data",
    ] {
        assert!(direct.contains(&name), "{name}: {direct:?}");
    }
    assert!(
        !direct.contains(&"db"),
        "a short name means this namespace's"
    );
    assert!(!direct.contains(&"gone"));
}

// Proves: E-001
#[test]
fn a_claim_without_connections_has_none_and_is_told_of_none() {
    let world = World::bound();
    assert!(world.store.keys().all(|kind| !kind.is_of_proxy()));
    assert_eq!(variable(&world, "HTTPS_PROXY"), None);
    assert_eq!(variable(&world, "NO_PROXY"), None);
    let deployment = &world.store[&ObjectKind::Deployment]["metadata"];
    let told = &deployment["annotations"]["omnia.altairalabs.ai/egress-proxy"];
    assert_eq!(told, &Value::Null);
}

// Proves: E-002
#[test]
fn a_foreign_object_of_its_name_fails_a_claim_that_is_to_have_one_and_no_other() {
    let foreign = |world: &mut World| {
        let object = json!({"metadata": {"name": NAME, "namespace": "my-agents"}, "spec": {}});
        world.put(ObjectKind::EgressService, object);
        world.look();
    };
    let mut connected = world();
    foreign(&mut connected);
    connected.settle(at(62));
    let (reason, message) = connected.ready();
    assert_eq!(reason, "NameConflict");
    assert!(message.contains(&format!("Service {NAME}")), "{message}");
    assert!(
        connected.store.contains_key(&ObjectKind::EgressService),
        "left alone"
    );
    let mut plain = World::codegen();
    foreign(&mut plain);
    plain.settle(at(62));
    assert_eq!(plain.ready().0, "SandboxStarting");
}
