use std::collections::BTreeSet;

use rstest::rstest;
use sandgate_shared::render::{self, Installation};
use serde_json::{Value, json};

use super::*;
use crate::doctor::rbac::tests::rbac;

/// An installation with the default names.
pub fn site() -> Site {
    Site {
        names: Installation::default(),
        secrets: BTreeSet::from(["sandgate-webhook-certs".to_owned()]),
        policies: BTreeSet::from(["sandgate-sandbox-claim-0123456789".to_owned()]),
        records: BTreeSet::new(),
    }
}

/// Mallory with this rule: cluster-wide, or in a namespace.
fn planted(rule: &Value, namespace: Option<&str>) -> Vec<Value> {
    let subjects = json!([{ "kind": "User", "name": "mallory" }]);
    let cluster_role = json!({
        "kind": "ClusterRole", "metadata": { "name": "planted" }, "rules": [rule],
    });
    let binding = match namespace {
        None => json!({
            "kind": "ClusterRoleBinding", "metadata": { "name": "planted" },
            "roleRef": { "kind": "ClusterRole", "name": "planted" }, "subjects": subjects,
        }),
        Some(namespace) => json!({
            "kind": "RoleBinding", "metadata": { "name": "planted", "namespace": namespace },
            "roleRef": { "kind": "ClusterRole", "name": "planted" }, "subjects": subjects,
        }),
    };
    vec![cluster_role, binding]
}

fn rule(verb: &str, group: &str, resource: &str, names: &[&str]) -> Value {
    json!({
        "verbs": [verb], "apiGroups": [group], "resources": [resource], "resourceNames": names,
    })
}

/// The powers that Mallory holds.
fn powers(rule: &Value, namespace: Option<&str>) -> Vec<String> {
    let found = holders(&rbac(&planted(rule, namespace)), &site(), &[]);
    let held = found.into_iter().flat_map(|holder| {
        assert_eq!(holder.subject.to_string(), "User mallory");
        assert_eq!(holder.standing, Standing::Finding);
        holder.held
    });
    held.map(|held| held.power).collect()
}

const ADMISSION: &str = "admissionregistration.k8s.io";
const HERE: Option<&str> = Some("sandgate-system");

#[test]
fn each_right_of_the_table_is_found_by_itself_and_cluster_wide() {
    for power in POWERS {
        for (group, resource) in power.resources {
            for verb in power.verbs {
                let found = powers(&rule(verb, group, resource, &[]), None);
                assert!(
                    found.contains(&power.id.to_owned()),
                    "{} {verb} {resource}",
                    power.id
                );
            }
        }
    }
}

#[test]
fn each_right_in_the_operators_namespace_is_found_there_and_in_no_other() {
    for power in POWERS {
        let (group, resource) = power.resources[0];
        let rule = rule(power.verbs[0], group, resource, &[]);
        let here = powers(&rule, HERE).contains(&power.id.to_owned());
        assert_eq!(here, power.place == Place::Namespace, "{}", power.id);
        assert!(powers(&rule, Some("elsewhere")).is_empty(), "{}", power.id);
    }
}

