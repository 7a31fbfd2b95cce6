//! An object as it should be: how a manifest becomes an [`Intent`], and what a PUT of it carries.
//! Pure.

use std::collections::BTreeMap;

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
    jiff::Timestamp,
};
use kube::{Resource, ResourceExt};
use sandgate_shared::{api::SandboxClaim, names};
use serde_json::{Map, Value};

use super::{Action, Intent};
use crate::claim::digest::hash;
use crate::claim::observed::{ObjectKind, Observed};

/// A manifest with its hash, before it is known what to do about it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sealed {
    pub(super) kind: ObjectKind,
    pub(super) object: Value,
    pub(super) hash: String,
}

/// Seals a manifest: adds apiVersion, kind and the hash of it all.
pub(super) fn seal(kind: ObjectKind, mut object: Value) -> Sealed {
    if let Some(map) = object.as_object_mut() {
        map.insert("apiVersion".to_owned(), kind.kind().api_version().into());
        map.insert("kind".to_owned(), kind.as_str().into());
    }
    let hash = hash(&object);
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        let annotations = metadata
            .entry("annotations")
            .or_insert_with(|| Value::Object(Map::new()));
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(names::ANNOTATION_INTENT.to_owned(), hash.clone().into());
        }
    }
    Sealed { kind, object, hash }
}

impl Sealed {
    /// The name of the object.
    fn name(&self) -> &str {
        let name = self.object.pointer("/metadata/name");
        name.and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether we wrote the object last from something else: a change of ours waits for nobody, though
    /// strangers' edits of the same object are left for a while. What runs pods stays as it was made.
    pub(super) fn is_change_of_ours(&self, observed: &Observed) -> bool {
        let last = observed.memory.applied.get(&self.kind);
        let last = last.and_then(|record| record.intent.as_deref());
        !self.kind.runs_pods() && last.is_some_and(|intent| intent != self.hash)
    }

    /// The intent to do `action` for the claim of `observed`.
    pub(super) fn into_intent(self, observed: &Observed, action: Action, now: Timestamp) -> Intent {
        let memory = &observed.memory;
        let metadata = &observed.claim.metadata;
        let resting = if self.is_change_of_ours(observed) {
            BTreeMap::new()
        } else {
            memory.resting_paths(self.kind, now)
        };
        Intent {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: self.name().to_owned(),
            claim_uid: metadata.uid.clone().unwrap_or_default(),
            resting,
            known_uid: memory
                .applied
                .get(&self.kind)
                .map(|record| record.uid.clone()),
            keeps_spec: false,
            kind: self.kind,
            object: self.object,
            hash: self.hash,
            action,
        }
    }
}

impl Intent {
    /// What a PUT carries: the live metadata with our labels, our annotations and our owner
    /// reference alone, and our whole spec, or the live one where that is kept. The live uid and
    /// resourceVersion are its preconditions.
    pub fn merged(&self, live: &Value) -> Value {
        let kept = self.keeps_spec && is_as_made(live);
        let mut metadata = live.get("metadata").and_then(Value::as_object).cloned();
        let metadata = metadata.get_or_insert_with(Map::new);
        let mut merged = self.object.clone();
        let intended = self.object.get("metadata");
        // What an object was written from is told by its annotations.
        let keys: &[&str] = if kept {
            &["labels"]
        } else {
            &["labels", "annotations"]
        };
        if !kept && let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
            annotations.retain(|name, _| !WRITTEN_FROM.contains(&name.as_str()));
        }
        for key in keys {
            let ours = intended.and_then(|intended| intended.get(*key));
            for (name, value) in ours.and_then(Value::as_object).into_iter().flatten() {
                let entries = metadata
                    .entry(*key)
                    .or_insert_with(|| Value::Object(Map::new()));
                if let Some(entries) = entries.as_object_mut() {
                    entries.insert(name.clone(), value.clone());
                }
            }
        }
        match intended.and_then(|intended| intended.get("ownerReferences")) {
            Some(owners) => metadata.insert("ownerReferences".to_owned(), owners.clone()),
            None => metadata.remove("ownerReferences"),
        };
        if let Some(object) = merged.as_object_mut() {
            object.insert("metadata".to_owned(), Value::Object(metadata.clone()));
            if let Some(spec) = live.get("spec").filter(|_| kept) {
                object.insert("spec".to_owned(), spec.clone());
            }
        }
        merged
    }
}

