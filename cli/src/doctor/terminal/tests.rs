use serde_json::{Value, json};

use super::*;
use crate::doctor::facts::Facts;
use crate::doctor::rbac::tests::rbac;
use crate::doctor::report::{Report, judge};
use crate::doctor::standing;

fn bound(name: &str, role: &str, subject: &Value, labels: &Value) -> Value {
    json!({
        "kind": "ClusterRoleBinding", "metadata": { "name": name, "labels": labels },
        "roleRef": { "kind": "ClusterRole", "name": role }, "subjects": [subject],
    })
}

/// A forger, an administrator, and those whom every cluster has.
fn with_holders(mut facts: Facts) -> Facts {
    let everything = json!([{ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] }]);
    let editor = json!([
        { "verbs": ["create", "patch"], "apiGroups": ["", "apps"], "resources": ["pods", "deployments"] },
        {
            "verbs": ["impersonate"], "apiGroups": ["authentication.k8s.io"],
            "resources": ["userextras/authentication.kubernetes.io/pod-name"],
            "resourceNames": ["sandgate-0"],
        },
    ]);
    let account = |namespace: &str, name: &str| json!({ "kind": "ServiceAccount", "namespace": namespace, "name": name });
    let default = json!({ "kubernetes.io/bootstrapping": "rbac-defaults" });
    let masters = json!({ "kind": "Group", "name": "system:masters" });
    let alice = json!({ "kind": "User", "name": "alice" });
    let planted = rbac(&[
        json!({ "kind": "ClusterRole", "metadata": { "name": "all" }, "rules": everything }),
        json!({ "kind": "ClusterRole", "metadata": { "name": "editor" }, "rules": editor }),
        bound("cluster-admin", "all", &masters, &default),
        bound("admins", "all", &alice, &json!({})),
        bound("ci", "editor", &account("ci", "runner"), &json!({})),
        bound(
            "jobs",
            "editor",
            &account("kube-system", "job-controller"),
            &default,
        ),
    ]);
    facts.rbac.cluster_roles.extend(planted.cluster_roles);
    let bindings = &mut facts.rbac.cluster_role_bindings;
    bindings.extend(planted.cluster_role_bindings);
    facts
}

#[test]
fn a_sound_installation_reads_at_a_glance() {
    let report = judge(&standing::tests::sound(), &[]);
    assert!(report.sound);
    insta::assert_snapshot!(render(&report, false));
}

#[test]
fn what_is_wrong_is_told_with_who_why_and_by_which_way() {
    let mut facts = with_holders(standing::tests::sound());
    facts.validating[0]["webhooks"][0]["failurePolicy"] = json!("Ignore");
    let report = judge(&facts, &[]);
    assert!(!report.sound);
    insta::assert_snapshot!(render(&report, false));
}

#[test]
fn colours_are_for_terminals() {
    let report = judge(&standing::tests::sound(), &[]);
    assert!(render(&report, true).contains("\x1b[32m✓"));
    assert!(!render(&report, false).contains('\x1b'));
}

#[test]
fn the_json_file_reads_back_as_the_report() {
    let report = judge(&with_holders(standing::tests::sound()), &[]);
    let text = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
}