#[rstest]
#[case::its_account(rule("create", "", "serviceaccounts/token", &["sandgate-controller"]), true)]
#[case::another_account(rule("create", "", "serviceaccounts/token", &["sandgate-policy-probe"]), false)]
#[case::its_secret(rule("get", "", "secrets", &["a", "sandgate-webhook-certs"]), true)]
#[case::another_secret(rule("get", "", "secrets", &["a"]), false)]
// Nothing that is yet to be made has a name when the authorizer is asked.
#[case::a_new_secret_by_name(rule("create", "", "secrets", &["sandgate-webhook-certs"]), false)]
#[case::a_new_secret(rule("create", "", "secrets", &[]), true)]
#[case::a_shell_in_one_pod(rule("create", "", "pods/exec", &["sandgate-0"]), true)]
#[case::its_policy(
    rule("delete", ADMISSION, "validatingadmissionpolicies", &["sandgate-sandbox-claim-0123456789"]),
    true
)]
#[case::another_policy(rule("delete", ADMISSION, "validatingadmissionpolicies", &["a"]), false)]
#[case::a_new_policy(rule("create", ADMISSION, "validatingadmissionpolicies", &[]), false)]
#[case::its_webhooks(
    rule("patch", ADMISSION, "validatingwebhookconfigurations", &["zz-sandgate-sandgate"]),
    true
)]
#[case::other_webhooks(
    rule("patch", ADMISSION, "validatingwebhookconfigurations", &["cert-manager"]),
    false
)]
#[case::another_mutator(
    rule("patch", ADMISSION, "mutatingwebhookconfigurations", &["cert-manager"]),
    true
)]
#[case::its_kind(
    rule("update", "apiextensions.k8s.io", "customresourcedefinitions", &["connections.omnia.altairalabs.ai"]),
    true
)]
#[case::another_kind(
    rule("update", "apiextensions.k8s.io", "customresourcedefinitions", &["a.example.com"]),
    false
)]
#[case::masters(rule("impersonate", "", "groups", &["system:masters"]), true)]
#[case::a_group_without_rights(rule("impersonate", "", "groups", &["readers"]), false)]
#[case::a_user_without_rights(rule("impersonate", "", "users", &["alice"]), false)]
#[case::its_pod(
    rule("impersonate", "authentication.k8s.io", "userextras/authentication.kubernetes.io/pod-name", &["sandgate-0"]),
    true
)]
#[case::every_extra(rule("impersonate", "authentication.k8s.io", "userextras/scopes", &[]), false)]
#[case::a_client_certificate(
    rule("approve", "certificates.k8s.io", "signers", &["kubernetes.io/kube-apiserver-client"]),
    true
)]
#[case::a_serving_certificate(
    rule("approve", "certificates.k8s.io", "signers", &["kubernetes.io/kubelet-serving"]),
    false
)]
#[case::a_role_that_may_nothing(
    rule("bind", "rbac.authorization.k8s.io", "clusterroles", &["view"]),
    false
)]
#[case::writing_roles(rule("update", "rbac.authorization.k8s.io", "clusterroles", &[]), false)]
#[case::reading_pods(rule("get", "", "pods", &[]), false)]
fn a_rule_limited_to_names_counts_if_one_of_them_matters(#[case] rule: Value, #[case] found: bool) {
    assert_eq!(
        !powers(&rule, None).is_empty(),
        found,
        "{:?}",
        powers(&rule, None)
    );
}

#[test]
fn a_wildcard_holds_every_right_of_its_place() {
    let everything_here = json!({ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] });
    let of_place = POWERS.iter().filter(|it| it.place == Place::Namespace);
    let of_place: Vec<&str> = of_place.map(|power| power.id).collect();
    assert_eq!(powers(&everything_here, HERE), of_place);
    let subresources = json!({ "verbs": ["*"], "apiGroups": [""], "resources": ["*/exec"] });
    assert_eq!(powers(&subresources, None), ["enter-operator"]);
}

#[test]
fn who_may_act_as_a_holder_or_take_a_holders_role_is_one_too() {
    let mut objects = planted(&rule("create", "", "pods", &[]), HERE);
    objects.extend([
        json!({
            "kind": "ClusterRole", "metadata": { "name": "second" }, "rules": [
                rule("impersonate", "", "users", &["mallory"]),
            ],
        }),
        json!({
            "kind": "ClusterRole", "metadata": { "name": "third" }, "rules": [
                rule("bind", "rbac.authorization.k8s.io", "clusterroles", &["planted"]),
            ],
        }),
        json!({
            "kind": "ClusterRoleBinding", "metadata": { "name": "second" },
            "roleRef": { "kind": "ClusterRole", "name": "second" },
            "subjects": [{ "kind": "User", "name": "trudy" }],
        }),
        json!({
            "kind": "ClusterRoleBinding", "metadata": { "name": "third" },
            "roleRef": { "kind": "ClusterRole", "name": "third" },
            "subjects": [{ "kind": "User", "name": "victor" }],
        }),
    ]);
    let found = holders(&rbac(&objects), &site(), &[]);
    let told: Vec<String> = found
        .iter()
        .map(|it| format!("{}: {}", it.subject, it.held[0].power))
        .collect();
    assert_eq!(
        told,
        [
            "User mallory: run-as-operator",
            "User trudy: impersonate-user",
            "User victor: bind",
        ]
    );
}

#[test]
fn a_right_held_in_two_ways_is_told_once_with_both() {
    let mut objects = planted(
        &rule("get", "", "secrets", &["sandgate-webhook-certs"]),
        HERE,
    );
    objects.extend([
        json!({
            "kind": "Role", "metadata": { "name": "reader", "namespace": "sandgate-system" },
            "rules": [rule("list", "", "secrets", &[])],
        }),
        json!({
            "kind": "RoleBinding", "metadata": { "name": "reader", "namespace": "sandgate-system" },
            "roleRef": { "kind": "Role", "name": "reader" },
            "subjects": [{ "kind": "User", "name": "mallory" }],
        }),
    ]);
    let found = holders(&rbac(&objects), &site(), &[]);
    let [holder] = &found[..] else {
        panic!("{found:?}")
    };
    let [held] = &holder.held[..] else {
        panic!("{holder:?}")
    };
    assert_eq!(
        held.paths,
        [
            "RoleBinding sandgate-system/planted → ClusterRole planted",
            "RoleBinding sandgate-system/reader → Role reader",
        ]
    );
    let verbs: Vec<&str> = held
        .rights
        .iter()
        .map(|right| right.verb.as_str())
        .collect();
    assert_eq!(verbs, ["get", "list"]);
    // The second way is limited to no name.
    assert_eq!(held.names, Vec::<String>::new());
}

