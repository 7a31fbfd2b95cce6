use std::collections::BTreeSet;

use kube::core::DynamicObject;
use rstest::rstest;
use serde_json::{Value, json};

use super::Index;
use crate::claim::observed::{Lookup, ObjectKind};
use crate::key::Key;
use crate::watch::{Source, Subject};

mod openings;
mod places;

fn object(value: Value) -> DynamicObject {
    serde_json::from_value(value).unwrap()
}

fn claim(name: &str, version: u64) -> Value {
    json!({
        "apiVersion": "omnia.altairalabs.ai/v1alpha1",
        "kind": "SandboxClaim",
        "metadata": {"namespace": "ns", "name": name, "uid": format!("uid-{name}"),
            "resourceVersion": version.to_string()},
        "spec": {"agentRuntimeRef": {"name": "rt"}, "classRef": {"name": "py"}, "sessionID": "s"},
    })
}

fn class(version: u64, egress: &Value) -> Value {
    json!({
        "metadata": {"namespace": "ns", "name": "py", "resourceVersion": version.to_string()},
        "spec": {"image": "x", "ports": [{"name": "http", "port": 80}], "egress": egress},
    })
}

fn labelled(kind: &str, name: &str, version: u64) -> Value {
    json!({
        "kind": kind,
        "metadata": {"namespace": "ns", "name": name, "uid": format!("uid-{name}"),
            "resourceVersion": version.to_string(),
            "labels": {"omnia.altairalabs.ai/sandbox-claim-uid": "uid-a"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "o", "uid": "owner",
                "controller": true}]},
        "spec": {},
    })
}

fn pod(version: u64, ready: bool) -> Value {
    let mut pod = labelled("Pod", "pod-a", version);
    let ready = if ready { "True" } else { "False" };
    pod["spec"] = json!({"containers": []});
    pod["status"] = json!({"conditions": [{"type": "Ready", "status": ready}]});
    pod
}

fn a() -> BTreeSet<Subject> {
    BTreeSet::from([Subject::Claim(Key::new("ns", "a"))])
}

/// An index that knows claim `a`.
fn index() -> Index {
    let index = Index::default();
    assert_eq!(
        index
            .observe(Source::Claims, object(claim("a", 1)))
            .unwrap(),
        a()
    );
    index
}

#[test]
fn a_claim_concerns_itself_and_its_echo_nobody() {
    let index = index();
    let mut next = claim("a", 7);
    next["status"] = json!({"phase": "Pending"});
    index.wrote_claim(object(next.clone())).unwrap();
    assert!(
        index
            .observe(Source::Claims, object(next.clone()))
            .unwrap()
            .is_empty()
    );
    next["metadata"]["resourceVersion"] = json!("8");
    next["status"]["phase"] = json!("Failed");
    assert_eq!(index.observe(Source::Claims, object(next)).unwrap(), a());
}

#[test]
fn a_stale_claim_does_not_replace_the_one_we_wrote() {
    let index = index();
    let mut written = claim("a", 7);
    written["status"] = json!({"phase": "Failed"});
    index.wrote_claim(object(written)).unwrap();
    let mut stale = claim("a", 5);
    stale["status"] = json!({"phase": "Pending"});
    assert!(
        index
            .observe(Source::Claims, object(stale))
            .unwrap()
            .is_empty()
    );
    let observed = index.observed(&Key::new("ns", "a")).unwrap();
    let phase = observed.claim.status.unwrap().phase.unwrap();
    assert_eq!(phase.as_str(), "Failed");
}

