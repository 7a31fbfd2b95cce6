use rstest::rstest;
use serde_json::{Value, json};

use super::*;

/// Reads objects of RBAC; Roles and RoleBindings are the operator's namespace's.
pub fn rbac(objects: &[Value]) -> Rbac {
    let mut rbac = Rbac::default();
    for object in objects {
        let mut object = object.clone();
        let kind = object["kind"].as_str().unwrap().to_owned();
        object["apiVersion"] = json!("rbac.authorization.k8s.io/v1");
        if object["roleRef"].is_object() {
            object["roleRef"]["apiGroup"] = json!("rbac.authorization.k8s.io");
        }
        match kind.as_str() {
            "ClusterRole" => rbac.cluster_roles.push(from(object)),
            "Role" => rbac.roles.push(from(object)),
            "ClusterRoleBinding" => rbac.cluster_role_bindings.push(from(object)),
            "RoleBinding" => rbac.role_bindings.push(from(object)),
            other => panic!("{other} is no kind of RBAC"),
        }
    }
    rbac
}

fn from<T: serde::de::DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).unwrap()
}

/// A rule in the short form `verbs on group/resources`, with the names it is limited to.
fn rule(verbs: &[&str], group: &str, resources: &[&str], names: &[&str]) -> PolicyRule {
    from(json!({
        "verbs": verbs, "apiGroups": [group], "resources": resources, "resourceNames": names,
    }))
}

#[rstest]
#[case::exactly(rule(&["get"], "apps", &["deployments"], &[]), true)]
#[case::among_others(rule(&["list", "get"], "apps", &["pods", "deployments"], &[]), true)]
#[case::every_verb(rule(&["*"], "apps", &["deployments"], &[]), true)]
#[case::every_group(rule(&["get"], "*", &["deployments"], &[]), true)]
#[case::every_resource(rule(&["get"], "apps", &["*"], &[]), true)]
#[case::limited_to_a_name(rule(&["get"], "apps", &["deployments"], &["a"]), true)]
#[case::another_verb(rule(&["list"], "apps", &["deployments"], &[]), false)]
#[case::another_group(rule(&["get"], "", &["deployments"], &[]), false)]
#[case::another_resource(rule(&["get"], "apps", &["replicasets"], &[]), false)]
#[case::only_a_subresource(rule(&["get"], "apps", &["deployments/scale"], &[]), false)]
#[case::only_every_subresource(rule(&["get"], "apps", &["*/scale"], &[]), false)]
#[case::a_prefix_is_no_wildcard(rule(&["get"], "apps", &["deploy*"], &[]), false)]
fn a_rule_speaks_of_what_the_authorizer_would_allow_by_it(
    #[case] rule: PolicyRule,
    #[case] speaks: bool,
) {
    let asked = Asked {
        verb: "get",
        group: "apps",
        resource: "deployments",
    };
    assert_eq!(speaks_of(&rule, &asked), speaks);
}

#[rstest]
#[case::named(&["pods/exec"], true)]
#[case::of_every_resource(&["*/exec"], true)]
#[case::everything(&["*"], true)]
#[case::the_resource_alone(&["pods"], false)]
#[case::another_subresource(&["pods/log", "*/log"], false)]
#[case::every_subresource_is_no_word_of_rbac(&["pods/*"], false)]
fn a_subresource_is_a_resource_of_its_own(#[case] resources: &[&str], #[case] speaks: bool) {
    let asked = Asked {
        verb: "create",
        group: "",
        resource: "pods/exec",
    };
    let rule = rule(&["create"], "", resources, &[]);
    assert_eq!(speaks_of(&rule, &asked), speaks);
}

#[test]
fn everything_is_every_verb_on_every_resource_whatever_its_name() {
    let role = |names: &[&str]| rule(&["*"], "*", &["*"], names);
    assert!(is_everything(&role(&[])));
    assert!(!is_everything(&role(&["a"])));
    assert!(!is_everything(&rule(&["*"], "", &["*"], &[])));
    assert!(!is_everything(&rule(&["get"], "*", &["*"], &[])));
    let urls = json!({ "verbs": ["*"], "nonResourceURLs": ["*"] });
    assert!(!is_everything(&from(urls)));
}

