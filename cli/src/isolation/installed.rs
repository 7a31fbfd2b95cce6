//! The Sandgate that is installed: its image, and what its controller was told of the cluster. Pure.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Container;

/// Labels of the operator's Deployment.
pub const LABELS: &str = "app.kubernetes.io/name=sandgate,app.kubernetes.io/component=operator";

/// What is read of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Its image, which holds the probe too.
    pub image: String,
    /// Label of an agent runtime's pods.
    pub runtime_pod_label: String,
    /// Namespace of the cluster's DNS.
    pub dns_namespace: String,
    /// Labels of its pods.
    pub dns_pod_labels: BTreeMap<String, String>,
    /// The cluster's DNS domain.
    pub cluster_domain: String,
}

/// Reads the Deployment; `None` if it is none of the operator.
pub fn read(deployment: &Deployment) -> Option<Installed> {
    let pod = deployment.spec.as_ref()?.template.spec.as_ref()?;
    let controller = pod.containers.iter().find(|container| {
        let mut words = words(container);
        words.any(|word| word.ends_with("sandgate-controller"))
    });
    let controller = controller.or_else(|| pod.containers.first())?;
    let told = |flag: &str, variable: &str, default: &str| {
        value(controller, flag, variable).unwrap_or_else(|| default.to_owned())
    };
    let labels = told(
        "--dns-pod-label",
        "SANDGATE_DNS_POD_LABEL",
        "k8s-app=kube-dns",
    );
    let labels = labels.split(',').filter_map(|pair| pair.split_once('='));
    Some(Installed {
        image: controller.image.clone()?,
        runtime_pod_label: told(
            "--runtime-pod-label",
            "SANDGATE_RUNTIME_POD_LABEL",
            "omnia.altairalabs.ai/agent-runtime",
        ),
        dns_namespace: told("--dns-namespace", "SANDGATE_DNS_NAMESPACE", "kube-system"),
        dns_pod_labels: labels
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect(),
        cluster_domain: told(
            "--cluster-domain",
            "SANDGATE_CLUSTER_DOMAIN",
            "cluster.local",
        ),
    })
}

fn words(container: &Container) -> impl Iterator<Item = &String> {
    let command = container.command.iter().flatten();
    command.chain(container.args.iter().flatten())
}

/// The value of a flag (`--flag value` or `--flag=value`), else of its variable.
fn value(container: &Container, flag: &str, variable: &str) -> Option<String> {
    let words: Vec<&str> = words(container).map(String::as_str).collect();
    let joined = words
        .iter()
        .find_map(|word| word.strip_prefix(flag)?.strip_prefix('='));
    let apart = || {
        let at = words.iter().position(|word| *word == flag)?;
        words.get(at + 1).copied()
    };
    let flagged = joined.or_else(apart).map(str::to_owned);
    flagged.or_else(|| {
        let mut variables = container.env.iter().flatten();
        let found = variables.find(|found| found.name == variable)?;
        found.value.clone()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_controller_was_told_is_read_from_flags_and_variables() {
        let deployment: Deployment = serde_json::from_value(json!({ "spec": {
            "selector": {},
            "template": { "spec": { "containers": [
                { "name": "webhook", "image": "a", "command": ["/sandgate-webhook"] },
                {
                    "name": "controller", "image": "sandgate:1",
                    "command": ["/sandgate-controller"],
                    "args": [
                        "--runtime-pod-label=example.com/runtime",
                        "--dns-namespace", "dns",
                        "--dns-pod-label=app=dns,tier=cache",
                    ],
                    "env": [{ "name": "SANDGATE_CLUSTER_DOMAIN", "value": "example.test" }],
                },
            ] } },
        } }))
        .unwrap();
        let installed = read(&deployment).unwrap();
        assert_eq!(installed.image, "sandgate:1");
        assert_eq!(installed.runtime_pod_label, "example.com/runtime");
        assert_eq!(installed.dns_namespace, "dns");
        assert_eq!(installed.dns_pod_labels.get("tier").unwrap(), "cache");
        assert_eq!(installed.cluster_domain, "example.test");
    }

    #[test]
    fn what_it_was_not_told_is_as_the_controller_has_it_by_default() {
        let deployment: Deployment = serde_json::from_value(json!({ "spec": {
            "selector": {},
            "template": { "spec": { "containers": [
                { "name": "c", "image": "sandgate:1", "command": ["/sandgate-controller"] },
            ] } },
        } }))
        .unwrap();
        let installed = read(&deployment).unwrap();
        assert_eq!(
            installed.runtime_pod_label,
            "omnia.altairalabs.ai/agent-runtime"
        );
        assert_eq!(installed.dns_pod_labels.get("k8s-app").unwrap(), "kube-dns");
    }
}
