//! What came of a plan: the answer to each write. Data.

use super::{ContentOutcome, FilesOutcome, Refusal};
use crate::claim::observed::{HeldBack, ObjectKind};

/// What apply did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Applied {
    /// In order of the plan; what comes behind a refusal or a name that is taken was not tried.
    pub outcomes: Vec<(ObjectKind, Outcome)>,
    /// What became of the Secret with the placed files, if the plan has one.
    pub files: Option<FilesOutcome>,
    /// What became of the workspace's PersistentVolumeClaim, if the plan has one.
    pub content: Option<ContentOutcome>,
}

/// What became of one intent.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// POST made it.
    Created(Stored),
    /// PUT changed it to a new intent of ours.
    Updated(Stored),
    /// It was as intended already.
    Unchanged(Stored),
    /// A stranger's edit was undone.
    Healed {
        /// What stands now.
        stored: Stored,
        /// What had been changed.
        paths: Vec<String>,
    },
    /// A stranger's edit is left for now, for it came back too often.
    HeldBack(HeldBack),
    /// The API server refused the write.
    Refused(Refusal),
    /// An object of the name exists and is an earlier claim's of our name: it is being collected.
    LeftOver,
    /// An object of the name exists and is not ours.
    Conflict,
}

impl Outcome {
    /// Whether the write is refused for what it is, so that it is refused again.
    pub fn is_final_refusal(&self) -> bool {
        matches!(self, Self::Refused(refusal) if matches!(refusal.code, 400 | 403 | 422))
    }

    /// Whether what comes behind it is not tried.
    pub fn stops(&self) -> bool {
        matches!(self, Self::Refused(_) | Self::LeftOver | Self::Conflict)
    }

    /// Whether the object's spec is ours of now since. A heal of labels or owners leaves it as it was.
    pub fn wrote_spec(&self) -> bool {
        match self {
            Self::Created(_) | Self::Updated(_) => true,
            Self::Healed { paths, .. } => paths.iter().any(|path| path.starts_with(".spec")),
            Self::Unchanged(_)
            | Self::HeldBack(_)
            | Self::Refused(_)
            | Self::LeftOver
            | Self::Conflict => false,
        }
    }

    /// What stands, if the write succeeded or was not needed.
    pub fn stored(&self) -> Option<&Stored> {
        match self {
            Self::Created(stored)
            | Self::Updated(stored)
            | Self::Unchanged(stored)
            | Self::Healed { stored, .. } => Some(stored),
            Self::HeldBack(_) | Self::Refused(_) | Self::LeftOver | Self::Conflict => None,
        }
    }
}

/// An object as the API server returned it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// Its UID.
    pub uid: String,
    /// Its resourceVersion.
    pub resource_version: String,
    /// Its digest ([`digest`]).
    pub digest: String,
}