/// Annotations that only we write, and not on every object: what of it does not hold any more goes.
const WRITTEN_FROM: [&str; 2] = [names::ANNOTATION_BINDINGS, names::ANNOTATION_PROXY];

/// Whether a Deployment's spec is still the one it was made with: the API server counts each change of it
/// in `metadata.generation`, which nobody else can write.
fn is_as_made(live: &Value) -> bool {
    let generation = live.pointer("/metadata/generation");
    generation.and_then(Value::as_i64) == Some(1)
}

/// Metadata of an object of the sandbox (O-002).
pub(super) fn owned_metadata(claim: &SandboxClaim) -> ObjectMeta {
    let name = names::sandbox(&claim.name_any());
    owned_by(
        claim,
        name,
        object_labels(claim, names::COMPONENT_SANDBOX, selector(claim)),
    )
}

/// Metadata of an object of its egress proxy (E-002).
pub(super) fn proxy_metadata(claim: &SandboxClaim) -> ObjectMeta {
    let name = names::egress(&claim.name_any());
    owned_by(
        claim,
        name,
        object_labels(claim, names::COMPONENT_EGRESS, proxy_selector(claim)),
    )
}

fn owned_by(claim: &SandboxClaim, name: String, labels: BTreeMap<String, String>) -> ObjectMeta {
    ObjectMeta {
        name: Some(name),
        namespace: claim.metadata.namespace.clone(),
        labels: Some(labels),
        owner_references: Some(vec![OwnerReference {
            api_version: SandboxClaim::api_version(&()).into_owned(),
            kind: SandboxClaim::kind(&()).into_owned(),
            name: claim.name_any(),
            uid: claim.metadata.uid.clone().unwrap_or_default(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }]),
        ..ObjectMeta::default()
    }
}

/// Labels that single out the pods of one claim: the selector of its Deployment, Service and
/// `NetworkPolicy` (O-004, O-005). The UID goes in last, so that nothing before it can stand in its
/// place.
pub(super) fn selector(claim: &SandboxClaim) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    labels.insert(
        names::LABEL_SESSION.to_owned(),
        claim.spec.session_id.clone(),
    );
    labels.insert(names::LABEL_CLAIM.to_owned(), claim.name_any());
    let uid = claim.metadata.uid.clone().unwrap_or_default();
    labels.insert(names::LABEL_CLAIM_UID.to_owned(), uid);
    labels
}

/// The same of its egress proxy. Pods of a sandbox are of another component, and its own selectors want a
/// session, which the proxy's pods do not name.
pub(super) fn proxy_selector(claim: &SandboxClaim) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    labels.insert(names::LABEL_CLAIM.to_owned(), claim.name_any());
    labels.insert(
        names::LABEL_COMPONENT.to_owned(),
        names::COMPONENT_EGRESS.to_owned(),
    );
    let uid = claim.metadata.uid.clone().unwrap_or_default();
    labels.insert(names::LABEL_CLAIM_UID.to_owned(), uid);
    labels
}

/// Labels of the objects, for people and for the watches.
fn object_labels(
    claim: &SandboxClaim,
    component: &str,
    selector: BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    labels.insert(
        names::LABEL_MANAGED_BY.to_owned(),
        names::MANAGED_BY.to_owned(),
    );
    labels.insert(names::LABEL_COMPONENT.to_owned(), component.to_owned());
    if let Some(runtime) = runtime_label(claim) {
        labels.insert(names::LABEL_AGENT_RUNTIME.to_owned(), runtime);
    }
    labels.extend(selector);
    labels
}

/// The runtime's name where it can be a label value. A longer name is left off: the label is for
/// people, no selector of ours reads it.
pub(super) fn runtime_label(claim: &SandboxClaim) -> Option<String> {
    let name = &claim.spec.agent_runtime_ref.as_ref()?.name;
    (name.len() <= 63).then(|| name.clone())
}
