//! A claim with a proxy that is made again under its name while something of the one before still stands.

use std::fmt::Debug;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::Resource;
use kube::api::DeleteParams;
use sandgate_e2e::scene::{Scene, condition, ready, uid};
use sandgate_e2e::{Cluster, Outcome};
use sandgate_shared::api::SandboxClaim;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{bind, bound, scene};
use crate::options;

/// All that has a claim's names, as `Service agent-egress`.
async fn standing(scene: &Scene) -> Outcome<Vec<String>> {
    let all = [
        ("ConfigMap", scene.names::<ConfigMap>().await?),
        ("Deployment", scene.names::<Deployment>().await?),
        ("NetworkPolicy", scene.names::<NetworkPolicy>().await?),
        ("Service", scene.names::<Service>().await?),
    ];
    let all = all.iter().flat_map(|(kind, names)| {
        let ours = names.iter().filter(|name| name.starts_with("agent-"));
        ours.map(move |name| format!("{kind} {name}"))
    });
    Ok(all.collect())
}

/// Waits until the proxy's object of this kind is gone, unless it is the one that `remains`.
async fn proxy_goes<K>(scene: &Scene, remains: &str) -> Outcome
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    K: Clone + DeserializeOwned + Serialize + Debug + Send + 'static,
{
    if remains == named::<K>() {
        return Ok(());
    }
    scene.vanishes::<K>("agent-egress").await
}

fn named<K: Resource<DynamicType = ()>>() -> String {
    format!("{} agent-egress", K::kind(&()))
}

/// Makes the claim again while an object of its proxy is kept from going, and then lets that go.
async fn made_again<K>(cluster: &Cluster) -> Outcome
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    K: Clone + DeserializeOwned + Serialize + Debug + Send + 'static,
{
    let remains = named::<K>();
    let finalizers = |of: &[&str]| json!({ "metadata": { "finalizers": of } });
    let scene = scene(cluster, "again").await?;
    let operator = scene.operator().await?;
    let before = bound(&scene, &operator).await?;
    let held = finalizers(&["sandgate.dev/of-a-test"]);
    scene.merge::<K>("agent-egress", held).await?;
    let claims = scene.api::<SandboxClaim>();
    claims.delete("agent", &DeleteParams::background()).await?;
    scene.vanishes::<SandboxClaim>("agent").await?;
    bind(&operator, "agent", &["api"]).await?;

    let waits = scene
        .becomes("agent", "waits for what is held", |claim: &SandboxClaim| {
            let (reason, message) = ready(claim);
            reason == "PreviousObjectsRemain" && message.starts_with(&format!("{remains} "))
        })
        .await?;
    assert_ne!(uid(&waits), uid(&before));
    assert!(condition(&waits, "Admitted").is_some());
    // Nothing was made in the place of what is gone.
    scene.vanishes::<Deployment>("agent-sandbox").await?;
    scene.vanishes::<Service>("agent-sandbox").await?;
    scene.vanishes::<NetworkPolicy>("agent-sandbox").await?;
    proxy_goes::<Deployment>(&scene, &remains).await?;
    proxy_goes::<Service>(&scene, &remains).await?;
    proxy_goes::<ConfigMap>(&scene, &remains).await?;
    proxy_goes::<NetworkPolicy>(&scene, &remains).await?;
    assert_eq!(standing(&scene).await?, [remains]);

    scene.merge::<K>("agent-egress", finalizers(&[])).await?;
    scene.bound("agent").await?;
    assert_eq!(standing(&scene).await?.len(), 7);
    Ok(())
}

// Proves: E-002, C-029
#[tokio::test]
async fn a_claim_made_again_at_once_waits_until_the_proxy_of_the_one_before_is_gone() -> Outcome {
    let cluster = Cluster::own(options()).await?;
    tokio::try_join!(
        made_again::<Deployment>(&cluster),
        made_again::<Service>(&cluster),
        made_again::<ConfigMap>(&cluster),
        made_again::<NetworkPolicy>(&cluster),
    )?;
    Ok(())
}
