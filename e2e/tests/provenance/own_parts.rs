//! Claims with each of the parts that only the operator may write, while the policy is in force.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use sandgate_e2e::pair::{Pair, is_verified};
use sandgate_e2e::scene::manifests::{self, claim_with, enrolment};
use sandgate_e2e::scene::{Scene, condition, ready};
use sandgate_e2e::{Cluster, Outcome, Stage, service};
use sandgate_shared::reason;
use serde_json::json;

use crate::options;

// Proves: P-015, P-016, C-036
#[tokio::test]
async fn a_claim_of_the_operator_is_verified_and_what_cannot_be_built_here_owns_nothing() -> Outcome
{
    let cluster = Cluster::own(options()).await?;
    let scene = Scene::on(&cluster, "parts").await?;
    let mut class = manifests::with_workspace(manifests::class("full", Stage::Ready));
    class["spec"]["mounts"] = json!([{ "role": "scratch" }, { "role": "project" }]);
    scene.with_content().await?;
    scene.accepts(&class).await?;
    let operator = scene.operator().await?;
    let pair = Pair::ours(&cluster);
    pair.in_force().await?;
    let project = json!({ "role": "project", "id": "shop", "path": "projects/shop" });
    let claims = [
        claim_with("mounts", "full", &json!({ "mounts": [project] })),
        claim_with("mount", "full", &json!({ "mount": project })),
        claim_with(
            "session",
            "full",
            &json!({ "mounts": [{ "role": "session" }], "handle": "box/default" }),
        ),
        enrolment("enrols", "full", "portal"),
    ];
    for claim in &claims {
        operator.accepts(claim).await?;
    }
    for claim in &claims {
        let name = claim["metadata"]["name"].as_str().unwrap();
        let told = match name {
            "session" => scene.failed(name, "SessionWorkspaceUnavailable").await?,
            "enrols" => scene.pending(name, "PartNotBuilt").await?,
            // This installation does not see the content of workspaces (Q37).
            _ => scene.failed(name, "InvalidMount").await?,
        };
        assert!(is_verified(&told), "{name}");
        let verified = condition(&told, "ProvenanceVerified").unwrap();
        assert_eq!(verified.1, reason::WRITTEN_BY_OPERATOR, "{name}");
        let (_, message) = ready(&told);
        let why = ["does not build yet", "without --workspace-content-path"];
        assert!(why.iter().any(|why| message.contains(why)), "{message}");
        assert_eq!(told.status.unwrap().sandbox_name, None);
    }
    // A targetPath asks for nothing but a record. It is served after them, so nothing of theirs is
    // still to come.
    let target = json!({ "targetPath": "projects/shop" });
    operator
        .accepts(&claim_with("target", "full", &target))
        .await?;
    assert!(is_verified(&scene.bound("target").await?));
    assert_eq!(scene.names::<Deployment>().await?, ["target-sandbox"]);
    assert_eq!(scene.names::<Service>().await?, ["target-sandbox"]);
    let policies = scene.names::<NetworkPolicy>().await?;
    assert_eq!(policies, ["sandgate-baseline", "target-sandbox"]);

    // How long the policy took to be seen at work can be scraped.
    let controller = cluster.installation.controller.as_ref().unwrap();
    let (_, metrics) = service::get(&controller.service.health_address(), "/metrics").await?;
    let name = "sandgate_controller_policy_first_refusal_seconds ";
    let line = metrics.lines().find_map(|line| line.strip_prefix(name));
    let seconds: u64 = line.unwrap().parse()?;
    let proven = "sandgate_controller_policy_proven 1";
    assert!(metrics.lines().any(|line| line == proven), "{metrics}");
    let record = pair.record().await?;
    let made = record.metadata.creation_timestamp.unwrap().0;
    let policy = pair.policies().get(pair.name()).await?;
    let policy = policy.metadata.creation_timestamp.unwrap().0;
    assert_eq!(
        i64::try_from(seconds)?,
        made.as_second() - policy.as_second()
    );
    Ok(())
}
