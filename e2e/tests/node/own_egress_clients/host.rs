//! The host that the clients fetch from: a pod that serves a page, and a repository with it, over TLS. Does
//! I/O.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::runtime::wait::await_condition;
use sandgate_e2e::namespace::DEADLINE;
use sandgate_e2e::pki::Authority;
use sandgate_e2e::{NodeCluster, Outcome, manifests};
use serde_json::json;

use crate::test_host::{self, HOST, NAME, NAMESPACE, PORT};
use crate::workload::is_ready;

/// What its page says.
pub const PAGE: &str = "the page of the fixture\n";

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
    let pod = test_host::pod(&json!({
        "containers": [{
            "name": "main",
            "image": image,
            "args": ["sh", "/host/serve.sh"],
            "env": [{ "name": "HOME", "value": "/srv" }],
            "readinessProbe": { "tcpSocket": { "port": PORT }, "periodSeconds": 1 },
            "volumeMounts": [
                { "name": "host", "mountPath": "/host" },
                { "name": "served", "mountPath": "/srv" },
            ],
        }],
        "volumes": [
            { "name": "host", "configMap": { "name": NAME } },
            { "name": "served", "emptyDir": {} },
        ],
    }));
    let client = cluster.client();
    manifests::apply(&client, &[files, pod]).await?;
    let pods: Api<Pod> = Api::namespaced(client, NAMESPACE);
    let ready = await_condition(pods, NAME, |pod: Option<&Pod>| pod.is_some_and(is_ready));
    tokio::time::timeout(DEADLINE, ready).await??;
    Ok(())
}