fn bound(kind: &str, namespace: Option<&str>, name: &str, labels: &Value) -> Vec<Value> {
    vec![
        json!({
            "kind": "ClusterRole", "metadata": { "name": "some" },
            "rules": [rule("create", "", "pods", &[])],
        }),
        json!({
            "kind": "ClusterRoleBinding", "metadata": { "name": "some", "labels": labels },
            "roleRef": { "kind": "ClusterRole", "name": "some" },
            "subjects": [{ "kind": kind, "namespace": namespace, "name": name }],
        }),
    ]
}

#[rstest]
#[case::a_controller(
    "ServiceAccount",
    Some("kube-system"),
    "job-controller",
    Standing::BuiltIn
)]
#[case::the_controller_manager("User", None, "system:kube-controller-manager", Standing::BuiltIn)]
#[case::masters("Group", None, "system:masters", Standing::BuiltIn)]
#[case::an_account_elsewhere("ServiceAccount", Some("default"), "a", Standing::Finding)]
#[case::everybody("Group", None, "system:authenticated", Standing::Finding)]
#[case::every_account("Group", None, "system:serviceaccounts", Standing::Finding)]
#[case::a_person("User", None, "alice", Standing::Finding)]
fn a_default_binding_is_expected_for_kubernetes_own_parts_only(
    #[case] kind: &str,
    #[case] namespace: Option<&str>,
    #[case] name: &str,
    #[case] standing: Standing,
) {
    let default = json!({ "kubernetes.io/bootstrapping": "rbac-defaults" });
    let found = holders(&rbac(&bound(kind, namespace, name, &default)), &site(), &[]);
    assert_eq!(found[0].standing, standing);
    // By any other binding nobody is.
    let found = holders(
        &rbac(&bound(kind, namespace, name, &json!({}))),
        &site(),
        &[],
    );
    assert_eq!(found[0].standing, Standing::Finding);
}

#[rstest]
#[case::the_operator(
    "sandgate-system",
    "sandgate-controller",
    "sandgate",
    Standing::Sandgate
)]
#[case::of_another_release("sandgate-system", "sandgate-controller", "other", Standing::Finding)]
#[case::another_account("sandgate-system", "mallory", "sandgate", Standing::Finding)]
#[case::another_namespace("default", "sandgate-controller", "sandgate", Standing::Finding)]
fn the_operator_is_expected_to_hold_what_its_chart_gives_it(
    #[case] namespace: &str,
    #[case] name: &str,
    #[case] release: &str,
    #[case] standing: Standing,
) {
    let labels = json!({
        "app.kubernetes.io/name": "sandgate", "app.kubernetes.io/instance": release,
    });
    let objects = bound("ServiceAccount", Some(namespace), name, &labels);
    let found = holders(&rbac(&objects), &site(), &[]);
    assert_eq!(found[0].standing, standing);
}

#[test]
fn who_may_do_everything_is_an_administrator_with_one_line() {
    let everything = json!({ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] });
    let found = holders(&rbac(&planted(&everything, None)), &site(), &[]);
    let [holder] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(holder.standing, Standing::Administrator);
    let powers: Vec<&str> = holder.held.iter().map(|held| held.power.as_str()).collect();
    assert_eq!(powers, ["everything"]);
}

#[test]
fn whom_somebody_accepts_is_no_finding() {
    let objects = rbac(&planted(&rule("create", "", "pods", &[]), HERE));
    let mallory = Subject {
        kind: "User".to_owned(),
        namespace: None,
        name: "mallory".to_owned(),
    };
    let found = holders(&objects, &site(), std::slice::from_ref(&mallory));
    assert_eq!(found[0].standing, Standing::Accepted);
    let other = Subject {
        kind: "Group".to_owned(),
        ..mallory
    };
    let found = holders(&objects, &site(), &[other]);
    assert_eq!(found[0].standing, Standing::Finding);
}

#[test]
fn the_chart_alone_gives_such_rights_to_the_operator_only() {
    let objects = render::rbac(&Installation::default());
    let of_rbac = objects.iter().filter(|it| it["kind"] != "ServiceAccount");
    let objects: Vec<Value> = of_rbac.cloned().collect();
    let found = holders(&rbac(&objects), &site(), &[]);
    let told: Vec<(String, Standing)> = found
        .iter()
        .map(|it| (it.subject.to_string(), it.standing))
        .collect();
    let operator = "ServiceAccount sandgate-system/sandgate-controller";
    assert_eq!(told, [(operator.to_owned(), Standing::Sandgate)]);
}
