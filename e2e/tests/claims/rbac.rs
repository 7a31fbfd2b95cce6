//! Whom the API server hears, and that what it is asked for is granted.

use std::collections::BTreeSet;

use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use kube::Api;
use kube::api::PostParams;
use sandgate_e2e::{Cluster, Outcome, Stage};
use sandgate_shared::names::GROUP;
use serde_json::json;

use crate::audit::{self, CONTROLLER};
use crate::scene::Scene;

// Proves: X-017, P-027
#[tokio::test]
async fn the_controller_acts_as_its_own_account_and_asks_for_nothing_it_may_not_have() -> Outcome {
    let scene = Scene::shared("rights").await?;
    scene.claims("plain", Stage::Ready).await?;
    scene.bound("plain").await?;
    // Of all tests that shared this cluster so far.
    let ours = audit::up_to_now(&scene, CONTROLLER).await?;
    audit::assert_nothing_was_forbidden(&ours);
    let asked = audit::up_to_now(&scene, scene.name()).await?;
    let wrote = asked.iter().filter(|it| it.wrote());
    let here = wrote.filter(|it| it.namespace() == scene.name());
    let writers = |resource: &str| -> BTreeSet<&str> {
        let of_claim = |name: &str| name == "plain" || name == "plain-sandbox";
        here.clone()
            .filter(|it| it.resource() == resource && of_claim(it.name()))
            .map(audit::Request::user)
            .collect()
    };
    for resource in ["sandboxclaims/status", "services", "networkpolicies"] {
        assert_eq!(
            writers(resource),
            BTreeSet::from([CONTROLLER]),
            "{resource}"
        );
    }
    assert_eq!(writers("sandboxclaims"), BTreeSet::from(["alice"]));
    let made = here.filter(|it| it.resource() == "deployments" && it.verb() == "create");
    let makers: Vec<&str> = made.map(audit::Request::user).collect();
    assert_eq!(makers, [CONTROLLER]);
    Ok(())
}

/// Whether the API server lets a ServiceAccount do something to claims in its namespace.
async fn may(
    cluster: &Cluster,
    (namespace, account): (&str, &str),
    verb: &str,
    subresource: &str,
) -> Outcome<bool> {
    let question: SubjectAccessReview = serde_json::from_value(json!({ "spec": {
        "user": format!("system:serviceaccount:{namespace}:{account}"),
        "groups": [
            "system:serviceaccounts",
            format!("system:serviceaccounts:{namespace}"),
            "system:authenticated",
        ],
        "resourceAttributes": {
            "group": GROUP,
            "resource": "sandboxclaims",
            "subresource": subresource,
            "namespace": namespace,
            "verb": verb,
        },
    } }))?;
    let reviews: Api<SubjectAccessReview> = Api::all(cluster.client());
    let answer = reviews.create(&PostParams::default(), &question).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

// Proves: X-001
#[tokio::test]
async fn no_identity_of_an_agent_or_a_sandbox_may_touch_claims_or_their_status() -> Outcome {
    const VERBS: [&str; 8] = [
        "get",
        "list",
        "watch",
        "create",
        "update",
        "patch",
        "delete",
        "deletecollection",
    ];
    let scene = Scene::shared("agents").await?;
    let cluster = scene.cluster();
    // The platform's agents run as accounts of their own, pods without one as `default`.
    for account in ["agent", "default"] {
        for subresource in ["", "status", "finalizers"] {
            for verb in VERBS {
                let who = (scene.name(), account);
                let may = may(cluster, who, verb, subresource).await?;
                assert!(!may, "{account} may {verb} sandboxclaims/{subresource}");
            }
        }
    }
    // The same question about the operator is answered otherwise.
    let operator = ("sandgate-system", "sandgate-controller");
    assert!(may(cluster, operator, "patch", "status").await?);
    assert!(!may(cluster, operator, "create", "").await?);
    Ok(())
}
