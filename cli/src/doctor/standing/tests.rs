use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::rbac::v1::ClusterRole;
use rstest::rstest;
use sandgate_shared::render;
use sandgate_shared::trust::Expected;
use serde_json::{Value, json};

use super::*;
use crate::doctor::holders;
use crate::doctor::rbac::Rbac;
use crate::doctor::rbac::tests::rbac;
use crate::doctor::site::Site;

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// The roles and bindings of the chart.
fn ours(site: &Site) -> Rbac {
    let objects = render::rbac(&site.names);
    let of_rbac = objects.iter().filter(|it| it["kind"] != "ServiceAccount");
    rbac(&of_rbac.cloned().collect::<Vec<_>>())
}

/// What is read of an installation that stands as its chart put it.
pub fn sound() -> Facts {
    let site = holders::tests::site();
    let stored = |mut object: Value| {
        object["metadata"]["generation"] = json!(1);
        object["metadata"]["uid"] = json!(format!("uid-of-{}", object["kind"]));
        object["metadata"]["creationTimestamp"] = json!("2026-05-01T10:00:00Z");
        object
    };
    let kinds = render::crds().into_iter().map(|mut kind| {
        kind["status"] = json!({ "conditions": [{ "type": "Established", "status": "True" }] });
        kind["spec"]["conversion"] = json!({ "strategy": "None" });
        kind["spec"]["names"]["listKind"] = json!("AList");
        kind
    });
    let [mutating, validating] = render::webhook_configurations(&site.names).map(|mut it| {
        it["webhooks"][0]["clientConfig"]["caBundle"] = json!("YQ==");
        it["webhooks"][0]["objectSelector"] = json!({});
        it
    });
    let [mut policy, binding] = render::admission_policy(&site.names).map(stored);
    let constraints = &mut policy["spec"]["matchConstraints"];
    constraints["matchPolicy"] = json!("Equivalent");
    constraints["namespaceSelector"] = json!({});
    constraints["objectSelector"] = json!({});
    constraints["resourceRules"][0]["scope"] = json!("*");
    let stood = Expected::of(&site.names)
        .examine(Some(&policy), Some(&binding))
        .unwrap();
    let record = json!({
        "metadata": {
            "name": stood.record_name(&site.names.release),
            "creationTimestamp": "2026-05-01T10:00:02Z",
        },
        "immutable": true,
        "data": stood.record(),
    });
    let owners = json!([{
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "sandgate-5d4f", "uid": "r",
        "controller": true,
    }]);
    let pod = json!({
        "metadata": { "name": "sandgate-5d4f-x", "ownerReferences": owners },
        "spec": {
            "serviceAccountName": "sandgate-controller", "nodeName": "node-1", "containers": [],
        },
    });
    Facts {
        kubernetes: "v1.36.3".to_owned(),
        deployment: from(json!({
            "metadata": { "name": "sandgate", "namespace": "sandgate-system" },
            "spec": { "replicas": 2, "selector": {}, "template": {} },
            "status": { "replicas": 2, "readyReplicas": 2 },
        })),
        pods: vec![from(pod)],
        rbac: ours(&site),
        kinds: kinds.collect(),
        policies: Some(vec![policy]),
        policy_bindings: Some(vec![binding]),
        mutating: vec![mutating],
        validating: vec![validating],
        mutating_policies: Vec::new(),
        token_secrets: Vec::new(),
        config_maps: vec![from(record)],
        site,
    }
}

/// What the check of this name says that is wrong.
fn wrong(facts: &Facts, id: &str) -> Vec<String> {
    let checks = checks(facts);
    let check = checks.iter().find(|check| check.id == id).unwrap();
    let others = checks.iter().filter(|check| check.id != id);
    let broken: Vec<&str> = others
        .filter(|check| !check.holds)
        .map(|check| check.id.as_str())
        .collect();
    assert_eq!(broken, Vec::<&str>::new());
    if check.holds {
        Vec::new()
    } else {
        check.said.clone()
    }
}

#[test]
fn an_installation_as_its_chart_put_it_holds_every_check() {
    for check in checks(&sound()) {
        assert!(check.holds, "{check:?}");
    }
}

#[rstest]
#[case::one_of_two(json!({ "readyReplicas": 1 }), "1 of 2 replicas are ready")]
#[case::none(json!({}), "0 of 2 replicas are ready")]
fn replicas_that_are_not_ready_are_counted(#[case] status: Value, #[case] told: &str) {
    let mut facts = sound();
    let stored: Deployment = from(json!({ "status": status }));
    facts.deployment.status = stored.status;
    let said = wrong(&facts, "replicas");
    assert!(said[0].starts_with(told), "{said:?}");
    assert!(said[0].contains("kubectl -n sandgate-system"), "{said:?}");
}

fn cluster_role(facts: &mut Facts) -> &mut ClusterRole {
    let mut roles = facts.rbac.cluster_roles.iter_mut();
    let ours = roles.find(|role| role.metadata.name.as_deref() == Some("sandgate"));
    ours.unwrap()
}

