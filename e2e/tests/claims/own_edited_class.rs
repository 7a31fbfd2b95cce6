//! A class that is edited while a claim of it is being built, by a controller that does not live to tell.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::ListParams;
use sandgate_e2e::fake_node::STAGE_LABEL;
use sandgate_e2e::namespace::DEADLINE;
use sandgate_e2e::{Cluster, Options, Outcome, Stage};
use sandgate_shared::api::SandboxClass;
use serde_json::json;

use crate::scene::{Scene, condition};

/// How long a silent leader keeps the Lease.
const LEASE: Duration = Duration::from_secs(4);

// Proves: C-034, O-040
#[tokio::test]
async fn a_class_edited_between_the_deployment_and_the_bind_rolls_nothing_after_a_kill() -> Outcome
{
    let mut options = Options::default();
    let lease = format!("--lease-duration={}s", LEASE.as_secs());
    options.installation.controller_arguments = vec![lease];
    let mut cluster = Cluster::own(options).await?;
    let scene = Scene::on(&cluster, "edited").await?;
    scene.claims("edited", Stage::NeverReady).await?;
    scene
        .becomes("edited-sandbox", "runs its pod", |it: &Deployment| {
            let status = it.status.as_ref();
            status.and_then(|status| status.unavailable_replicas) == Some(1)
        })
        .await?;
    let pending = scene.pending("edited", "SandboxStarting").await?;
    let before = pending.status.unwrap();
    assert!(before.applied.is_none(), "nothing of it was recorded yet");
    let stood = scene.get::<Deployment>("edited-sandbox").await?;

    let first = &mut cluster.installation.controller.as_mut().unwrap().service;
    first.kill();
    let edit = json!({ "spec": { "env": [{ "name": "EDITED", "value": "since" }] } });
    scene.merge::<SandboxClass>("edited", edit).await?;
    let mut second = cluster.second_controller().await?;
    second.service.answers("/readyz", DEADLINE).await?;
    let pods = scene.api::<Pod>().list(&ListParams::default()).await?;
    let recover = json!({ "metadata": { "labels": { STAGE_LABEL: Stage::Ready.label() } } });
    scene
        .merge::<Pod>(&pods.items[0].name_any(), recover)
        .await?;

    let bound = scene.bound("edited").await?;
    assert_eq!(condition(&bound, "SandboxModified"), None);
    let after = bound.status.unwrap();
    assert_eq!(after.template_hash, before.template_hash);
    assert_eq!(after.applied.map(|applied| applied.len()), Some(3));
    let stands = scene.get::<Deployment>("edited-sandbox").await?;
    assert_eq!(stands["metadata"]["generation"], json!(1));
    assert_eq!(stands["spec"], stood["spec"]);
    Ok(())
}
