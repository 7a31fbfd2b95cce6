//! A deleted claim: the garbage collector takes all of it, and its last pod stays shut in.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Pod, Service};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::{DeleteParams, ListParams};
use kube::{Api, ResourceExt as _};
use sandgate_e2e::fake_node::STAGE_LABEL;
use sandgate_e2e::{Outcome, Stage};
use sandgate_shared::api::SandboxClaim;
use serde_json::json;

use crate::audit::{self, Request};
use crate::manifests;
use crate::scene::Scene;

// Proves: O-002, O-037
#[tokio::test]
async fn a_deleted_claims_objects_go_while_its_terminating_pod_stays_shut_in() -> Outcome {
    let scene = Scene::shared("going").await?;
    scene.claims("going", Stage::Lingering).await?;
    scene.bound("going").await?;
    let before = audit::of_controller(&scene).await?.len();
    scene
        .api::<SandboxClaim>()
        .delete("going", &DeleteParams::default())
        .await?;
    scene.vanishes::<SandboxClaim>("going").await?;
    scene.vanishes::<NetworkPolicy>("going-sandbox").await?;
    scene.vanishes::<Service>("going-sandbox").await?;
    scene.vanishes::<Deployment>("going-sandbox").await?;

    // Its own policy is gone; its pod still runs, and the baseline still selects it.
    let baseline = scene
        .api::<NetworkPolicy>()
        .get("sandgate-baseline")
        .await?;
    let selected = baseline
        .spec
        .unwrap()
        .pod_selector
        .unwrap()
        .match_labels
        .unwrap();
    let selected: Vec<String> = selected
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let shut = ListParams::default().labels(&selected.join(","));
    let pods = scene.api::<Pod>().list(&shut).await?.items;
    assert_eq!(pods.len(), 1);
    let pod = pods[0].name_any();
    scene
        .becomes(&pod, "is terminating", |pod: &Pod| {
            pod.metadata.deletion_timestamp.is_some()
        })
        .await?;

    // The same name again, while the old pod is still there: new objects, and it is not their pod.
    scene
        .user()
        .accepts(&manifests::claim("going", "going"))
        .await?;
    scene.bound("going").await?;
    assert_eq!(scene.names::<Pod>().await?.len(), 2);

    let end = json!({ "metadata": { "labels": { STAGE_LABEL: Stage::Ready.label() } } });
    scene.merge::<Pod>(&pod, end).await?;
    scene.vanishes::<Pod>(&pod).await?;
    scene.get::<NetworkPolicy>("sandgate-baseline").await?;
    // The controller had no part in it: it wrote nothing but the objects of the second claim.
    let asked = audit::of_controller(&scene).await?;
    let writes = asked.iter().skip(before).filter(|it| it.wrote());
    let sentences: Vec<String> = writes.map(Request::sentence).collect();
    assert!(
        sentences.iter().all(|it| !it.starts_with("delete")),
        "{sentences:?}"
    );
    let objects = sentences
        .iter()
        .filter(|it| !it.contains("sandboxclaims") && !it.contains("events"));
    assert_eq!(objects.count(), 3, "{sentences:?}");
    Ok(())
}

// Proves: O-002
#[tokio::test]
async fn a_claim_deleted_in_the_foreground_goes_last() -> Outcome {
    let scene = Scene::shared("foreground").await?;
    scene.claims("going", Stage::Ready).await?;
    scene.bound("going").await?;
    let how = DeleteParams::foreground();
    scene.api::<SandboxClaim>().delete("going", &how).await?;
    scene.vanishes::<SandboxClaim>("going").await?;
    assert_eq!(scene.names::<Deployment>().await?, Vec::<String>::new());
    assert_eq!(scene.names::<Service>().await?, Vec::<String>::new());
    assert_eq!(scene.names::<NetworkPolicy>().await?, ["sandgate-baseline"]);
    // Whatever of it was still being looked after while it went was not made again.
    let asked = audit::of_controller(&scene).await?;
    let made = asked
        .iter()
        .filter(|it| it.wrote() && it.verb() == "create");
    let made: Vec<String> = made.map(Request::sentence).collect();
    assert_eq!(
        made.iter()
            .filter(|it| it.contains("going-sandbox"))
            .count(),
        3,
        "{made:?}"
    );
    Ok(())
}

// Proves: C-032
#[tokio::test]
async fn a_claim_in_a_namespace_that_goes_is_left_alone() -> Outcome {
    let scene = Scene::shared("leaving").await?;
    scene.claims("leaving", Stage::Lingering).await?;
    scene.bound("leaving").await?;
    let pod = scene.names::<Pod>().await?.remove(0);
    let before = audit::of_controller(&scene).await?.len();
    let namespaces: Api<Namespace> = Api::all(scene.client());
    let how = DeleteParams::default();
    namespaces.delete(scene.name(), &how).await?;
    // Pods go first; nothing else does while one is left.
    scene
        .becomes(&pod, "is terminating", |pod: &Pod| {
            pod.metadata.deletion_timestamp.is_some()
        })
        .await?;
    let policies = scene.names::<NetworkPolicy>().await?;
    assert_eq!(policies, ["leaving-sandbox", "sandgate-baseline"]);
    let end = json!({ "metadata": { "labels": { STAGE_LABEL: Stage::Ready.label() } } });
    scene.merge::<Pod>(&pod, end).await?;
    scene.vanishes::<Pod>(&pod).await?;
    // A claim made after all that is served, so this one has been looked at.
    let other = Scene::shared("staying").await?;
    other.claims("staying", Stage::Ready).await?;
    other.bound("staying").await?;
    let all = audit::up_to_now(&other, scene.name()).await?;
    let ours = all
        .iter()
        .filter(|it| it.namespace() == scene.name() && it.of_controller());
    let after: Vec<String> = ours.skip(before).map(Request::sentence).collect();
    assert_eq!(after, Vec::<String>::new());
    Ok(())
}