#[test]
fn what_the_operator_may_read_and_write_everywhere_is_told() {
    let checks = checks(&sound());
    let rights = checks.iter().find(|check| check.id == "rights").unwrap();
    for told in [
        "secrets: create, delete, get, list, update, watch; a Connection may name any",
        "persistentvolumeclaims: create, get, list, watch; the content",
        "connections.omnia.altairalabs.ai: get, list, watch; what",
        "sandboxclaims.omnia.altairalabs.ai: ",
    ] {
        let mut said = rights.said.iter();
        assert!(said.any(|line| line.starts_with(told)), "{:?}", rights.said);
    }
}

#[test]
fn a_right_that_the_operator_lacks_or_does_not_need_is_named_with_its_way() {
    let mut facts = sound();
    let rules = cluster_role(&mut facts).rules.as_mut().unwrap();
    for rule in rules.iter_mut() {
        let of = rule.resources.clone().unwrap_or_default();
        if of.iter().any(|resource| resource == "secrets") {
            rule.verbs.retain(|verb| verb != "watch" && verb != "list");
        }
    }
    rules.push(from(json!({
        "apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create"],
    })));
    let said = wrong(&facts, "rights");
    assert_eq!(
        said,
        [
            "the operator may not list, watch secrets; upgrade the chart",
            "the operator may create pods/exec, which this version does not need, by \
             ClusterRoleBinding sandgate → ClusterRole sandgate; take that away",
        ]
    );
}

#[test]
fn a_pod_that_runs_as_the_operator_and_is_not_its_own_is_named() {
    let mut facts = sound();
    let foreign = |name: &str, owners: Value, account: &str| {
        from(json!({
            "metadata": { "name": name, "ownerReferences": owners },
            "spec": { "serviceAccountName": account, "containers": [] },
        }))
    };
    let of_job = json!([{
        "apiVersion": "batch/v1", "kind": "Job", "name": "sandgate-5d4f", "uid": "j",
        "controller": true,
    }]);
    facts.pods.extend([
        foreign("alone", json!([]), "sandgate-controller"),
        foreign("of-a-job", of_job, "sandgate-controller"),
        foreign("harmless", json!([]), "default"),
    ]);
    facts.token_secrets = vec!["old-token".to_owned()];
    let said = wrong(&facts, "account");
    let begins: Vec<&str> = said
        .iter()
        .map(|it| it.split(' ').nth(1).unwrap())
        .collect();
    assert_eq!(begins, ["alone", "of-a-job", "old-token"]);
}

#[rstest]
#[case::a_rule_dropped(
    |kind: &mut Value| {
        let schema = &mut kind["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        schema.as_object_mut().unwrap().remove("x-kubernetes-validations");
    },
    "x-kubernetes-validations is missing"
)]
#[case::a_conversion_of_somebodys_own(
    |kind: &mut Value| kind["spec"]["conversion"] = json!({ "strategy": "Webhook" }),
    "spec.conversion was added"
)]
#[case::not_served(|kind: &mut Value| kind["status"] = json!({}), "is not served")]
#[case::gone(|kind: &mut Value| kind["metadata"]["name"] = json!("x"), "does not exist")]
fn a_kind_that_lost_its_rules_is_named(#[case] edit: fn(&mut Value), #[case] told: &str) {
    let mut facts = sound();
    let claims = facts
        .kinds
        .iter_mut()
        .find(|kind| kind["spec"]["names"]["kind"] == "SandboxClaim")
        .unwrap();
    edit(claims);
    let said = wrong(&facts, "kinds");
    let [said] = &said[..] else {
        panic!("{said:?}")
    };
    assert!(
        said.starts_with("sandboxclaims.omnia.altairalabs.ai"),
        "{said}"
    );
    assert!(said.contains(told), "{said}");
}

#[rstest]
#[case::weakened(
    |hook: &mut Value| hook["failurePolicy"] = json!("Ignore"),
    "webhooks[0].failurePolicy was changed"
)]
#[case::narrowed(
    |hook: &mut Value| hook["namespaceSelector"] = json!({ "matchLabels": { "a": "b" } }),
    "webhooks[0].namespaceSelector was added"
)]
#[case::sent_elsewhere(
    |hook: &mut Value| hook["clientConfig"]["service"]["namespace"] = json!("default"),
    "webhooks[0].clientConfig.service.namespace was changed"
)]
#[case::by_url(
    |hook: &mut Value| hook["clientConfig"]["url"] = json!("https://example.com"),
    "webhooks[0].clientConfig.url was added"
)]
#[case::without_a_bundle(
    |hook: &mut Value| { hook["clientConfig"].as_object_mut().unwrap().remove("caBundle"); },
    "has no caBundle"
)]
#[case::a_condition_more(
    |hook: &mut Value| hook["matchConditions"].as_array_mut().unwrap().push(json!({})),
    "matchConditions has"
)]
fn a_webhook_that_was_weakened_is_named(#[case] edit: fn(&mut Value), #[case] told: &str) {
    let mut facts = sound();
    edit(&mut facts.validating[0]["webhooks"][0]);
    let said = wrong(&facts, "webhooks");
    let [said] = &said[..] else {
        panic!("{said:?}")
    };
    assert!(
        said.contains("ValidatingWebhookConfiguration zz-sandgate-sandgate"),
        "{said}"
    );
    assert!(said.contains(told), "{said}");
}