// Proves: P-017, P-018
#[test]
fn news_of_the_policy_concern_every_claim_that_lacks_a_record_though_it_was_bound() {
    let condition = |name| json!({"type": name, "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let standing = [
        ("waiting", json!({"phase": "Pending"})),
        (
            "bound",
            json!({"phase": "Bound", "conditions": [condition("Bound")]}),
        ),
        (
            "recorded",
            json!({"phase": "Bound", "conditions": [condition("Bound"), condition("ProvenanceVerified")]}),
        ),
        ("over", json!({"phase": "Failed"})),
    ];
    let index = index();
    for (name, status) in standing {
        let mut claim = claim(name, 1);
        claim["spec"]["targetPath"] = json!("projects/shop");
        claim["status"] = status;
        index.observe(Source::Claims, object(claim)).unwrap();
    }
    let lacking = index.lacking_record();
    let expected = ["bound", "waiting"].map(|name| Key::new("ns", name));
    assert_eq!(lacking, BTreeSet::from(expected));
}

#[test]
fn a_class_and_a_runtime_concern_the_claims_that_name_them() {
    let index = index();
    let mut other = claim("b", 2);
    other["spec"]["classRef"] = json!({"name": "py", "kind": "ClusterSandboxClass"});
    other["spec"]["agentRuntimeRef"] = json!({"name": "other"});
    index.observe(Source::Claims, object(other)).unwrap();
    assert_eq!(
        index
            .observe(Source::Classes, object(class(3, &json!({}))))
            .unwrap(),
        a()
    );
    let runtime = json!({"metadata": {"namespace": "ns", "name": "rt", "resourceVersion": "4"},
        "spec": {"sandbox": {"enabled": true}}});
    // A claim that has no place yet may get one by an edit.
    let mut concerned = index.observe(Source::Runtimes, object(runtime)).unwrap();
    assert!(concerned.remove(&Subject::Places(Key::new("ns", "rt"))));
    assert_eq!(concerned, a());
    let observed = index.observed(&Key::new("ns", "a")).unwrap();
    assert!(matches!(observed.class, Lookup::Found(_)));
    assert!(matches!(observed.runtime, Lookup::Found(_)));
    // There is no fallback between the kinds of class.
    let observed = index.observed(&Key::new("ns", "b")).unwrap();
    assert!(matches!(observed.class, Lookup::Missing));
}

// Proves: O-039
#[rstest]
#[case::in_the_claims_namespace(json!(null), "ns", true)]
#[case::in_the_namespace_named(json!("far"), "far", true)]
#[case::of_the_same_name_elsewhere(json!("far"), "ns", false)]
fn a_service_concerns_the_claims_whose_class_allows_it(
    #[case] named: Value,
    #[case] namespace: &str,
    #[case] concerns: bool,
) {
    let index = index();
    let mut service = json!({"name": "web", "ports": [80]});
    if !named.is_null() {
        service["namespace"] = named;
    }
    let allowed = json!({"allowedServices": [service]});
    index
        .observe(Source::Classes, object(class(2, &allowed)))
        .unwrap();
    let service = json!({
        "metadata": {"namespace": namespace, "name": "web", "uid": "u", "resourceVersion": "3"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
    });
    let expected = if concerns { a() } else { BTreeSet::new() };
    assert_eq!(
        index
            .observe(Source::Services, object(service.clone()))
            .unwrap(),
        expected
    );
    // Nothing that decisions read has changed.
    let mut touched = service.clone();
    touched["metadata"]["resourceVersion"] = json!("4");
    assert!(
        index
            .observe(Source::Services, object(touched))
            .unwrap()
            .is_empty()
    );
    assert_eq!(
        index.forget(Source::Services, &object(service)),
        BTreeSet::new()
    );
    let mut gone = json!({"metadata": {"namespace": namespace, "name": "web", "uid": "u"}});
    gone["metadata"]["resourceVersion"] = json!("9");
    assert_eq!(index.forget(Source::Services, &object(gone)), expected);
}

#[test]
fn an_object_of_ours_concerns_its_claim_when_its_spec_changes_and_not_for_its_status() {
    let index = index();
    let made = labelled("Deployment", "a-sandbox", 3);
    assert_eq!(
        index
            .observe(Source::Deployments, object(made.clone()))
            .unwrap(),
        a()
    );
    let mut running = made.clone();
    running["metadata"]["resourceVersion"] = json!("4");
    running["status"] = json!({"readyReplicas": 1});
    assert!(
        index
            .observe(Source::Deployments, object(running))
            .unwrap()
            .is_empty()
    );
    let mut edited = made;
    edited["metadata"]["resourceVersion"] = json!("5");
    edited["spec"]["replicas"] = json!(3);
    assert_eq!(
        index
            .observe(Source::Deployments, object(edited.clone()))
            .unwrap(),
        a()
    );
    assert_eq!(index.forget(Source::Deployments, &object(edited)), a());
}

#[test]
fn the_echo_of_our_own_write_concerns_nobody() {
    let index = index();
    let made = object(labelled("NetworkPolicy", "a-sandbox", 3));
    index.wrote(ObjectKind::NetworkPolicy, &made);
    assert!(
        index
            .observed(&Key::new("ns", "a"))
            .unwrap()
            .policy
            .is_some()
    );
    assert!(
        index
            .observe(Source::NetworkPolicies, made)
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_policy_is_the_claims_by_its_name_whatever_labels_it_lost_and_others_concern_nobody() {
    let index = index();
    let mut bare = labelled("NetworkPolicy", "a-sandbox", 3);
    bare["metadata"]["labels"] = json!({});
    assert_eq!(
        index
            .observe(Source::NetworkPolicies, object(bare))
            .unwrap(),
        a()
    );
    let policy = || index.observed(&Key::new("ns", "a")).unwrap().policy;
    assert!(policy().is_some());
    let theirs = object(labelled("NetworkPolicy", "theirs", 4));
    assert_eq!(
        index.observe(Source::NetworkPolicies, theirs).unwrap(),
        BTreeSet::new()
    );
    index.begin_listing(Source::NetworkPolicies);
    assert_eq!(index.end_listing(Source::NetworkPolicies), a());
    assert_eq!(policy(), None);
}

/// The baseline policy of the namespace of claim `a`.
fn guard() -> BTreeSet<Subject> {
    BTreeSet::from([Subject::Baseline("ns".to_owned())])
}

fn baseline(namespace: &str, version: u64) -> Value {
    let mut baseline = labelled("NetworkPolicy", "sandgate-baseline", version);
    baseline["metadata"]["namespace"] = json!(namespace);
    baseline["metadata"]["labels"] = json!({});
    baseline
}

// Proves: O-037
#[test]
fn a_baseline_is_looked_at_when_it_changes_or_goes_while_a_claim_is_there() {
    let index = index();
    let stands = object(baseline("ns", 3));
    assert_eq!(
        index
            .observe(Source::NetworkPolicies, stands.clone())
            .unwrap(),
        guard()
    );
    assert_eq!(index.forget(Source::NetworkPolicies, &stands), guard());
    let elsewhere = object(baseline("elsewhere", 4));
    assert!(
        index
            .observe(Source::NetworkPolicies, elsewhere)
            .unwrap()
            .is_empty()
    );
}

// Proves: O-037
#[test]
fn a_baseline_is_looked_at_while_a_pod_is_there_that_its_claim_left_behind() {
    let index = index();
    index.observe(Source::Pods, object(pod(2, true))).unwrap();
    index.forget(Source::Claims, &object(claim("a", 3)));
    let stands = object(baseline("ns", 4));
    assert_eq!(
        index
            .observe(Source::NetworkPolicies, stands.clone())
            .unwrap(),
        guard()
    );
    assert_eq!(index.forget(Source::NetworkPolicies, &stands), guard());
    assert_eq!(index.subjects(), guard());
    index.forget(Source::Pods, &object(pod(6, true)));
    let stands = object(baseline("ns", 7));
    assert!(
        index
            .observe(Source::NetworkPolicies, stands)
            .unwrap()
            .is_empty()
    );
    assert_eq!(index.subjects(), BTreeSet::new());
}

// Proves: O-037
#[test]
fn who_begins_looks_at_every_claim_and_at_the_baselines_that_stand_or_are_needed_by_a_pod() {
    let index = index();
    assert_eq!(
        index.subjects(),
        a(),
        "not built yet, for all that is known"
    );
    index
        .observe(Source::NetworkPolicies, object(baseline("ns", 3)))
        .unwrap();
    assert_eq!(index.subjects(), &guard() | &a());
    index.forget(Source::NetworkPolicies, &object(baseline("ns", 4)));
    index.observe(Source::Pods, object(pod(5, true))).unwrap();
    assert_eq!(index.subjects(), &guard() | &a());
}

#[test]
fn a_pod_concerns_its_claim_when_it_says_something_new() {
    let index = index();
    assert!(
        index
            .observe(Source::Pods, object(pod(3, false)))
            .unwrap()
            .is_empty()
    );
    let mut starting = pod(4, false);
    starting["status"]["containerStatuses"] = json!([{"name": "c", "ready": false, "image": "x",
        "imageID": "", "restartCount": 0,
        "state": {"waiting": {"reason": "ContainerCreating"}}}]);
    assert!(
        index
            .observe(Source::Pods, object(starting))
            .unwrap()
            .is_empty()
    );
    assert_eq!(
        index.observe(Source::Pods, object(pod(5, true))).unwrap(),
        a()
    );
    assert!(
        index
            .observe(Source::Pods, object(pod(6, true)))
            .unwrap()
            .is_empty()
    );
    assert_eq!(
        index.observe(Source::Pods, object(pod(7, false))).unwrap(),
        a()
    );
    assert_eq!(index.forget(Source::Pods, &object(pod(8, false))), a());
    assert!(
        index
            .observed(&Key::new("ns", "a"))
            .unwrap()
            .pods
            .is_empty()
    );
}

// Proves: C-018, O-038
#[test]
fn a_pod_that_bears_the_claims_label_in_another_namespace_is_not_the_claims() {
    let index = index();
    let mut forged = pod(5, true);
    forged["metadata"]["namespace"] = json!("elsewhere");
    index.observe(Source::Pods, object(forged)).unwrap();
    let mut set = labelled("ReplicaSet", "rs-a", 6);
    set["metadata"]["namespace"] = json!("elsewhere");
    index.observe(Source::ReplicaSets, object(set)).unwrap();
    let observed = index.observed(&Key::new("ns", "a")).unwrap();
    assert_eq!(observed.pods, []);
    assert_eq!(observed.replica_sets, []);
}

// Proves: O-038
#[test]
fn a_pod_that_finishes_or_loses_its_node_concerns_its_claim() {
    let index = index();
    index.observe(Source::Pods, object(pod(3, false))).unwrap();
    let mut silent = pod(4, false);
    let conditions = silent["status"]["conditions"].as_array_mut().unwrap();
    conditions.push(json!({"type": "ContainersReady", "status": "True"}));
    assert_eq!(index.observe(Source::Pods, object(silent)).unwrap(), a());
    let mut evicted = pod(5, false);
    evicted["status"]["phase"] = json!("Failed");
    assert_eq!(index.observe(Source::Pods, object(evicted)).unwrap(), a());
}

#[test]
fn a_replica_set_seen_after_its_pod_was_ready_concerns_the_claim() {
    let index = index();
    let set = labelled("ReplicaSet", "rs-a", 2);
    let index_before = self::index();
    assert!(
        index_before
            .observe(Source::ReplicaSets, object(set.clone()))
            .unwrap()
            .is_empty()
    );
    index.observe(Source::Pods, object(pod(5, true))).unwrap();
    assert_eq!(
        index.observe(Source::ReplicaSets, object(set)).unwrap(),
        a()
    );
}

#[test]
fn a_replica_set_that_fails_concerns_its_claim() {
    let index = index();
    let mut set = labelled("ReplicaSet", "rs-a", 2);
    set["status"] = json!({"replicas": 0, "conditions": [
        {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota"}]});
    assert_eq!(
        index.observe(Source::ReplicaSets, object(set)).unwrap(),
        a()
    );
}

#[test]
fn what_a_new_listing_does_not_show_is_gone_and_concerns_its_claims() {
    let index = index();
    index.observe(Source::Pods, object(pod(5, true))).unwrap();
    index.begin_listing(Source::Pods);
    assert_eq!(index.end_listing(Source::Pods), a());
    index.begin_listing(Source::Claims);
    index
        .observe(Source::Claims, object(claim("b", 9)))
        .unwrap();
    assert!(index.end_listing(Source::Claims).is_superset(&a()));
    assert_eq!(index.claims_in("ns"), BTreeSet::from([Key::new("ns", "b")]));
}

#[test]
fn an_object_that_cannot_be_read_is_an_error_and_its_old_state_is_forgotten() {
    let index = index();
    index
        .observe(Source::Classes, object(class(2, &json!({}))))
        .unwrap();
    let mut odd = class(3, &json!({}));
    odd["spec"]["ports"] = json!("eighty");
    let error = index.observe(Source::Classes, object(odd)).unwrap_err();
    assert_eq!(error.to_string(), "failed to read ns/py");
    let observed = index.observed(&Key::new("ns", "a")).unwrap();
    assert!(matches!(observed.class, Lookup::Missing));
}

#[test]
fn a_namespace_that_is_going_concerns_its_claims() {
    let index = index();
    let mut namespace = json!({"metadata": {"name": "ns", "uid": "n", "resourceVersion": "2"}});
    index
        .observe(Source::Namespaces, object(namespace.clone()))
        .unwrap();
    namespace["metadata"]["resourceVersion"] = json!("3");
    namespace["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(
        index
            .observe(Source::Namespaces, object(namespace))
            .unwrap(),
        a()
    );
    assert!(
        index
            .observed(&Key::new("ns", "a"))
            .unwrap()
            .namespace_terminating
    );
}

fn secret(name: &str, version: u64) -> DynamicObject {
    object(json!({
        "metadata": {"namespace": "ns", "name": name, "uid": format!("uid-{name}"),
            "resourceVersion": version.to_string()},
    }))
}

// Proves: K-029
#[test]
fn ten_thousand_secrets_that_no_connection_names_concern_nobody_and_none_is_kept() {
    let index = Index::default();
    let connection = json!({
        "metadata": {"namespace": "ns", "name": "github", "resourceVersion": "1"},
        "spec": {"hosts": ["github.com"],
            "credential": {"kind": "secret", "secretRef": {"name": "named"}}},
    });
    index
        .observe(Source::Connections, object(connection))
        .unwrap();
    let mut binds = claim("a", 1);
    binds["spec"]["connections"] = json!([{"role": "vcs", "connection": "github"}]);
    index.observe(Source::Claims, object(binds)).unwrap();
    index.begin_listing(Source::Secrets);
    assert_eq!(index.end_listing(Source::Secrets), a());

    let before = format!("{index:?}");
    for version in 2..10_002 {
        let stranger = secret(&format!("stranger-{version}"), version);
        let concerned = index.observe(Source::Secrets, stranger.clone()).unwrap();
        assert_eq!(concerned, BTreeSet::new());
        if version % 2 == 0 {
            let gone = index.forget(Source::Secrets, &stranger);
            assert_eq!(gone, BTreeSet::new());
        }
    }
    assert_eq!(format!("{index:?}"), before);
    let named = secret("named", 20_000);
    assert_eq!(index.observe(Source::Secrets, named.clone()).unwrap(), a());
    assert_eq!(index.forget(Source::Secrets, &named), a());
    assert_eq!(format!("{index:?}"), before);
}
