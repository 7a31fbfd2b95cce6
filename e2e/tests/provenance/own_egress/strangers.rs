//! What strangers do to a proxy's objects, and what becomes of it.

use k8s_openapi::api::core::v1::ConfigMap;
use sandgate_e2e::scene::{condition, phase};
use sandgate_e2e::{Cluster, Outcome};
use sandgate_shared::api::{ClaimPhase, Connection, SandboxClaim};
use serde_json::json;

use super::{bound, lets_through, proxy_pod, scene};
use crate::options;

// Proves: E-011, O-040
#[tokio::test]
async fn an_allowlist_that_was_made_immutable_is_made_anew_with_the_pod_that_mounts_it() -> Outcome
{
    let cluster = Cluster::own(options()).await?;
    let scene = scene(&cluster, "immutable").await?;
    bound(&scene, &scene.operator().await?).await?;
    let before = proxy_pod(&scene).await?;
    let edit = json!({ "immutable": true });
    scene.merge::<ConfigMap>("agent-egress", edit).await?;
    let edit = json!({ "spec": { "hosts": ["github.com"] } });
    scene.merge::<Connection>("api", edit).await?;
    lets_through(&scene, &["github.com"]).await?;
    scene
        .becomes(
            "agent",
            "says that its proxy answers",
            |claim: &SandboxClaim| {
                let told = condition(claim, "EgressProxyReady");
                told.is_some_and(|it| it.0 == "True") && phase(claim) == Some(ClaimPhase::Bound)
            },
        )
        .await?;
    assert_ne!(proxy_pod(&scene).await?, before);
    Ok(())
}
