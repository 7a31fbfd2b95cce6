//! Administrators, components of the cluster, and users of whom little is known.

use sandgate_shared::rules::Subject;
use serde_json::{Value, json};

use crate::desk::{Way, decide_dry_too, review};
use crate::identities::is_refused;
use crate::objects::{bent, good, set};

const CLAIM: Subject = Subject::SandboxClaim;

fn components() -> Vec<(&'static str, Value)> {
    let account = |name: &str, namespace: &str| {
        json!({
            "username": format!("system:serviceaccount:{namespace}:{name}"),
            "uid": "5d1f6c1e-7b0e-4a51-9d0c-2f6a55a1c777",
            "groups": ["system:serviceaccounts", format!("system:serviceaccounts:{namespace}"), "system:authenticated"],
            "extra": {"authentication.kubernetes.io/pod-name": ["p"]},
        })
    };
    vec![
        (
            "an administrator",
            json!({"username": "admin", "groups": ["system:masters", "system:authenticated"]}),
        ),
        (
            "a cluster-admin",
            json!({"username": "root@example.org", "groups": ["admins", "system:authenticated"]}),
        ),
        (
            "the controller manager",
            json!({"username": "system:kube-controller-manager", "groups": ["system:authenticated"]}),
        ),
        (
            "the garbage collector",
            account("generic-garbage-collector", "kube-system"),
        ),
        (
            "the namespace controller",
            account("namespace-controller", "kube-system"),
        ),
        (
            "a deployer",
            account("argocd-application-controller", "argocd"),
        ),
        (
            "a node",
            json!({"username": "system:node:worker-1", "groups": ["system:nodes", "system:authenticated"]}),
        ),
        (
            "an anonymous client",
            json!({"username": "system:anonymous", "groups": ["system:unauthenticated"]}),
        ),
        ("a user nothing is known of", json!({})),
        (
            "a user of nulls",
            json!({"username": null, "uid": null, "groups": null, "extra": null}),
        ),
    ]
}

// Proves: W-012, W-016, W-017, W-018, P-002, P-003, P-031
#[test]
fn nobody_else_passes_for_the_operator_and_everybody_may_let_a_claim_go() {
    let claim = good(CLAIM);
    let held = bent(
        claim.clone(),
        &[set("/metadata/finalizers", json!(["example.org/keep"]))],
    );
    for (name, writer) in components() {
        is_refused(name, &writer);
        let plain = decide_dry_too(&review(CLAIM, Way::Create, &claim, &claim, &writer));
        assert!(plain.is(""), "{name}, a plain claim: {plain:?}");
        let freed = decide_dry_too(&review(CLAIM, Way::Update, &held, &claim, &writer));
        assert!(freed.is(""), "{name}, a finalizer removed: {freed:?}");
        let mut deletion = review(CLAIM, Way::Create, &claim, &claim, &writer);
        deletion["request"]["operation"] = json!("DELETE");
        deletion["request"]["oldObject"] = deletion["request"]["object"].take();
        let deleted = decide_dry_too(&deletion);
        assert!(deleted.is(""), "{name}, a deletion: {deleted:?}");
    }
}

// Proves: W-017
#[test]
fn owner_references_stay_editable_as_garbage_collection_needs() {
    let owner = |name: &str, controller: bool, block: bool| {
        json!({"apiVersion": "omnia.altairalabs.ai/v1alpha1", "kind": "AgentRuntime", "name": name,
            "uid": "u", "controller": controller, "blockOwnerDeletion": block})
    };
    let claim_of = |owners: Value| bent(good(CLAIM), &[set("/metadata/ownerReferences", owners)]);
    let old = claim_of(json!([owner("my-agent", false, true)]));
    for (name, new) in [
        ("removed", good(CLAIM)),
        (
            "pointed elsewhere",
            claim_of(json!([owner("other", false, true)])),
        ),
        (
            "made the controller",
            claim_of(json!([owner("my-agent", true, true)])),
        ),
        (
            "no longer blocking",
            claim_of(json!([owner("my-agent", false, false)])),
        ),
        ("emptied", claim_of(json!([]))),
    ] {
        for (_, writer) in components() {
            let decided = decide_dry_too(&review(CLAIM, Way::Update, &old, &new, &writer));
            assert!(decided.is(""), "{name}: {decided:?}");
        }
    }
}
