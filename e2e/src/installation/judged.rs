//! Whether the API server really judges by our webhook. Does I/O.

use std::io;
use std::time::{Duration, Instant};

use kube::api::{DynamicObject, PostParams};
use kube::{Api, Client};
use sandgate_shared::names;
use serde_json::{Value, json};

use super::InstallationError;
use crate::manifests;
use crate::process;
use crate::progress::PATIENCE;

/// Until the API server judges by the webhook it is asked this often: its informers tell nobody.
const ASK_EVERY: Duration = Duration::from_millis(50);

pub(super) async fn within_patience<T>(
    condition: impl Future<Output = Result<T, kube::runtime::wait::Error>>,
    kind: &'static str,
    log: &std::path::Path,
) -> Result<(), InstallationError> {
    match tokio::time::timeout(PATIENCE, condition).await {
        Ok(Ok(_)) => Ok(()),
        _ => Err(InstallationError::NoCaBundle {
            kind,
            tail: process::tail(log, 15),
        }),
    }
}

/// Asks by dry run until a broken class is refused by our webhook and a sound one passes both.
pub(crate) async fn until_judged(client: &Client) -> Result<(), InstallationError> {
    let class = |image: &str| {
        json!({
            "apiVersion": format!("{}/{}", names::GROUP, names::VERSION),
            "kind": "SandboxClass",
            "metadata": { "name": "is-anybody-there" },
            "spec": {
                "image": image,
                "ports": [{ "name": "mcp", "port": 8080 }],
                "resources": { "limits": { "cpu": "1", "memory": "64Mi" } },
            },
        })
    };
    let ours = format!(".{}\" denied the request", names::GROUP);
    let deadline = Instant::now() + PATIENCE;
    let mut turn = tokio::time::interval(ASK_EVERY);
    loop {
        turn.tick().await;
        let refusal = dry_run(client, &class("")).await?;
        let good = dry_run(client, &class("registry.example/sandbox:1")).await?;
        let last = match (refusal, good) {
            (Some(refusal), None) if refusal.contains(&ours) => return Ok(()),
            (Some(refusal), None) => {
                format!("a class without an image was refused with: {refusal}")
            }
            (_, Some(refusal)) => format!("a sound class was refused with: {refusal}"),
            (None, None) => "a class without an image was admitted".to_owned(),
        };
        if Instant::now() >= deadline {
            return Err(InstallationError::NotJudged(last));
        }
    }
}

/// The refusal of a dry-run create, or nothing if it was admitted.
async fn dry_run(client: &Client, manifest: &Value) -> Result<Option<String>, InstallationError> {
    let resource = manifests::resource_of(manifest)?;
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &resource);
    let object = serde_json::from_value(manifest.clone()).map_err(io::Error::other)?;
    let how = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    match api.create(&how, &object).await {
        Ok(_) => Ok(None),
        Err(kube::Error::Api(status)) => Ok(Some(status.message)),
        Err(error) => Ok(Some(error.to_string())),
    }
}
