//! Sandboxes that reach the hosts of their Connections through their own egress proxies, and nothing else:
//! in packets.

pub mod tunnel;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::ResourceExt;
use kube::api::DeleteParams;
use sandgate_e2e::node_cluster::image_name;
use sandgate_e2e::pair::Pair;
use sandgate_e2e::real_node::{EVERYDAY, OUTSIDE};
use sandgate_e2e::scene::manifests::{self, claim_with};
use sandgate_e2e::scene::{Scene, condition, phase};
use sandgate_e2e::{NodeCluster, Outcome, Writer};
use sandgate_shared::api::{ClaimPhase, Connection, SandboxClaim};
use sandgate_shared::names::{COMPONENT_EGRESS, COMPONENT_SANDBOX, EGRESS_ADMIN_PORT, EGRESS_PORT};
use serde_json::{Value, json};

use crate::test_host::{self, HOST as TEST_HOST, PORT};
use crate::workload::{class, cluster_ip, component_of, is_ready, ordinary_pod};
use tunnel::{Tunnel, asked, comes_to_get, gets, is_refused, refusal, succeed};

/// Within this time of an edit of a Connection its proxy does as it says.
const AT_ONCE: Duration = Duration::from_secs(5);

/// The Service of the cluster's DNS.
const DNS: &str = "10.96.0.10";

/// Of the API server, whose address is private.
const PRIVATE: &str = "kubernetes.default.svc.cluster.local";

/// What the hosts outside call themselves.
const OUT_THERE: &str = "outside";

/// What the test host calls itself.
const FIXTURE: &str = "fixture";

/// The pod that may read proxies' metrics.
const SCRAPER: &str = "scraper";

/// A workload that answers, and ends when it is told to.
pub const SERVES: &str =
    "httpd -p 8080 -h /; trap 'exit 0' TERM; while :; do busybox sleep 60 & wait $!; done";

/// Names of the three hosts outside.
struct Hosts {
    first: String,
    second: String,
    third: String,
}

/// Lets the cluster's DNS know the hosts outside, as hosts of public addresses.
async fn name_the_outside(scene: &Scene) -> Outcome<Hosts> {
    for (name, address) in ["first", "second", "third"].into_iter().zip(OUTSIDE) {
        let headless = json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": { "name": name },
            "spec": { "clusterIP": "None", "ports": [{ "name": "https", "port": 443 }] },
        });
        scene.accepts(&headless).await?;
        let at = json!({
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": { "name": name, "labels": { "kubernetes.io/service-name": name } },
            "addressType": "IPv4",
            "ports": [{ "name": "https", "port": 443 }],
            "endpoints": [{ "addresses": [address.to_string()] }],
        });
        scene.accepts(&at).await?;
    }
    let named = |name: &str| format!("{name}.{}.svc.cluster.local", scene.name());
    Ok(Hosts {
        first: named("first"),
        second: named("second"),
        third: named("third"),
    })
}

/// Makes a Connection that names a host.
async fn connection(scene: &Scene, name: &str, host: &str) -> Outcome {
    scene.accepts(&manifests::hosts(name, &[host])).await?;
    Ok(())
}

/// A claim that binds these Connections, once it is bound.
async fn bind(scene: &Scene, operator: &Writer, claim: &str, connections: [&str; 2]) -> Outcome {
    let roles = ["api", "site"].into_iter().zip(connections);
    let bindings = roles.map(|(role, name)| json!({ "role": role, "connection": name }));
    let fields = json!({ "connections": bindings.collect::<Vec<_>>() });
    operator
        .accepts(&claim_with(claim, "agent", &fields))
        .await?;
    scene.bound(claim).await?;
    Ok(())
}

fn address(pod: &Pod) -> String {
    let status = pod.status.as_ref().unwrap();
    status.pod_ip.clone().unwrap()
}

