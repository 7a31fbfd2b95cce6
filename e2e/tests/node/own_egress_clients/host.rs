//! The host that the clients fetch from: a pod that serves a page, and a repository with it, over TLS. Does
//! I/O.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::runtime::wait::await_condition;
use sandgate_e2e::namespace::DEADLINE;
use sandgate_e2e::pki::Authority;
use sandgate_e2e::{NodeCluster, Outcome, manifests};
use serde_json::{Value, json};

use crate::workload::is_ready;

/// What it is called.
pub const HOST: &str = "login.fixture.test";

/// What its page says.
pub const PAGE: &str = "the page of the fixture\n";

/// Where it is.
const NAMESPACE: &str = "default";

/// What all its objects are called there.
const NAME: &str = "login";

/// The Service that stands for it.
pub fn service() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": NAME, "namespace": NAMESPACE },
        "spec": {
            "selector": { "app": NAME },
            "ports": [{ "name": "https", "port": 443, "targetPort": 8443 }],
        },
    })
}

/// What the chart is told of it.
pub fn as_a_test_host() -> Value {
    json!({ "host": HOST, "namespace": NAMESPACE, "service": NAME })
}

/// Starts it of this image with a certificate of this authority, and waits until it serves.
pub async fn bring(cluster: &NodeCluster, image: &str, authority: &Authority) -> Outcome {
    let pair = authority.server(&[HOST])?;
    let files = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": NAME, "namespace": NAMESPACE },
        "data": {
            "page.html": PAGE,
            "serve.py": include_str!("serve.py"),
            "serve.sh": include_str!("serve.sh"),
            "tls.crt": pair.certificate,
            "tls.key": pair.key,
        },
    });
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": NAME, "namespace": NAMESPACE, "labels": { "app": NAME } },
        "spec": {
            "containers": [{
                "name": "main",
                "image": image,
                "args": ["sh", "/host/serve.sh"],
                "env": [{ "name": "HOME", "value": "/srv" }],
                "readinessProbe": { "tcpSocket": { "port": 8443 }, "periodSeconds": 1 },
                "volumeMounts": [
                    { "name": "host", "mountPath": "/host" },
                    { "name": "served", "mountPath": "/srv" },
                ],
            }],
            "volumes": [
                { "name": "host", "configMap": { "name": NAME } },
                { "name": "served", "emptyDir": {} },
            ],
        },
    });
    let client = cluster.client();
    manifests::apply(&client, &[files, pod]).await?;
    let pods: Api<Pod> = Api::namespaced(client, NAMESPACE);
    let ready = await_condition(pods, NAME, |pod: Option<&Pod>| pod.is_some_and(is_ready));
    tokio::time::timeout(DEADLINE, ready).await??;
    Ok(())
}
