//! A cluster whose API server knows no ValidatingAdmissionPolicy.

use k8s_openapi::api::apps::v1::Deployment;
use sandgate_e2e::{Cluster, Options, Outcome, Stage};
use sandgate_shared::reason;
use serde_json::json;

use crate::audit;
use crate::manifests::{self, claim_with, enrolment};
use crate::scene::{Scene, ready};

// Proves: P-020, P-021, P-022, P-024
#[tokio::test]
async fn without_the_policy_scratch_claims_bind_and_those_that_need_proof_fail() -> Outcome {
    let mut options = Options::default();
    options.control_plane.policy_api = false;
    let cluster = Cluster::own(options).await?;
    let policies = ["get", "validatingadmissionpolicies"];
    let said = cluster.kubectl(&policies, None).await?;
    assert!(
        said.stderr.contains("doesn't have a resource type"),
        "{}",
        said.stderr
    );

    let scene = Scene::on(&cluster, "before-1-30").await?;
    scene.claims("scratch", Stage::Ready).await?;
    let mount = json!({ "mounts": [{ "role": "project", "id": "shop", "path": "projects/shop" }] });
    let connections = json!({ "connections": [{ "role": "vcs", "connection": "c" }] });
    let target = json!({ "targetPath": "projects/shop" });
    let granted = [
        (
            claim_with("mounts", "scratch", &mount),
            reason::MOUNT_NOT_GRANTED,
        ),
        (
            claim_with("binds", "scratch", &connections),
            reason::CONNECTIONS_NOT_GRANTED,
        ),
        (
            claim_with("proof", "scratch", &target),
            "TargetPathNotGranted",
        ),
        (
            enrolment("enrols", "scratch", "c"),
            reason::ENROLMENT_NOT_GRANTED,
        ),
    ];
    let operator = scene.operator().await?;
    for (claim, reason) in &granted {
        // The webhook alone keeps what is the operator's from anyone else.
        let refused = scene.user().rejects(claim).await?;
        assert_eq!(refused.code, 403);
        operator.accepts(claim).await?;
        let name = claim["metadata"]["name"].as_str().unwrap();
        let failed = scene.failed(name, reason).await?;
        let why = ready(&failed).1;
        assert!(
            why.contains("does not serve ValidatingAdmissionPolicy"),
            "{why}"
        );
    }
    scene.bound("scratch").await?;
    scene
        .user()
        .accepts(&manifests::claim("after", "scratch"))
        .await?;
    scene.bound("after").await?;
    let deployments = scene.names::<Deployment>().await?;
    assert_eq!(deployments, ["after-sandbox", "scratch-sandbox"]);
    let ours = audit::up_to_now(&scene, audit::CONTROLLER).await?;
    audit::assert_nothing_was_forbidden(&ours);
    Ok(())
}