/// An ordinary pod that nobody shuts in, with its name as label `app`.
async fn bring(scene: &Scene, name: &str) -> Outcome {
    let fields = json!({ "image": EVERYDAY, "args": ["sh", "-c", SERVES] });
    let mut pod = ordinary_pod(name, &fields);
    pod["metadata"]["labels"] = json!({ "app": name });
    pod["spec"]["terminationGracePeriodSeconds"] = json!(1);
    scene.accepts(&pod).await?;
    scene.becomes(name, "is ready", is_ready).await?;
    Ok(())
}

/// A sandbox reaches its hosts by its own proxy, and nothing past it nor by another's.
async fn reaches_its_hosts_alone(cluster: &NodeCluster, scene: &Scene, hosts: &Hosts) -> Outcome {
    gets(scene, "left", &hosts.first, OUT_THERE).await?;
    gets(scene, "right", &hosts.second, OUT_THERE).await?;
    let not_named = (403, "host-not-allowed");
    is_refused(scene, "left", &format!("{}:443", hosts.second), not_named).await?;
    is_refused(scene, "right", &format!("{}:443", hosts.first), not_named).await?;
    is_refused(scene, "left", &format!("{}:443", OUTSIDE[0]), not_named).await?;
    is_refused(scene, "left", &format!("{TEST_HOST}:443"), not_named).await?;
    let other_port = format!("{}:80", hosts.first);
    is_refused(scene, "left", &other_port, (403, "port-not-allowed")).await?;
    let private = format!("{PRIVATE}:443");
    is_refused(scene, "left", &private, (403, "address-not-public")).await?;
    let plain = format!("GET http://{0}/ HTTP/1.1\r\nHost: {0}\r\n\r\n", hosts.first);
    let said = asked(scene, "left", &plain).await?;
    refusal("plain HTTP", &said, (405, "method-not-allowed"))?;

    let left = address(&component_of(scene, "left", COMPONENT_EGRESS).await?);
    let right = address(&component_of(scene, "right", COMPONENT_EGRESS).await?);
    let service = cluster_ip(scene, "right-egress").await?;
    let dial = |address: &str, port: u16| format!("busybox nc {address} {port}");
    let [first, second, _] = OUTSIDE.map(|it| it.to_string());
    let targets = [
        ("proxy-of-left", dial(&left, EGRESS_PORT)),
        ("admin-of-left", dial(&left, EGRESS_ADMIN_PORT)),
        ("proxy-of-right", dial(&right, EGRESS_PORT)),
        ("admin-of-right", dial(&right, EGRESS_ADMIN_PORT)),
        ("service-of-right", dial(&service, EGRESS_PORT)),
        ("first", dial(&first, 443)),
        ("second", dial(&second, 443)),
        ("dns-by-tcp", dial(DNS, 53)),
        ("dns", format!("busybox nslookup {} {DNS}", hosts.first)),
    ];
    let set =
        |labels: &[&str]| -> BTreeSet<String> { labels.iter().map(ToString::to_string).collect() };
    // They are there, for who is let through.
    let mut outside = set(&["first", "second", "dns-by-tcp", "dns"]);
    assert_eq!(succeed(scene, "neighbour", &targets).await?, outside);
    outside.append(&mut set(&["admin-of-left", "admin-of-right"]));
    assert_eq!(succeed(scene, SCRAPER, &targets).await?, outside);
    let own = [
        ("left", set(&["proxy-of-left"])),
        ("right", set(&["proxy-of-right", "service-of-right"])),
    ];
    for (claim, own) in own {
        let sandbox = format!("deploy/{claim}-sandbox");
        let reached = succeed(scene, &sandbox, &targets).await?;
        assert_eq!(reached, own, "{claim}");
    }

    let contacts = cluster.node.outside().contacts()?;
    for claim in ["left", "right"] {
        let sandbox = address(&component_of(scene, claim, COMPONENT_SANDBOX).await?);
        let proxy = address(&component_of(scene, claim, COMPONENT_EGRESS).await?);
        let came = |from: &str| contacts.iter().any(|it| it.from == from);
        assert!(!came(&sandbox), "{claim} came itself: {contacts:?}");
        assert!(came(&proxy), "{claim} never came: {contacts:?}");
    }
    Ok(())
}

