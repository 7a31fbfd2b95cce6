//! The namespace, ServiceAccounts, roles and bindings: what the operator may do, and no more. A
//! verb comes in with the code that uses it. Pure.

use serde_json::{Value, json};

use super::installation::Installation;
use crate::names;

/// The namespace of the operator, where no installer makes it.
pub fn namespace(installation: &Installation) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": installation.namespace, "labels": installation.labels("rbac")},
    })
}

/// Everything an installation's processes need in their namespace and beyond to run as themselves.
pub fn rbac(installation: &Installation) -> Vec<Value> {
    let release = &installation.release;
    let namespace = &installation.namespace;
    let probe = names::probe(release);
    let cluster = cluster_rules(&names::webhook_configuration(release));
    let own = own_rules(release);
    // The ServiceAccount that proves the policy is in force by being refused (P-029) holds nothing else.
    let create_claims = json!([rule(&[names::GROUP], &["sandboxclaims"], &["create"])]);
    let account = |name: &str| {
        json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": namespace, "labels": installation.labels("rbac")},
            "automountServiceAccountToken": false,
        })
    };
    vec![
        account(&installation.service_account),
        account(&probe),
        role(installation, "ClusterRole", release, &cluster),
        binding(
            installation,
            "ClusterRole",
            release,
            &installation.service_account,
        ),
        role(installation, "Role", release, &own),
        binding(installation, "Role", release, &installation.service_account),
        role(installation, "Role", &probe, &create_claims),
        binding(installation, "Role", &probe, &probe),
    ]
}

/// What the operator may do in every namespace, and beside them.
fn cluster_rules(configuration: &str) -> Value {
    json!([
        rule(
            &[names::GROUP],
            &["sandboxclaims"],
            &["get", "list", "watch", "delete"]
        ),
        rule(&[names::GROUP], &["sandboxclaims/status"], &["patch"]),
        rule(&[names::GROUP], &["sandboxclaims/finalizers"], &["update"]),
        rule(
            &[names::GROUP],
            &["sandboxclasses", "clustersandboxclasses", "agentruntimes"],
            &["get", "list", "watch"],
        ),
        rule(
            &[names::GROUP],
            &["connections", "workspaces"],
            &["list", "watch"],
        ),
        rule(&[names::GROUP], &["connections"], &["get"]),
        // A Connection may name any Secret of its namespace, and a claim's placed files are in one.
        rule(
            &[""],
            &["secrets"],
            &["get", "list", "watch", "create", "update", "delete"]
        ),
        rule(
            &[""],
            &["persistentvolumeclaims"],
            &["get", "list", "watch", "create"]
        ),
        rule(
            &["apps"],
            &["deployments"],
            &["get", "list", "watch", "create", "update", "delete"]
        ),
        rule(&["apps"], &["replicasets"], &["list", "watch"]),
        rule(
            &[""],
            &["services"],
            &["get", "list", "watch", "create", "update", "delete"]
        ),
        // The hosts of claims' egress proxies.
        rule(
            &[""],
            &["configmaps"],
            &["get", "list", "watch", "create", "update", "delete"]
        ),
        // An annotation of a proxy's pod makes its kubelet look at the hosts at once.
        rule(&[""], &["pods"], &["list", "watch", "patch", "delete"]),
        rule(&[""], &["namespaces"], &["list", "watch"]),
        rule(
            &["networking.k8s.io"],
            &["networkpolicies"],
            &["get", "list", "watch", "create", "update", "delete"],
        ),
        rule(&["events.k8s.io"], &["events"], &["create"]),
        named(
            &["admissionregistration.k8s.io"],
            &[
                "mutatingwebhookconfigurations",
                "validatingwebhookconfigurations"
            ],
            &[configuration],
            &["get", "list", "watch", "update", "patch"],
        ),
        // Whoever else may rewrite what is ours is reported.
        rule(
            &["admissionregistration.k8s.io"],
            &[
                "mutatingwebhookconfigurations",
                "mutatingadmissionpolicies",
                "mutatingadmissionpolicybindings"
            ],
            &["list", "watch"],
        ),
        // Who answered a dry run before the policy did is told from who answered after it (P-029).
        rule(
            &["admissionregistration.k8s.io"],
            &[
                "mutatingwebhookconfigurations",
                "validatingwebhookconfigurations"
            ],
            &["list"],
        ),
        // Those of another version of this release have names that nobody can know before (P-030).
        rule(
            &["admissionregistration.k8s.io"],
            &[
                "validatingadmissionpolicies",
                "validatingadmissionpolicybindings"
            ],
            &["get", "list", "watch"],
        ),
    ])
}

/// What it may do in its own namespace.
fn own_rules(release: &str) -> Value {
    json!([
        rule(&["coordination.k8s.io"], &["leases"], &["create"]),
        named(
            &["coordination.k8s.io"],
            &["leases"],
            &[&format!("{release}-controller")],
            &["get", "list", "watch", "update"],
        ),
        rule(&[""], &["secrets"], &["create"]),
        named(
            &[""],
            &["secrets"],
            &[&format!("{release}-webhook-certs")],
            &["get", "list", "watch", "update"],
        ),
        named(
            &[""],
            &["serviceaccounts/token"],
            &[&names::probe(release)],
            &["create"]
        ),
    ])
}

fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": groups, "resources": resources, "verbs": verbs})
}

fn named(groups: &[&str], resources: &[&str], resource_names: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": groups, "resources": resources, "resourceNames": resource_names, "verbs": verbs})
}

fn metadata(installation: &Installation, kind: &str, name: &str) -> Value {
    let mut metadata = json!({"name": name, "labels": installation.labels("rbac")});
    if kind == "Role"
        && let Some(fields) = metadata.as_object_mut()
    {
        fields.insert("namespace".into(), json!(installation.namespace));
    }
    metadata
}

fn role(installation: &Installation, kind: &str, name: &str, rules: &Value) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": metadata(installation, kind, name),
        "rules": rules,
    })
}

fn binding(installation: &Installation, kind: &str, name: &str, account: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": format!("{kind}Binding"),
        "metadata": metadata(installation, kind, name),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
        "subjects": [{
            "kind": "ServiceAccount",
            "name": account,
            "namespace": installation.namespace,
        }],
    })
}
