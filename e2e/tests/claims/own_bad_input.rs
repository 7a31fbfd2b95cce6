//! A stored claim that no version of ours would write, beside claims that go on.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{Patch, PatchParams};
use sandgate_e2e::installation::{self, Layers};
use sandgate_e2e::service;
use sandgate_e2e::{Cluster, Options, Outcome, OwnCluster, Stage};
use serde_json::json;

use crate::manifests::API;
use crate::scene::Scene;

/// The API server tells nobody when it serves an edited schema; it is asked this often.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Takes the schema of claims away, as a broken upgrade would, and waits until any claim is admitted.
async fn without_schema(cluster: &OwnCluster, scene: &Scene) -> Outcome {
    let crds: Api<CustomResourceDefinition> = Api::all(cluster.client());
    let name = "sandboxclaims.omnia.altairalabs.ai";
    let mut crd = crds.get(name).await?;
    let schema = json!({ "openAPIV3Schema": {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
    } });
    for version in &mut crd.spec.versions {
        version.schema = Some(serde_json::from_value(schema.clone())?);
    }
    let patch = json!({ "spec": { "versions": crd.spec.versions } });
    let how = PatchParams::default();
    crds.patch(name, &how, &Patch::Merge(patch)).await?;
    let mut turn = tokio::time::interval(ASK_EVERY);
    let served = async {
        loop {
            turn.tick().await;
            if scene.would_accept(&odd_claim("probe")).await.is_ok() {
                return;
            }
        }
    };
    tokio::time::timeout(sandgate_e2e::namespace::DEADLINE, served).await?;
    Ok(())
}

fn odd_claim(name: &str) -> serde_json::Value {
    json!({
        "apiVersion": API,
        "kind": "SandboxClaim",
        "metadata": { "name": name },
        "spec": { "classRef": "a name, and no object", "sessionID": 7, "agentRuntimeRef": [] },
        "status": { "phase": "Bewildered" },
    })
}

#[tokio::test]
async fn a_claim_that_cannot_be_read_is_counted_and_stalls_no_other() -> Outcome {
    let installation = installation::Options {
        layers: Layers::NONE,
        ..installation::Options::default()
    };
    let mut cluster = Cluster::own(Options {
        installation,
        ..Options::default()
    })
    .await?;
    let scene = Scene::on(&cluster, "odd").await?;
    scene.claims("before", Stage::LostReadiness).await?;
    scene.bound("before").await?;
    without_schema(&cluster, &scene).await?;
    for name in ["odd", "a-odd", "z-odd"] {
        scene.accepts(&odd_claim(name)).await?;
    }
    // What stood is still looked after, and what comes is served.
    scene.pending("before", "SandboxNotReady").await?;
    scene.claims("after", Stage::Ready).await?;
    scene.bound("after").await?;

    // One that starts with them there lists them first.
    let controller = &mut cluster.installation.controller.as_mut().unwrap().service;
    controller.kill();
    controller.start()?;
    scene.claims("restarted", Stage::Ready).await?;
    scene.bound("restarted").await?;
    let controller = &cluster.installation.controller.as_ref().unwrap().service;
    let (code, metrics) = service::get(&controller.health_address(), "/metrics").await?;
    assert_eq!(code, 200);
    let counted = metrics
        .lines()
        .filter(|line| line.contains("undecodable") && line.contains("SandboxClaim"));
    let counted: Vec<&str> = counted.filter(|line| !line.starts_with('#')).collect();
    assert!(
        counted.iter().any(|line| line.ends_with(" 3")),
        "{counted:?}"
    );
    let log = std::fs::read_to_string(controller.log())?;
    assert!(log.contains("an object was passed over"), "{log}");
    assert!(!log.contains("panicked"), "{log}");
    Ok(())
}
