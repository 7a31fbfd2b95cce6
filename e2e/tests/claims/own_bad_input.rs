//! Stored objects that no version of ours would write, beside claims that go on.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{Patch, PatchParams};
use sandgate_e2e::installation::{self, Layers};
use sandgate_e2e::service;
use sandgate_e2e::{Cluster, Options, Outcome, OwnCluster, Stage};
use serde_json::{Value, json};

use crate::manifests::API;
use crate::scene::Scene;

/// The API server tells nobody when it serves an edited schema; it is asked this often.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Takes the schemas of these kinds away, as a broken upgrade would, and waits until anything is admitted.
async fn without_schemas(cluster: &OwnCluster, scene: &Scene) -> Outcome {
    let crds: Api<CustomResourceDefinition> = Api::all(cluster.client());
    let schema = json!({ "openAPIV3Schema": {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
    } });
    for kind in [
        "sandboxclaims",
        "sandboxclasses",
        "connections",
        "workspaces",
    ] {
        let name = format!("{kind}.omnia.altairalabs.ai");
        let mut crd = crds.get(&name).await?;
        for version in &mut crd.spec.versions {
            version.schema = Some(serde_json::from_value(schema.clone())?);
        }
        let patch = json!({ "spec": { "versions": crd.spec.versions } });
        let how = PatchParams::default();
        crds.patch(&name, &how, &Patch::Merge(patch)).await?;
    }
    let mut turn = tokio::time::interval(ASK_EVERY);
    let served = async {
        for odd in odd_objects("probe") {
            while scene.would_accept(&odd).await.is_err() {
                turn.tick().await;
            }
        }
    };
    tokio::time::timeout(sandgate_e2e::namespace::DEADLINE, served).await?;
    Ok(())
}

/// One of each kind whose objects are read whole and whose schema can be taken away.
fn odd_objects(name: &str) -> Vec<Value> {
    let odd = |kind: &str, spec: Value| {
        json!({
            "apiVersion": API,
            "kind": kind,
            "metadata": { "name": name },
            "spec": spec,
            "status": { "phase": "Bewildered" },
        })
    };
    vec![
        odd(
            "SandboxClaim",
            json!({ "classRef": "a name, and no object", "sessionID": 7, "agentRuntimeRef": [] }),
        ),
        odd("SandboxClass", json!({ "image": ["x"], "ports": "http" })),
        odd("Connection", json!({ "hosts": "a name, and no list" })),
        odd("Workspace", json!("words, and no fields")),
    ]
}

#[tokio::test]
async fn what_cannot_be_read_is_counted_and_stalls_no_claim() -> Outcome {
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
    without_schemas(&cluster, &scene).await?;
    for name in ["odd", "a-odd", "z-odd"] {
        for odd in odd_objects(name) {
            scene.accepts(&odd).await?;
        }
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
    for kind in ["SandboxClaim", "SandboxClass", "Connection", "Workspace"] {
        let of_kind = format!("\"{kind}\"");
        let counted = metrics
            .lines()
            .filter(|line| line.contains("undecodable") && line.contains(&of_kind));
        let counted: Vec<&str> = counted.collect();
        assert!(
            counted.iter().any(|line| line.ends_with(" 3")),
            "{kind}: {counted:?}"
        );
    }
    let log = std::fs::read_to_string(controller.log())?;
    assert!(log.contains("an object was passed over"), "{log}");
    assert!(!log.contains("panicked"), "{log}");
    Ok(())
}