/// An edit of a Connection opens and shuts hosts of the running proxy, and touches nothing else.
async fn follows_its_connections(scene: &Scene, hosts: &Hosts) -> Outcome {
    let before = (
        component_of(scene, "left", COMPONENT_SANDBOX).await?.uid(),
        component_of(scene, "left", COMPONENT_EGRESS).await?.uid(),
    );
    let bound = json!({ "spec": { "hosts": [hosts.first, hosts.second] } });
    scene.merge::<Connection>("left", bound).await?;
    comes_to_get(scene, "left", &hosts.second, OUT_THERE, Instant::now()).await?;
    let going = Tunnel::open(scene, "left", &hosts.first).await?;
    let mut staying = Tunnel::open(scene, "left", &hosts.second).await?;
    let edit = json!({ "spec": { "hosts": [hosts.second, hosts.third] } });
    let began = Instant::now();
    scene.merge::<Connection>("left", edit).await?;
    let (cut, opened) = tokio::try_join!(
        going.comes_to_be_cut(began, AT_ONCE),
        comes_to_get(scene, "left", &hosts.third, OUT_THERE, began)
    )?;
    println!("of an edit: the tunnel was cut after {cut:?}, the new host open after {opened:?}");
    assert!(opened < AT_ONCE, "{opened:?}");
    staying.carries().await?;
    let gone = format!("{}:443", hosts.first);
    is_refused(scene, "left", &gone, (403, "host-not-allowed")).await?;
    let after = (
        component_of(scene, "left", COMPONENT_SANDBOX).await?.uid(),
        component_of(scene, "left", COMPONENT_EGRESS).await?.uid(),
    );
    assert_eq!(after, before, "nothing was started anew");
    staying.carries().await
}

/// A Secret that goes takes the hosts of its Connection along; with the last host the proxy goes.
async fn loses_what_goes(scene: &Scene, operator: &Writer, hosts: &Hosts) -> Outcome {
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": "forge" },
        "stringData": { "token": "of-a-test" },
    });
    scene.accepts(&secret).await?;
    let mut forge = manifests::hosts("forge", &[&hosts.first]);
    forge["spec"]["credential"] = json!({ "kind": "secret", "secretRef": { "name": "forge" } });
    scene.accepts(&forge).await?;
    connection(scene, "mirror", &hosts.second).await?;
    bind(scene, operator, "losing", ["forge", "mirror"]).await?;
    let forge = Tunnel::open(scene, "losing", &hosts.first).await?;
    let mut mirror = Tunnel::open(scene, "losing", &hosts.second).await?;
    let how = DeleteParams::default();
    let began = Instant::now();
    scene.api::<Secret>().delete("forge", &how).await?;
    let cut = forge.comes_to_be_cut(began, AT_ONCE).await?;
    mirror.carries().await?;
    let gone = format!("{}:443", hosts.first);
    is_refused(scene, "losing", &gone, (403, "host-not-allowed")).await?;
    let says = |claim: &SandboxClaim| {
        let current = condition(claim, "ConnectionsCurrent");
        let told = current.is_some_and(|it| (it.0, it.1) == ("False", "ConnectionSecretNotFound"));
        told && phase(claim) == Some(ClaimPhase::Bound)
    };
    scene
        .becomes("losing", "is Bound and tells of its Secret", says)
        .await?;

    let began = Instant::now();
    scene.api::<Connection>().delete("mirror", &how).await?;
    // Without any host the sandbox is started anew, too.
    let (last, _) = mirror.ends(began, AT_ONCE).await?;
    println!(
        "a tunnel was cut {cut:?} after its Secret went, the last {last:?} after its Connection"
    );
    scene.vanishes::<Deployment>("losing-egress").await
}

