//! A right that the operator lost and got back.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use sandgate_e2e::namespace::DEADLINE;
use sandgate_e2e::{Cluster, Options, Outcome, OwnCluster, Stage};
use sandgate_shared::api::SandboxClaim;
use serde_json::json;

use crate::audit::CONTROLLER;
use crate::scene::{Scene, addresses, condition, ready};

/// The authorizer tells nobody when it knows an edited role; it is asked this often.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// Puts a role in place and waits until the operator may, or may not, create and update Deployments.
async fn put(cluster: &OwnCluster, role: &ClusterRole, may: bool) -> Outcome {
    let roles: Api<ClusterRole> = Api::all(cluster.client());
    let patch = Patch::Merge(json!({ "rules": role.rules }));
    let how = PatchParams::default();
    roles.patch("sandgate", &how, &patch).await?;
    let reviews: Api<SubjectAccessReview> = Api::all(cluster.client());
    let mut turn = tokio::time::interval(ASK_EVERY);
    let known = async {
        for verb in ["create", "update"] {
            let question: SubjectAccessReview = serde_json::from_value(json!({ "spec": {
                "user": CONTROLLER,
                "resourceAttributes": {
                    "group": "apps",
                    "resource": "deployments",
                    "namespace": "default",
                    "verb": verb,
                },
            } }))?;
            loop {
                turn.tick().await;
                let answer = reviews.create(&PostParams::default(), &question).await?;
                if answer.status.is_some_and(|status| status.allowed == may) {
                    break;
                }
            }
        }
        Outcome::Ok(())
    };
    tokio::time::timeout(DEADLINE, known).await?
}

// Proves: C-032
#[tokio::test]
async fn a_right_the_operator_lacks_delays_a_claim_and_leaves_a_bound_one_bound() -> Outcome {
    let cluster = Cluster::own(Options::default()).await?;
    let scene = Scene::on(&cluster, "rights").await?;
    scene.claims("running", Stage::Ready).await?;
    let running = scene.bound("running").await?;
    let roles: Api<ClusterRole> = Api::all(cluster.client());
    let whole = roles.get("sandgate").await?;
    let mut less = whole.clone();
    for rule in less.rules.iter_mut().flatten() {
        let of = rule.resources.clone().unwrap_or_default();
        if of.iter().any(|resource| resource == "deployments") {
            rule.verbs
                .retain(|verb| verb != "create" && verb != "update");
        }
    }
    put(&cluster, &less, false).await?;

    scene.claims("waiting", Stage::Ready).await?;
    let waits = scene.pending("waiting", "OperatorForbidden").await?;
    let said = ready(&waits).1;
    assert!(
        said.contains("cannot create resource \"deployments\""),
        "{said}"
    );
    // What shuts it stands all the same.
    scene.get::<NetworkPolicy>("waiting-sandbox").await?;
    scene.get::<Service>("waiting-sandbox").await?;

    // One that runs says so beside its readiness, which is what it was.
    let more = json!({ "spec": { "replicas": 2 } });
    scene.merge::<Deployment>("running-sandbox", more).await?;
    let told = scene
        .becomes(
            "running",
            "says ObjectsCurrent=False",
            |claim: &SandboxClaim| {
                condition(claim, "ObjectsCurrent").is_some_and(|it| it.0 == "False")
            },
        )
        .await?;
    assert_eq!(
        condition(&told, "ObjectsCurrent").unwrap().1,
        "OperatorForbidden"
    );
    assert_eq!(condition(&told, "Ready").unwrap().0, "True");
    assert_eq!(addresses(&told), addresses(&running));

    put(&cluster, &whole, true).await?;
    scene.bound("waiting").await?;
    scene
        .becomes(
            "running",
            "says ObjectsCurrent=True",
            |claim: &SandboxClaim| {
                let current = condition(claim, "ObjectsCurrent");
                current.is_some_and(|it| it.0 == "True" && it.1 == "ObjectsWritten")
            },
        )
        .await?;
    let healed = scene.get::<Deployment>("running-sandbox").await?;
    assert_eq!(healed["spec"]["replicas"], 1);
    Ok(())
}
