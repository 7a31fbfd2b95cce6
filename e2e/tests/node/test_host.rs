//! A host that a Service of the cluster stands for, at a private address: what a node starts with so that
//! proxies let sandboxes reach it. Pure.

use sandgate_e2e::node_cluster::Options;
use sandgate_e2e::pair::GRACE;
use serde_json::{Value, json};

/// What it is called.
pub const HOST: &str = "login.fixture.test";

/// Where its Service and the pod behind that are.
pub const NAMESPACE: &str = "default";

/// What both are called there, and the pod's label `app`.
pub const NAME: &str = "login";

/// Of the pod behind it.
pub const PORT: u16 = 8443;

fn service() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": NAME, "namespace": NAMESPACE },
        "spec": {
            "selector": { "app": NAME },
            "ports": [{ "name": "https", "port": 443, "targetPort": PORT }],
        },
    })
}

/// A pod behind it.
pub fn pod(spec: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": NAME, "namespace": NAMESPACE, "labels": { "app": NAME } },
        "spec": spec,
    })
}

/// A node on which it is a test host, and whose operator soon believes its own claims.
pub fn options() -> Options {
    Options {
        prepared: vec![service()],
        values: json!({
            "operator": { "sandboxAPI": { "claimPolicyGrace": format!("{}s", GRACE.as_secs()) } },
            "sandbox": { "egressProxy": {
                "acknowledgeInsecureTestOnly": true,
                "insecureTestHosts": [
                    { "host": HOST, "namespace": NAMESPACE, "service": NAME },
                ],
            } },
        }),
        ..Options::default()
    }
}