#[test]
fn each_subject_of_each_binding_is_told_by_which_way_a_rule_reaches_it() {
    let rules = json!([{ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"] }]);
    let subjects = json!([
        { "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "alice" },
        { "kind": "ServiceAccount", "name": "here" },
        { "kind": "ServiceAccount", "namespace": "there", "name": "b" },
    ]);
    let rbac = rbac(&[
        json!({ "kind": "ClusterRole", "metadata": { "name": "view" }, "rules": rules }),
        json!({
            "kind": "Role", "metadata": { "name": "view", "namespace": "op" }, "rules": rules,
        }),
        json!({
            "kind": "ClusterRoleBinding", "metadata": { "name": "all" },
            "roleRef": { "kind": "ClusterRole", "name": "view" },
            "subjects": [subjects[0]],
        }),
        json!({
            "kind": "RoleBinding", "metadata": { "name": "some", "namespace": "op" },
            "roleRef": { "kind": "Role", "name": "view" },
            "subjects": [subjects[1], subjects[2]],
        }),
        json!({
            "kind": "RoleBinding", "metadata": { "name": "dangling", "namespace": "op" },
            "roleRef": { "kind": "Role", "name": "gone" },
            "subjects": [subjects[0]],
        }),
    ]);
    let told: Vec<String> = rbac
        .grants()
        .iter()
        .map(|it| format!("{} in {:?} by {}", it.subject, it.namespace, it.path))
        .collect();
    assert_eq!(
        told,
        [
            "User alice in None by ClusterRoleBinding all → ClusterRole view",
            "ServiceAccount op/here in Some(\"op\") by RoleBinding op/some → Role view",
            "ServiceAccount there/b in Some(\"op\") by RoleBinding op/some → Role view",
        ]
    );
}

#[rstest]
#[case::by_label(json!({ "matchLabels": { "to": "edit" } }), true)]
#[case::by_expression(
    json!({ "matchExpressions": [{ "key": "to", "operator": "In", "values": ["edit"] }] }),
    true
)]
#[case::whatever_there_is(json!({}), true)]
#[case::by_another_label(json!({ "matchLabels": { "to": "view" } }), false)]
#[case::by_absence(
    json!({ "matchExpressions": [{ "key": "to", "operator": "DoesNotExist" }] }),
    false
)]
fn what_an_aggregated_role_selects_counts_before_it_is_copied(
    #[case] selector: Value,
    #[case] selects: bool,
) {
    let rules = json!([{ "verbs": ["create"], "apiGroups": [""], "resources": ["pods"] }]);
    let rbac = rbac(&[
        json!({
            "kind": "ClusterRole",
            "metadata": { "name": "edit" },
            "aggregationRule": { "clusterRoleSelectors": [selector] },
        }),
        json!({
            "kind": "ClusterRole",
            "metadata": { "name": "planted", "labels": { "to": "edit" } },
            "rules": rules,
        }),
        json!({
            "kind": "ClusterRoleBinding", "metadata": { "name": "editors" },
            "roleRef": { "kind": "ClusterRole", "name": "edit" },
            "subjects": [{ "kind": "Group", "name": "editors" }],
        }),
    ]);
    let grants = rbac.grants();
    let paths: Vec<&str> = grants.iter().map(|grant| grant.path.as_str()).collect();
    let path = "ClusterRoleBinding editors → ClusterRole edit ← ClusterRole planted";
    assert_eq!(
        paths,
        selects.then_some(path).into_iter().collect::<Vec<_>>()
    );
}

#[test]
fn what_was_copied_into_an_aggregated_role_is_told_by_where_it_came_from() {
    let copied = json!({ "verbs": ["create"], "apiGroups": [""], "resources": ["pods"] });
    let stale = json!({ "verbs": ["delete"], "apiGroups": [""], "resources": ["pods"] });
    let rbac = rbac(&[
        json!({
            "kind": "ClusterRole",
            "metadata": { "name": "edit" },
            "aggregationRule": {
                "clusterRoleSelectors": [{ "matchLabels": { "to": "edit" } }],
            },
            "rules": [copied, stale],
        }),
        json!({
            "kind": "ClusterRole",
            "metadata": { "name": "planted", "labels": { "to": "edit" } },
            "rules": [copied],
        }),
        json!({
            "kind": "ClusterRoleBinding", "metadata": { "name": "editors" },
            "roleRef": { "kind": "ClusterRole", "name": "edit" },
            "subjects": [{ "kind": "Group", "name": "editors" }],
        }),
    ]);
    let grants = rbac.grants();
    let told: Vec<String> = grants
        .iter()
        .map(|it| format!("{} by {}", it.rule.verbs.join(","), it.path))
        .collect();
    assert_eq!(
        told,
        [
            "create by ClusterRoleBinding editors → ClusterRole edit ← ClusterRole planted",
            "delete by ClusterRoleBinding editors → ClusterRole edit",
        ]
    );
}