/// The pod behind the test host.
fn fixture() -> Value {
    let serve = format!("--name={FIXTURE}");
    let ports = [PORT, PORT + 1].map(|port| format!("--tcp={port}"));
    test_host::pod(&json!({ "containers": [{
        "name": "main",
        "image": image_name(),
        "args": ["/sandgate-probe", "serve", serve, ports[0], ports[1]],
    }] }))
}

/// A test host is reached through the proxy of who names it, at a private address.
async fn reaches_a_test_host(scene: &Scene, operator: &Writer, hosts: &Hosts) -> Outcome {
    connection(scene, "login", TEST_HOST).await?;
    connection(scene, "beside", &hosts.third).await?;
    bind(scene, operator, "tested", ["login", "beside"]).await?;
    gets(scene, "tested", TEST_HOST, FIXTURE).await?;
    gets(scene, "tested", &hosts.third, OUT_THERE).await?;
    let other_port = format!("{TEST_HOST}:{}", PORT + 1);
    is_refused(scene, "tested", &other_port, (403, "port-not-allowed")).await?;
    scene
        .becomes(
            "tested",
            "tells of its test host",
            |claim: &SandboxClaim| {
                let told = condition(claim, "InsecureEgressTestHosts");
                told.is_some_and(|it| (it.0, it.1) == ("True", "InsecureEgressTestHostsEnabled"))
            },
        )
        .await?;
    Ok(())
}

/// A node on which one host is a test host, and a namespace with a class whose roles bind Connections.
async fn start() -> Outcome<(NodeCluster, Scene, Hosts, Writer)> {
    let mut options = test_host::options();
    options.prepared.push(fixture());
    let from = json!([{ "podSelector": { "matchLabels": { "app": SCRAPER } } }]);
    options.values["sandbox"]["egressProxy"]["metricsFrom"] = from;
    let cluster = Box::pin(NodeCluster::start(options)).await?;
    let scene = Scene::on(&cluster, "egress").await?;
    let hosts = name_the_outside(&scene).await?;
    let fields = json!({
        "args": ["sh", "-c", SERVES],
        "connections": [{ "role": "api" }, { "role": "site" }],
    });
    scene.accepts(&class("agent", EVERYDAY, &fields)).await?;
    Pair::ours(&cluster).in_force().await?;
    let operator = scene.operator().await?;
    Ok((cluster, scene, hosts, operator))
}

// Proves: E-003, E-004, E-008, E-009, E-011, E-017, E-018, E-019, E-022, E-029
#[tokio::test]
async fn a_sandbox_reaches_the_hosts_of_its_connections_through_its_own_proxy_and_nothing_else()
-> Outcome {
    let (mut cluster, scene, hosts, operator) = Box::pin(start()).await?;
    tokio::try_join!(bring(&scene, "neighbour"), bring(&scene, SCRAPER))?;
    connection(&scene, "left", &hosts.first).await?;
    connection(&scene, "private", PRIVATE).await?;
    connection(&scene, "right", &hosts.second).await?;
    tokio::try_join!(
        bind(&scene, &operator, "left", ["left", "private"]),
        bind(&scene, &operator, "right", ["right", "private"]),
    )?;
    reaches_its_hosts_alone(&cluster, &scene, &hosts).await?;
    follows_its_connections(&scene, &hosts).await?;
    cluster.check()
}

// Proves: E-001, E-012, E-030, E-031, E-036, K-031
#[tokio::test]
async fn hosts_go_with_their_secret_and_a_test_host_is_reached_by_whoever_names_it() -> Outcome {
    let (mut cluster, scene, hosts, operator) = Box::pin(start()).await?;
    loses_what_goes(&scene, &operator, &hosts).await?;
    reaches_a_test_host(&scene, &operator, &hosts).await?;
    cluster.check()
}
