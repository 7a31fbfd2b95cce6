//! Claims of classes with a workspace: the volume claim of its content, and what the claim does without.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use sandgate_e2e::{Outcome, Stage};
use sandgate_shared::api::SandboxClaim;
use sandgate_shared::api::outside::Workspace;
use serde_json::json;

use crate::manifests::{self, content_claim, with_workspace};
use crate::scene::{Scene, ready, uid};

// Proves: C-023, C-025, M-010, O-018
#[tokio::test]
async fn the_volume_claim_of_a_workspace_is_made_once_and_each_claim_mounts_a_directory_of_it()
-> Outcome {
    let scene = Scene::shared("content").await?;
    scene.with_content().await?;
    let class = with_workspace(manifests::class("one", Stage::Ready));
    scene.claims_class("one", &class).await?;
    let one = scene.bound("one").await?;
    let claim = content_claim(scene.name());
    let made = scene.get::<PersistentVolumeClaim>(&claim).await?;
    assert!(made["metadata"]["ownerReferences"].is_null(), "{made}");
    scene
        .user()
        .accepts(&manifests::claim("two", "one"))
        .await?;
    let two = scene.bound("two").await?;
    for bound in [&one, &two] {
        let path = format!("sandboxes/{}", uid(bound));
        let status = bound.status.as_ref().unwrap();
        assert_eq!(status.volume_sub_path.as_ref(), Some(&path));
        let pods: Api<Pod> = Api::namespaced(scene.client(), scene.name());
        let label = format!("omnia.altairalabs.ai/sandbox-claim-uid={}", uid(bound));
        let pods = pods.list(&ListParams::default().labels(&label)).await?;
        let pod = serde_json::to_value(&pods.items[0])?;
        let spec = &pod["spec"];
        let volume = json!({
            "name": "sandgate-workspace",
            "persistentVolumeClaim": { "claimName": claim },
        });
        assert_eq!(spec["volumes"], json!([volume]));
        let mount = json!({
            "name": "sandgate-workspace", "mountPath": "/workspace", "subPath": path,
        });
        assert_eq!(spec["containers"][0]["volumeMounts"], json!([mount]));
    }
    let stands = scene.get::<PersistentVolumeClaim>(&claim).await?;
    assert_eq!(stands["metadata"]["uid"], made["metadata"]["uid"]);
    Ok(())
}

// Proves: C-024, C-031
#[tokio::test]
async fn without_a_workspace_that_keeps_content_a_claim_fails_and_gets_nothing() -> Outcome {
    let scene = Scene::shared("no-content").await?;
    let class = with_workspace(manifests::class("unowned", Stage::Ready));
    scene.claims_class("unowned", &class).await?;
    let failed = scene.failed("unowned", "NoWorkspaceStorage").await?;
    let told = ready(&failed).1;
    assert!(told.contains("no Workspace owns namespace"), "{told}");
    // A class without a workspace does not look for one.
    scene.claims("plain", Stage::Ready).await?;
    scene.bound("plain").await?;
    let mut workspace = manifests::workspace(scene.name(), scene.name());
    workspace["spec"]["storage"]["enabled"] = json!(false);
    scene.accepts(&workspace).await?;
    scene
        .user()
        .accepts(&manifests::claim("disabled", "unowned"))
        .await?;
    let failed = scene.failed("disabled", "NoWorkspaceStorage").await?;
    let told = ready(&failed).1;
    assert!(told.contains("spec.storage.enabled"), "{told}");
    assert_eq!(scene.names::<Deployment>().await?, ["plain-sandbox"]);
    assert_eq!(scene.names::<PersistentVolumeClaim>().await?, [""; 0]);
    Ok(())
}

// Proves: C-023
#[tokio::test]
async fn a_claim_waits_for_storage_and_goes_on_once_the_volume_claim_can_be_made() -> Outcome {
    let scene = Scene::shared("awaited").await?;
    let name = scene.name().to_owned();
    scene
        .accepts(&manifests::content_volume(&name, &name))
        .await?;
    let mut workspace = manifests::workspace(&name, &name);
    let storage = workspace["spec"]["storage"].as_object_mut().unwrap();
    storage.remove("size");
    scene.accepts(&workspace).await?;
    let class = with_workspace(manifests::class("waits", Stage::Ready));
    scene.claims_class("waits", &class).await?;
    let waits: SandboxClaim = scene.pending("waits", "WaitingForStorage").await?;
    let told = ready(&waits).1;
    assert!(told.contains("spec.storage.size"), "{told}");
    assert!(waits.status.unwrap().volume_sub_path.is_some());
    assert_eq!(scene.names::<Deployment>().await?, [""; 0]);
    let size = json!({ "spec": { "storage": { "size": "1Gi" } } });
    let workspaces: Api<Workspace> = Api::all(scene.client());
    let how = PatchParams::default();
    workspaces.patch(&name, &how, &Patch::Merge(size)).await?;
    scene.bound("waits").await?;
    Ok(())
}
