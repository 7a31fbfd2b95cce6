//! An installation whose cluster DNS is elsewhere, and whose network judges packets to a Service before
//! the Service's address is translated.

use k8s_openapi::api::core::v1::Service;
use kube::api::DeleteParams;
use sandgate_e2e::{Cluster, Options, Outcome, Stage};
use serde_json::{Value, json};

use crate::egress::{allowing, opens, rule};
use crate::manifests::{class_with, service};
use crate::scene::Scene;

/// Where the Service is reached by whoever resolves its name.
async fn address(scene: &Scene, name: &str) -> Outcome<String> {
    let service = scene.get::<Service>(name).await?;
    Ok(service["spec"]["clusterIP"].as_str().unwrap().to_owned())
}

/// The rule for that address, and for no other.
fn at(address: &str, port: u16) -> Value {
    json!({
        "to": [{ "ipBlock": { "cidr": format!("{address}/32") } }],
        "ports": [{ "port": port, "protocol": "TCP" }],
    })
}

// Proves: X-015, O-024, O-025, O-027, O-039
#[tokio::test]
async fn a_sandbox_reaches_the_dns_and_the_addresses_of_services_that_the_installation_names()
-> Outcome {
    let mut options = Options::default();
    let arguments = [
        "--dns-namespace=openshift-dns",
        "--dns-pod-label=dns.operator.openshift.io/daemonset-dns=default",
        "--dns-port=5353",
        "--dns-address=169.254.20.10",
        "--dns-address=fd00:10::/120",
        "--judges-before-translation",
    ];
    options.installation.controller_arguments = arguments.map(str::to_owned).into();
    let cluster = Cluster::own(options).await?;
    let scene = Scene::on(&cluster, "values").await?;
    let ports = json!([{ "name": "https", "port": 443, "targetPort": 8443 }]);
    scene.accepts(&service("mirror", &ports)).await?;
    let mut headless = service("headless", &ports);
    headless["spec"]["clusterIP"] = json!("None");
    scene.accepts(&headless).await?;
    let services = json!([
        { "name": "mirror", "ports": [443] },
        { "name": "headless", "ports": [443] },
    ]);
    let class = class_with("reaching", Stage::Ready, &allowing(&services, true));
    scene.claims_class("reaching", &class).await?;
    scene.bound("reaching").await?;
    let dns = json!({
        "to": [
            {
                "namespaceSelector": {
                    "matchLabels": { "kubernetes.io/metadata.name": "openshift-dns" },
                },
                "podSelector": { "matchLabels": {
                    "dns.operator.openshift.io/daemonset-dns": "default",
                } },
            },
            { "ipBlock": { "cidr": "169.254.20.10/32" } },
            { "ipBlock": { "cidr": "fd00:10::/120" } },
        ],
        "ports": [{ "port": 5353, "protocol": "UDP" }, { "port": 5353, "protocol": "TCP" }],
    });
    let rules = |mirror: &str| {
        json!([
            rule(scene.name(), "mirror", &[json!(8443)]),
            at(mirror, 443),
            rule(scene.name(), "headless", &[json!(8443)]),
            dns,
        ])
    };
    let before = address(&scene, "mirror").await?;
    opens(&scene, "reaching", &rules(&before)).await?;

    // Made again, while somebody else has its address.
    let how = DeleteParams::default();
    scene.api::<Service>().delete("mirror", &how).await?;
    let mut squatter = service("squatter", &ports);
    squatter["spec"]["clusterIP"] = json!(before);
    scene.accepts(&squatter).await?;
    scene.accepts(&service("mirror", &ports)).await?;
    let after = address(&scene, "mirror").await?;
    assert_ne!(after, before);
    opens(&scene, "reaching", &rules(&after)).await?;
    Ok(())
}
