//! What is to be written and deleted of one claim's objects. Data; the judgement is in `intent` and
//! `heal`.

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use crate::claim::observed::ObjectKind;

/// One object as it should be.
#[derive(Clone, Debug, PartialEq)]
pub struct Intent {
    /// Which of the claim's objects.
    pub kind: ObjectKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// UID of the claim it is for; empty for the baseline policy, which nobody owns.
    pub claim_uid: String,
    /// The whole manifest, its intent hash among the annotations, empty lists left out.
    pub object: Value,
    /// Hash of the manifest without that annotation.
    pub hash: String,
    /// What to do.
    pub action: Action,
    /// Paths that came back too often: while a stranger's edit touches only these, it is left
    /// until the moment given (O-040).
    pub resting: BTreeMap<String, Timestamp>,
    /// It is rendered otherwise than it was made, which is no reason to write it anew: its spec stays as
    /// long as nobody changed that since it was made (C-034).
    pub keeps_spec: bool,
    /// UID this object had when we last wrote it, if we ever did.
    pub known_uid: Option<String>,
}

/// How an intent is carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It does not exist: POST.
    Create,
    /// It is ours and our intent changed, or it bears the reserved baseline name: PUT.
    Update(LiveRef),
    /// It is ours and differs from what we last wrote, or we do not know what we last wrote: dry
    /// run, then PUT only if something would change.
    Verify(LiveRef),
}

/// The precondition of a write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveRef {
    /// UID the decision was made on.
    pub uid: String,
    /// resourceVersion the decision was made on.
    pub resource_version: String,
}

/// One object to delete, with propagation `Background` and both preconditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// Which of the claim's objects.
    pub kind: ObjectKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Preconditions.
    pub live: LiveRef,
}

/// A pod, whatever of it changes meanwhile: its UID alone is the precondition of what is done to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodRef {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
}
