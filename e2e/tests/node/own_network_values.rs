//! Installations that have to be told of the cluster's network: where its DNS is, and where on its way a
//! packet is judged. In packets: what a value opens, that it was needed, and that nothing else opens.

mod dialling;

use std::process::Command;

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::runtime::wait::{await_condition, conditions};
use sandgate_e2e::node_cluster::{Options, values};
use sandgate_e2e::pair::{GRACE, Pair};
use sandgate_e2e::real_node::{EVERYDAY, NODE_ADDRESS, OUTSIDE};
use sandgate_e2e::scene::Scene;
use sandgate_e2e::scene::manifests::{claim_with, hosts, service};
use sandgate_e2e::{Failure, NodeCluster, Outcome, manifests};
use sandgate_shared::render::Installation as Names;
use serde_json::{Value, json};

use dialling::{Targets, comes_to_get_all, comes_to_reach, dialling, got, labels, reaches, server};

use crate::own_egress::{SERVES, tunnel::is_refused};
use crate::workload::{bring_caller, class, cluster_ip, is_ready, until_called};

/// What every DNS of the cluster knows.
const NAME: &str = "kubernetes.default.svc.cluster.local";

/// The Service of the DNS that every real node has.
const DNS: &str = "10.96.0.10";

/// Values of an installation that is told this of its network. Its one pod hands over sooner than two.
fn told(network: &Value) -> Value {
    let operator = json!({ "sandboxAPI": { "claimPolicyGrace": format!("{}s", GRACE.as_secs()) } });
    values(&json!({ "replicas": 1, "network": network, "operator": operator }))
}

/// Tells the installation something else of its network.
async fn upgrade(cluster: &NodeCluster, network: &Value) -> Outcome {
    let names = Names::default();
    let (kubeconfig, values) = (&cluster.access().kubeconfig, told(network));
    let (release, namespace) = (&names.release, &names.namespace);
    // What it comes to is waited for by whoever asks.
    let upgraded = cluster
        .helm
        .upgrade(kubeconfig, release, namespace, &values, None);
    upgraded.await?;
    Ok(())
}

/// Makes a class whose sandboxes dial `targets`, and a user's claim of the same name.
async fn claims(scene: &Scene, name: &str, targets: &Targets, egress: &Value) -> Outcome {
    scene
        .claims_class(name, &dialling(name, targets, egress))
        .await
}

/// Starts a server and waits until it is ready; returns its address.
async fn serving(scene: &Scene, name: &str) -> Outcome<String> {
    scene.accepts(&server(name)).await?;
    let pod = scene.becomes(name, "is ready", is_ready).await?;
    let address = pod.status.and_then(|status| status.pod_ip);
    address.ok_or_else(|| Failure::saying(format!("{name} has no address")))
}

fn asks(resolver: &str) -> String {
    format!("dns:{resolver}:53/{NAME}")
}

// Proves: O-024, O-025, O-027, X-015
#[tokio::test]
async fn where_packets_are_judged_before_translation_services_are_reached_once_it_is_told()
-> Outcome {
    let mut options = Options {
        values: told(&json!({})),
        ..Options::default()
    };
    options.node.judges_before_translation = true;
    let cluster = Box::pin(NodeCluster::start(options)).await?;
    let scene = Scene::on(&cluster, "early").await?;
    let ports = json!([
        { "name": "listed", "port": 80, "targetPort": 8080 },
        { "name": "same-pods", "port": 81, "targetPort": 8080 },
    ]);
    // Its twin has the same pods, which are open: what keeps a sandbox from it is its address alone.
    let mut twin = service("twin", &ports);
    twin["spec"]["selector"] = json!({ "app": "mirror" });
    for service in [
        service("mirror", &ports),
        service("neighbour", &ports),
        twin,
    ] {
        scene.accepts(&service).await?;
    }
    let (pod, _, ()) = tokio::try_join!(
        serving(&scene, "mirror"),
        serving(&scene, "neighbour"),
        bring_caller(&scene),
    )?;
    let mirror = cluster_ip(&scene, "mirror").await?;
    let [twin, neighbour] = [
        cluster_ip(&scene, "twin").await?,
        cluster_ip(&scene, "neighbour").await?,
    ];
    let targets = [
        ("pod", format!("tcp:{pod}:8080")),
        ("other-port-of-the-pod", format!("tcp:{pod}:8081")),
        ("service", format!("tcp:{mirror}:80")),
        ("other-port", format!("tcp:{mirror}:81")),
        ("twin", format!("tcp:{twin}:80")),
        ("neighbour", format!("tcp:{neighbour}:80")),
        ("api-server", "tcp:10.96.0.1:443".to_owned()),
        ("outside", format!("tcp:{}:80", OUTSIDE[0])),
        ("dns", asks(DNS)),
        ("dns-by-tcp", format!("tcp:{DNS}:53")),
        ("node", format!("tcp:{NODE_ADDRESS}:6443")),
    ];
    let allowed = json!([{ "name": "mirror", "ports": [80] }]);
    let egress = json!({ "allowedServices": allowed, "dns": true });
    claims(&scene, "reaching", &targets, &egress).await?;
    claims(&scene, "shut", &targets, &json!({})).await?;
    let bound = scene.bound("reaching").await?;
    scene.bound("shut").await?;

    tokio::try_join!(
        comes_to_get_all(&scene, "neighbour", &targets),
        reaches(&scene, "reaching", labels(["pod"])),
    )?;

    let early = json!({ "judgesBeforeTranslation": true, "dns": { "addresses": [DNS] } });
    upgrade(&cluster, &early).await?;
    let open = labels(["pod", "service", "dns", "dns-by-tcp"]);
    let ever = comes_to_reach(&scene, "reaching", &open).await?;
    assert_eq!(ever, open);
    let sandbox = cluster_ip(&scene, "reaching-sandbox").await?;
    let sandbox = [("sandbox", format!("tcp:{sandbox}:8080"))];
    let (stranger, (), (), ()) = tokio::try_join!(
        got(&scene, "neighbour", &sandbox),
        until_called(&scene, &bound, true),
        reaches(&scene, "shut", labels([])),
        asks_its_proxy(&cluster, &scene),
    )?;
    assert_eq!(stranger, labels([]));
    Ok(())
}

