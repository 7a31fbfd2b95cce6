//! Writes, as sentences: what is accepted, and what is rejected with which words. Does I/O.

use kube::api::{DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use kube::core::Status;
use kube::discovery::{Scope, pinned_kind};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome, chain};
use crate::manifests;

/// Somebody who writes into one namespace.
#[derive(Clone)]
pub struct Writer {
    client: Client,
    namespace: String,
}

/// The requests a manifest can be sent with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Write {
    Create { dry_run: bool },
    Update { dry_run: bool },
    UpdateStatus,
}

/// What the API server made of a write.
type Answer = Result<DynamicObject, Status>;

impl Writer {
    pub(crate) fn new(client: Client, namespace: &str) -> Self {
        Self {
            client,
            namespace: namespace.to_owned(),
        }
    }

    /// The client it writes with.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Creates `manifest`, which must be admitted.
    pub async fn accepts(&self, manifest: &Value) -> Outcome<DynamicObject> {
        admitted(
            manifest,
            self.send(manifest, Write::Create { dry_run: false })
                .await?,
        )
    }

    /// Creates `manifest`, which must be refused; returns the whole refusal.
    pub async fn rejects(&self, manifest: &Value) -> Outcome<Status> {
        refused(
            manifest,
            self.send(manifest, Write::Create { dry_run: false })
                .await?,
        )
    }

    /// As [`Writer::accepts`], leaving nothing behind.
    pub async fn would_accept(&self, manifest: &Value) -> Outcome<DynamicObject> {
        admitted(
            manifest,
            self.send(manifest, Write::Create { dry_run: true }).await?,
        )
    }

    /// As [`Writer::rejects`], leaving nothing behind even if it is admitted.
    pub async fn would_reject(&self, manifest: &Value) -> Outcome<Status> {
        refused(
            manifest,
            self.send(manifest, Write::Create { dry_run: true }).await?,
        )
    }

    /// Replaces the stored object with `manifest`, which must be admitted. Without a resourceVersion
    /// of its own the manifest takes the stored one.
    pub async fn accepts_update(&self, manifest: &Value) -> Outcome<DynamicObject> {
        admitted(
            manifest,
            self.send(manifest, Write::Update { dry_run: false })
                .await?,
        )
    }

    /// Replaces the stored object with `manifest`, which must be refused.
    pub async fn rejects_update(&self, manifest: &Value) -> Outcome<Status> {
        refused(
            manifest,
            self.send(manifest, Write::Update { dry_run: false })
                .await?,
        )
    }

    /// As [`Writer::accepts_update`], leaving the stored object as it is.
    pub async fn would_accept_update(&self, manifest: &Value) -> Outcome<DynamicObject> {
        admitted(
            manifest,
            self.send(manifest, Write::Update { dry_run: true }).await?,
        )
    }

    /// As [`Writer::rejects_update`], leaving the stored object as it is even if it is admitted.
    pub async fn would_reject_update(&self, manifest: &Value) -> Outcome<Status> {
        refused(
            manifest,
            self.send(manifest, Write::Update { dry_run: true }).await?,
        )
    }

    /// Replaces the stored object's status with `manifest`'s, which must be admitted.
    pub async fn accepts_status(&self, manifest: &Value) -> Outcome<DynamicObject> {
        admitted(manifest, self.send(manifest, Write::UpdateStatus).await?)
    }

    /// Replaces the stored object's status with `manifest`'s, which must be refused.
    pub async fn rejects_status(&self, manifest: &Value) -> Outcome<Status> {
        refused(manifest, self.send(manifest, Write::UpdateStatus).await?)
    }

    /// Creates each document of a YAML text; all must be admitted.
    pub async fn accepts_yaml(&self, text: &str) -> Outcome<Vec<DynamicObject>> {
        let mut objects = Vec::new();
        for manifest in manifests::parse(text)? {
            objects.push(self.accepts(&manifest).await?);
        }
        Ok(objects)
    }

    /// The API that serves `manifest`'s kind, in this namespace if the kind has namespaces.
    pub async fn api_of(&self, manifest: &Value) -> Outcome<Api<DynamicObject>> {
        let resource = manifests::resource_of(manifest)?;
        let kind = GroupVersionKind::gvk(&resource.group, &resource.version, &resource.kind);
        let (resource, capabilities) = pinned_kind(&self.client, &kind).await?;
        Ok(match capabilities.scope {
            Scope::Namespaced => {
                Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
            }
            Scope::Cluster => Api::all_with(self.client.clone(), &resource),
        })
    }

    async fn send(&self, manifest: &Value, write: Write) -> Outcome<Answer> {
        let api = self.api_of(manifest).await?;
        let mut manifest = manifest.clone();
        let name = manifest.pointer("/metadata/name").and_then(Value::as_str);
        let name = name.unwrap_or_default().to_owned();
        let how = |dry_run| PostParams {
            dry_run,
            ..PostParams::default()
        };
        let answer = match write {
            Write::Create { dry_run } => {
                api.create(&how(dry_run), &serde_json::from_value(manifest)?)
                    .await
            }
            Write::Update { dry_run } => {
                take_stored_version(&api, &name, &mut manifest).await?;
                api.replace(&name, &how(dry_run), &serde_json::from_value(manifest)?)
                    .await
            }
            Write::UpdateStatus => {
                take_stored_version(&api, &name, &mut manifest).await?;
                api.replace_status(&name, &how(false), &serde_json::from_value(manifest)?)
                    .await
            }
        };
        match answer {
            Ok(object) => Ok(Ok(object)),
            Err(kube::Error::Api(status)) => Ok(Err(*status)),
            Err(error) => Err(error.into()),
        }
    }
}

async fn take_stored_version(
    api: &Api<DynamicObject>,
    name: &str,
    manifest: &mut Value,
) -> Outcome {
    let stored = api.get(name).await?;
    if let Some(metadata) = manifest.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata
            .entry("resourceVersion")
            .or_insert_with(|| json!(stored.metadata.resource_version));
    }
    Ok(())
}

fn admitted(manifest: &Value, answer: Answer) -> Outcome<DynamicObject> {
    answer.map_err(|status| {
        Failure::saying(format!(
            "expected this to be admitted:\n{manifest:#}\nbut it was refused ({}): {}",
            status.code,
            chain(&status)
        ))
    })
}

fn refused(manifest: &Value, answer: Answer) -> Outcome<Status> {
    match answer {
        Err(status) => Ok(status),
        Ok(_) => Err(Failure::saying(format!(
            "expected this to be refused, but it was admitted:\n{manifest:#}"
        ))),
    }
}
