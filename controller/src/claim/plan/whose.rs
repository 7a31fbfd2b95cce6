//! Whose a live object of one of a claim's names is (O-001, O-002). Pure.

use sandgate_shared::reason;
use serde_json::Value;

use super::{Finding, Intent, Outcome};
use crate::claim::observed::{LiveObject, ObjectKind};

/// Whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// The claim's.
    Ours,
    /// An earlier claim's of the same name: garbage collection takes it, and the name is free then.
    Previous,
    /// Somebody else's, or nobody's.
    Foreign,
}

impl Whose {
    /// Whose it is for the claim of this UID; `known` is the UID of the object we wrote last, which stays
    /// ours when a stranger strips our owner reference off it.
    pub(super) fn of(live: &LiveObject, claim_uid: &str, known: Option<&str>) -> Self {
        let controlled = live.controller.as_deref() == Some(claim_uid);
        if !claim_uid.is_empty() && (controlled || known == Some(live.uid.as_str())) {
            Self::Ours
        } else if live.of_claim {
            Self::Previous
        } else {
            Self::Foreign
        }
    }
}

impl Intent {
    /// What a write comes to where what stands under the name is not ours to write: it is never adopted. The
    /// baseline policy is ours whoever made it: its name is reserved (O-037).
    pub fn taken(&self, live: &Value) -> Option<Outcome> {
        if self.kind == ObjectKind::Baseline {
            return None;
        }
        let whose = LiveObject::read(live).map_or(Whose::Foreign, |live| {
            Whose::of(&live, &self.claim_uid, self.known_uid.as_deref())
        });
        match whose {
            Whose::Ours => None,
            Whose::Previous => Some(Outcome::LeftOver),
            Whose::Foreign => Some(Outcome::Conflict),
        }
    }
}

/// What is said of an earlier claim's object. It is never taken over: what is made of it is collected with it.
pub(super) fn previous_remains(kind: &str, name: &str) -> Finding {
    Finding {
        reason: reason::PREVIOUS_OBJECTS_REMAIN,
        message: format!(
            "{kind} {name} of an earlier claim of this name is still there; it was left as it is, and the claim goes on by itself once it is gone. Garbage collection takes it; if it stays, see what its metadata.finalizers wait for, or delete it"
        ),
    }
}
