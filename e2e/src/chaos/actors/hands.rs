//! How objects are laid hands on that may be gone by then. Does I/O.

use std::fmt::Debug;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::{Api, Client};
use sandgate_shared::names::ALLOWLIST_FILE;
use serde_json::{Value, json};

use crate::chaos::deeds::Harm;
use crate::chaos::history::Kind;
use crate::failure::Outcome;
use crate::fake_node::{STAGE_LABEL, Stage};
use crate::scene::{Scene, manifests};

/// Who may do anything.
pub fn client(scene: &Scene) -> Client {
    scene.cluster().client()
}

/// Objects of a kind, in the scene's namespace.
pub fn api(scene: &Scene, kind: Kind) -> Api<DynamicObject> {
    Api::namespaced_with(client(scene), scene.name(), &kind.resource())
}

/// Somebody else's object of this name.
pub fn obstacle(kind: Kind, name: &str) -> Value {
    match kind {
        Kind::Deployment => manifests::deployment(name),
        Kind::Service => manifests::service(name, &json!([{ "port": 80 }])),
        Kind::Allowlist => json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "name": name },
            "data": { "theirs": "data" },
        }),
        _ => json!({
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": { "name": name },
            "spec": { "podSelector": { "matchLabels": { "app": "somebody-elses" } } },
        }),
    }
}

/// What is not there is left alone: whom it belonged to may be gone, or not built yet.
pub async fn harmed(scene: &Scene, kind: Kind, name: &str, harm: Harm) -> Outcome {
    let api = api(scene, kind);
    if harm == Harm::Delete {
        return delete(&api, name).await;
    }
    let patch = match kind {
        Kind::Policy => json!({ "spec": { "egress": [{}], "policyTypes": ["Ingress", "Egress"] } }),
        Kind::Service => json!({ "spec": { "sessionAffinity": "ClientIP" } }),
        Kind::Allowlist => {
            json!({ "data": { ALLOWLIST_FILE: r#"{"hosts":["strange.example"]}"# } })
        }
        _ => json!({ "spec": { "template": { "spec": { "hostNetwork": true } } } }),
    };
    patch_it(&api, name, &patch).await
}

/// Has the pods of this selector go through another stage.
pub async fn relabelled(scene: &Scene, selector: &str, stage: Stage) -> Outcome {
    let pods: Api<Pod> = scene.api();
    let patch = json!({ "metadata": { "labels": { STAGE_LABEL: stage.label() } } });
    for pod in pods
        .list(&ListParams::default().labels(selector))
        .await?
        .items
    {
        let name = pod.metadata.name.unwrap_or_default();
        patch_it(&pods, &name, &patch).await?;
    }
    Ok(())
}

/// Changes an object, if it is there.
pub async fn patch_it<K>(api: &Api<K>, name: &str, patch: &Value) -> Outcome
where
    K: Clone + serde::de::DeserializeOwned + Debug,
{
    let (how, patch) = (PatchParams::default(), Patch::Merge(patch));
    unless_gone(api.patch(name, &how, &patch).await.map(drop))
}

/// Deletes an object, if it is there.
pub async fn delete(api: &Api<DynamicObject>, name: &str) -> Outcome {
    let how = DeleteParams::default();
    unless_gone(api.delete(name, &how).await.map(drop))
}

fn unless_gone(done: kube::Result<()>) -> Outcome {
    match done {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        done => Ok(done?),
    }
}