/// A sandbox whose Connection names a host is answered by its proxy, at the address of the proxy's Service.
async fn asks_its_proxy(cluster: &NodeCluster, scene: &Scene) -> Outcome {
    Pair::ours(cluster).in_force().await?;
    scene.accepts(&hosts("site", &["site.test"])).await?;
    let fields = json!({
        "args": ["sh", "-c", SERVES],
        "connections": [{ "role": "site" }],
    });
    scene.accepts(&class("asking", EVERYDAY, &fields)).await?;
    let bound = json!({ "connections": [{ "role": "site", "connection": "site" }] });
    let operator = scene.operator().await?;
    operator
        .accepts(&claim_with("asking", "asking", &bound))
        .await?;
    scene.bound("asking").await?;
    is_refused(scene, "asking", "other.test:443", (403, "host-not-allowed")).await
}

/// Where NodeLocal DNSCache answers.
const NODE_LOCAL: &str = "169.254.20.10";

/// Brings two more resolvers: one in pods elsewhere, on another port, and one on the node itself.
async fn bring_resolvers(cluster: &NodeCluster) -> Outcome {
    let given = cluster.node.on_the_node(|| {
        let address = format!("{NODE_LOCAL}/32");
        Command::new("ip")
            .args(["address", "add", &address, "dev", "lo"])
            .status()
    })??;
    assert!(given.success());
    let both = manifests::parse(include_str!("own_network_values/dns.yaml"))?;
    manifests::apply(&cluster.client(), &both).await?;
    for name in ["dns", "node-local-dns"] {
        let deployments: Api<Deployment> = Api::namespaced(cluster.client(), "openshift-dns");
        let ready = conditions::is_deployment_completed();
        Box::pin(await_condition(deployments, name, ready)).await?;
    }
    Ok(())
}

/// A resolver in pods, as OpenShift has it, asked on these ports.
fn in_openshift(ports: &[u16]) -> Value {
    json!({ "dns": {
        "namespace": "openshift-dns",
        "podLabel": "dns.operator.openshift.io/daemonset-dns=default",
        "ports": ports,
    } })
}

// Proves: X-015, O-027
#[tokio::test]
async fn the_dns_is_reached_where_the_installation_says_it_is_by_whoever_asks_for_it() -> Outcome {
    let options = Options {
        values: told(&in_openshift(&[53])),
        ..Options::default()
    };
    let cluster = Box::pin(NodeCluster::start(options)).await?;
    let scene = Scene::on(&cluster, "dns").await?;
    tokio::try_join!(bring_resolvers(&cluster), serving(&scene, "neighbour"))?;
    let openshift = "10.96.0.53";
    let targets = [
        ("usual", asks(DNS)),
        ("openshift", asks(openshift)),
        ("openshift-by-tcp", format!("tcp:{openshift}:53")),
        ("node-local", asks(NODE_LOCAL)),
        ("node-local-by-tcp", format!("tcp:{NODE_LOCAL}:53")),
        ("other-port", format!("tcp:{NODE_LOCAL}:8181")),
        ("node", asks(&NODE_ADDRESS.to_string())),
        ("outside", format!("udp:{}:53", OUTSIDE[0])),
        ("metadata", "udp:169.254.169.254:53".to_owned()),
    ];
    claims(&scene, "asking", &targets, &json!({ "dns": true })).await?;
    claims(&scene, "shut", &targets, &json!({})).await?;
    scene.bound("asking").await?;
    scene.bound("shut").await?;
    // The resolver's pods are told right, and their port is not.
    tokio::try_join!(
        comes_to_get_all(&scene, "neighbour", &targets),
        reaches(&scene, "asking", labels([])),
    )?;

    let elsewhere = json!({ "dns": { "addresses": [NODE_LOCAL], "ports": [53, 5353] } });
    upgrade(&cluster, &elsewhere).await?;
    let first = labels(["usual", "node-local", "node-local-by-tcp"]);
    let ever = comes_to_reach(&scene, "asking", &first).await?;
    assert_eq!(ever, first);

    upgrade(&cluster, &in_openshift(&[5353])).await?;
    let second = labels(["openshift", "openshift-by-tcp"]);
    let ever = comes_to_reach(&scene, "asking", &second).await?;
    assert_eq!(ever, &first | &second);
    // What began while it was open stays open, and a datagram may look as if it had. A sandbox that is
    // made now has nothing of the kind.
    claims(&scene, "later", &targets, &json!({ "dns": true })).await?;
    scene.bound("later").await?;
    tokio::try_join!(
        reaches(&scene, "later", second),
        reaches(&scene, "shut", labels([])),
    )?;
    Ok(())
}
