//! The rendered Secret of a claim: the files that Connections place (K-005, K-006). Data and judgement;
//! pure.
//!
//! It is no [`super::Intent`]: its bytes are shown to nobody, and no digest of them is kept anywhere, since
//! a short secret can be found out from its digest.

use kube::ResourceExt as _;
use sandgate_shared::{api::SandboxClaim, checks::PlacedBytes, names};
use serde_json::{Value, json};

use super::intent::owned_metadata;

/// The rendered Secret as it should be.
#[derive(Clone, Debug, PartialEq)]
pub struct FilesIntent {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The claim it is for.
    pub claim: String,
    /// UID of that.
    pub claim_uid: String,
    /// Its labels and owner.
    pub metadata: Value,
    /// What it holds. Without any it is not to exist.
    pub files: Vec<PlacedBytes>,
}

/// What became of the rendered Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilesOutcome {
    /// It is as it should be.
    Done,
    /// The API server refused, with this code, or 0 where there was no answer. Its words may quote
    /// what was sent, and are not kept (K-032).
    Refused(u16),
    /// A Secret of the name exists and is an earlier claim's of our name: it is being collected.
    LeftOver,
    /// A Secret of the name exists and is not ours.
    Conflict,
}

impl FilesIntent {
    /// The Secret of a claim with these files.
    pub(super) fn of(claim: &SandboxClaim, files: Vec<PlacedBytes>) -> Self {
        let name = names::placed_files(&claim.name_any());
        let mut metadata = owned_metadata(claim);
        metadata.name = Some(name.clone());
        Self {
            namespace: claim.namespace().unwrap_or_default(),
            name,
            claim: claim.name_any(),
            claim_uid: claim.metadata.uid.clone().unwrap_or_default(),
            metadata: serde_json::to_value(metadata).unwrap_or_else(|_| json!({})),
            files,
        }
    }
}
