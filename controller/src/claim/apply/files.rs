//! Writes the rendered Secret of a claim (K-005, K-006). Does I/O.
//!
//! What stands is read and compared on each pass, so that hand edits and changes of the sources converge,
//! and a write is sent only where bytes differ. The API server's words are not kept: they may quote what
//! was sent.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use kube::core::DynamicObject;
use serde_json::json;

use super::Apply;
use crate::api_server::{CallError, Place};
use crate::claim::observed::owner;
use crate::claim::plan::{FilesIntent, FilesOutcome};
use crate::kind::Kind;

/// How often a write is begun anew because somebody else wrote in between.
const ATTEMPTS: usize = 4;

impl Apply {
    /// Brings the rendered Secret where it should be.
    pub(super) async fn render_files(&self, intent: &FilesIntent) -> FilesOutcome {
        for _ in 0..ATTEMPTS {
            match self.attempt(intent).await {
                Ok(outcome) => return outcome,
                Err(error) if error.is_conflict() || error.is_already_exists() => {}
                Err(error) => {
                    let code = error.refusal().map_or(0, |status| status.code);
                    return FilesOutcome::Refused(code);
                }
            }
        }
        FilesOutcome::Refused(409)
    }

    async fn attempt(&self, intent: &FilesIntent) -> Result<FilesOutcome, CallError> {
        let place = Place::namespaced(Kind::Secret, &intent.namespace, &intent.name);
        let Some(live) = self.api.get(place).await? else {
            if !intent.files.is_empty() {
                self.make(intent).await?;
            }
            return Ok(FilesOutcome::Done);
        };
        let uid = live.metadata.uid.clone().unwrap_or_default();
        let version = live.metadata.resource_version.clone().unwrap_or_default();
        let controller = owner::controller(live.metadata.owner_references.as_deref());
        let ours = controller.is_some_and(|owner| owner.uid == intent.claim_uid);
        if intent.files.is_empty() {
            if ours {
                self.api.delete(place, &uid, &version).await?;
            }
            return Ok(FilesOutcome::Done);
        }
        if !ours {
            let of_claim = controller
                .and_then(owner::claim)
                .is_some_and(|claim| claim == intent.claim);
            return Ok(if of_claim {
                FilesOutcome::LeftOver
            } else {
                FilesOutcome::Conflict
            });
        }
        let wanted = object(intent, Some((&uid, &version)))?;
        if covers(&live, &wanted) {
            return Ok(FilesOutcome::Done);
        }
        match self.api.replace(place, &wanted).await {
            // Somebody made it immutable: what cannot be changed can be made anew.
            Err(error) if error.refusal().is_some_and(|status| status.code == 422) => {
                self.api.delete(place, &uid, &version).await?;
                self.make(intent).await?;
            }
            answer => drop(answer?),
        }
        Ok(FilesOutcome::Done)
    }

    async fn make(&self, intent: &FilesIntent) -> Result<(), CallError> {
        let made = object(intent, None)?;
        let namespace = Some(intent.namespace.as_str());
        self.api.create(Kind::Secret, namespace, &made).await?;
        Ok(())
    }
}

/// The Secret; to put it in place of one, with that one's UID and resourceVersion.
fn object(intent: &FilesIntent, instead: Option<(&str, &str)>) -> Result<DynamicObject, CallError> {
    let mut metadata = intent.metadata.clone();
    if let (Some((uid, version)), Some(fields)) = (instead, metadata.as_object_mut()) {
        fields.insert("uid".to_owned(), uid.into());
        fields.insert("resourceVersion".to_owned(), version.into());
    }
    let files = intent.files.iter();
    let data: BTreeMap<_, _> = files
        .map(|file| (&file.key, ByteString(file.bytes.reveal().to_vec())))
        .collect();
    let secret = json!({
        "apiVersion": Kind::Secret.api_version(),
        "kind": Kind::Secret.as_str(),
        "metadata": metadata,
        "type": "Opaque",
        "data": data,
    });
    serde_json::from_value(secret).map_err(|error| CallError::Lost(kube::Error::SerdeError(error)))
}

/// Whether what stands is what we would write, beside labels and annotations of others.
fn covers(live: &DynamicObject, wanted: &DynamicObject) -> bool {
    let labels = |object: &DynamicObject| object.metadata.labels.clone().unwrap_or_default();
    let standing = labels(live);
    let has = |(key, value): (&String, &String)| standing.get(key) == Some(value);
    live.data.get("data") == wanted.data.get("data")
        && live.metadata.owner_references == wanted.metadata.owner_references
        && labels(wanted).iter().all(has)
}