#[test]
fn a_configuration_that_is_gone_is_named() {
    let mut facts = sound();
    facts.mutating.clear();
    assert_eq!(
        wrong(&facts, "webhooks"),
        [
            "MutatingWebhookConfiguration zz-sandgate-sandgate does not exist; upgrade the chart to create it"
        ]
    );
}

#[rstest]
#[case::everything(json!({ "apiGroups": ["*"], "operations": ["*"], "resources": ["*/*"] }), true)]
#[case::our_claims(
    json!({ "apiGroups": ["omnia.altairalabs.ai"], "operations": ["UPDATE"], "resources": ["sandboxclaims"] }),
    true
)]
#[case::their_status(
    json!({ "apiGroups": ["*"], "operations": ["UPDATE"], "resources": ["sandboxclaims/status"] }),
    true
)]
#[case::deletions(
    json!({ "apiGroups": ["*"], "operations": ["DELETE"], "resources": ["*"] }),
    false
)]
#[case::pods(json!({ "apiGroups": ["*"], "operations": ["*"], "resources": ["pods"] }), false)]
#[case::another_group(
    json!({ "apiGroups": ["apps"], "operations": ["*"], "resources": ["*"] }),
    false
)]
fn whoever_else_rewrites_our_kinds_is_named(#[case] rule: Value, #[case] named: bool) {
    let mut facts = sound();
    facts.mutating.push(json!({
        "metadata": { "name": "foreign" },
        "webhooks": [{ "name": "a.example.com", "rules": [rule] }],
    }));
    facts.mutating_policies.push(json!({
        "metadata": { "name": "stranger" },
        "spec": { "matchConstraints": { "resourceRules": [rule] } },
    }));
    let said = wrong(&facts, "mutators");
    let told: Vec<&str> = said
        .iter()
        .filter_map(|it| it.split(" is called").next())
        .collect();
    let told = told.join("; ");
    assert_eq!(
        told.starts_with("webhook a.example.com of MutatingWebhookConfiguration foreign; MutatingAdmissionPolicy stranger"),
        named,
        "{told}"
    );
    assert_eq!(told.is_empty(), !named);
}

/// Takes a label off the policy, which is nobody's business, and one thing more.
#[rstest]
#[case::relabelled(|_: &mut Facts| {}, None)]
#[case::gone(
    |facts: &mut Facts| facts.policies = Some(Vec::new()),
    Some("ValidatingAdmissionPolicy sandgate-sandbox-claim-")
)]
#[case::not_served(|facts: &mut Facts| facts.policies = None, Some("the API server does not serve"))]
#[case::edited_and_back(
    |facts: &mut Facts| {
        facts.policies.as_mut().unwrap()[0]["metadata"]["generation"] = json!(3);
    },
    Some("ValidatingAdmissionPolicy sandgate-sandbox-claim-")
)]
#[case::narrowed(
    |facts: &mut Facts| {
        facts.policy_bindings.as_mut().unwrap()[0]["spec"]["matchResources"] = json!({});
    },
    Some("ValidatingAdmissionPolicyBinding sandgate-sandbox-claim-")
)]
#[case::weakened(
    |facts: &mut Facts| {
        facts.policy_bindings.as_mut().unwrap()[0]["spec"]["validationActions"] = json!(["Audit"]);
    },
    Some("ValidatingAdmissionPolicyBinding sandgate-sandbox-claim-")
)]
#[case::nobody_saw_it_refuse(
    |facts: &mut Facts| facts.config_maps.clear(),
    Some("nobody has seen the policy refuse since it was created at 2026-05-01T10:00:00Z")
)]
#[case::a_record_that_can_be_changed(
    |facts: &mut Facts| facts.config_maps[0].immutable = None,
    Some("nobody has seen the policy refuse")
)]
#[case::a_record_of_another_policy(
    |facts: &mut Facts| {
        let data = facts.config_maps[0].data.as_mut().unwrap();
        data.insert("policyUID".to_owned(), "another".to_owned());
    },
    Some("nobody has seen the policy refuse")
)]
fn a_policy_that_cannot_be_trusted_is_named(
    #[case] edit: fn(&mut Facts),
    #[case] told: Option<&str>,
) {
    let mut facts = sound();
    facts.policies.as_mut().unwrap()[0]["metadata"]["labels"] = json!({});
    edit(&mut facts);
    let said = wrong(&facts, "policy");
    assert_eq!(said.len(), told.into_iter().count(), "{said:?}");
    for said in &said {
        assert!(said.starts_with(told.unwrap()), "{said}");
    }
}

// Proves: P-029
#[test]
fn how_long_the_policy_took_to_refuse_is_told() {
    let checks = checks(&sound());
    let policy = checks.iter().find(|check| check.id == "policy").unwrap();
    assert!(policy.holds, "{policy:?}");
    assert_eq!(
        policy.said,
        ["it was first seen to refuse 2 s after its creation at 2026-05-01T10:00:00Z"]
    );
}
