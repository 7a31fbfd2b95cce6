//! What one process remembers of a claim between two reconciles. Pure.
//!
//! Losing it is safe: what matters after a restart is in the claim's status, and the rest costs one
//! dry run an object.

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;
use sandgate_shared::api::SandboxClaimStatus;

use super::{ObjectKind, Revocation};
use crate::claim::finding::Finding;
use crate::claim::refusal::{Refusal, refusal_pause};

/// How long a heal counts when heals are counted (O-040).
const HEAL_WINDOW_SECONDS: i64 = 600;
/// How long a path that was healed twice within the window is left alone (O-040).
const HEAL_PAUSE_SECONDS: i64 = 300;

/// What one process remembers of a claim.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// Each object as last written by us. In boxes: a tree keeps room for eleven.
    pub applied: BTreeMap<ObjectKind, Box<AppliedRecord>>,
    /// Heals, oldest first; those older than 10 minutes are dropped.
    pub heals: Vec<PastHeal>,
    /// Strangers' edits that are left standing for a while, because they came back too often.
    pub held: BTreeMap<ObjectKind, HeldBack>,
    /// The last write of an object that the API server refused, if none succeeded since.
    pub refusal: Option<PastRefusal>,
    /// The last that strangers did, kept so that a status write which failed loses no report.
    pub strangers: Option<Finding>,
    /// A credential that is being taken away.
    pub revocation: Option<Revocation>,
}

/// One object as last written by us.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppliedRecord {
    /// UID of the object.
    pub uid: String,
    /// Digest of what the API server returned.
    pub digest: String,
    /// Hash of the intent written; absent when recalled from the status.
    pub intent: Option<String>,
}

/// A heal that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastHeal {
    /// Which object.
    pub kind: ObjectKind,
    /// Which path in it, such as `.spec.egress`.
    pub path: String,
    /// When.
    pub at: Timestamp,
}

/// A stranger's edit that is left standing for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldBack {
    /// Digest of the object with the edit in it.
    pub digest: String,
    /// The paths edited.
    pub paths: Vec<String>,
    /// When it will be looked at again.
    pub until: Timestamp,
    /// It adds a rule to the claim's `NetworkPolicy`.
    pub opens: bool,
}

/// A write that the API server refused.
#[derive(Clone, Debug, PartialEq)]
pub struct PastRefusal {
    /// Which object.
    pub kind: ObjectKind,
    /// Hash of the intent refused; a changed intent is tried at once.
    pub intent: String,
    /// The answer.
    pub refusal: Refusal,
    /// How often it was refused in a row, at least 1.
    pub attempts: u32,
    /// Not to be tried again before.
    pub until: Timestamp,
}

impl Memory {
    /// What is known of a claim after a restart: its status.
    pub fn recall(status: Option<&SandboxClaimStatus>) -> Self {
        let recorded = status.and_then(|status| status.applied.as_deref());
        let applied = recorded.unwrap_or_default().iter().filter_map(|object| {
            let mut owned = ObjectKind::all_owned();
            let kind = owned.find(|kind| kind.record() == object.kind)?;
            let record = AppliedRecord {
                uid: object.uid.clone(),
                digest: object.digest.clone(),
                intent: None,
            };
            Some((kind, Box::new(record)))
        });
        Self {
            applied: applied.collect(),
            ..Self::default()
        }
    }

    /// The same, with what the claim's status records of objects that nothing is remembered of: a leader
    /// before this one may have written it only now.
    #[must_use]
    pub fn completed_from(mut self, status: Option<&SandboxClaimStatus>) -> Self {
        for (kind, record) in Self::recall(status).applied {
            self.applied.entry(kind).or_insert(record);
        }
        self
    }

    /// The paths of an object that were healed twice in the last 10 minutes, each with the moment
    /// until which it is left alone.
    pub fn resting_paths(&self, kind: ObjectKind, now: Timestamp) -> BTreeMap<String, Timestamp> {
        let mut by_path: BTreeMap<&str, Vec<Timestamp>> = BTreeMap::new();
        for heal in self.heals.iter().filter(|heal| heal.kind == kind) {
            if seconds_between(heal.at, now) < HEAL_WINDOW_SECONDS {
                by_path.entry(&heal.path).or_default().push(heal.at);
            }
        }
        by_path
            .into_iter()
            .filter(|(_, times)| times.len() >= 2)
            .filter_map(|(path, times)| {
                let until = later(times.into_iter().max()?, HEAL_PAUSE_SECONDS);
                (until > now).then(|| (path.to_owned(), until))
            })
            .collect()
    }

    /// Takes in that a write was refused, once more if it was before.
    pub(in crate::claim) fn remember_refusal(
        &mut self,
        kind: ObjectKind,
        intent: String,
        refusal: &Refusal,
        now: Timestamp,
    ) {
        let before = self
            .refusal
            .as_ref()
            .filter(|past| past.kind == kind && past.intent == intent)
            .map_or(0, |past| past.attempts);
        let attempts = before.saturating_add(1);
        self.refusal = Some(PastRefusal {
            kind,
            intent,
            refusal: refusal.clone(),
            attempts,
            until: later(now, refusal_pause(attempts)),
        });
    }

    /// Forgets what says nothing any more.
    pub(in crate::claim) fn forget_old(&mut self, now: Timestamp) {
        self.heals
            .retain(|heal| seconds_between(heal.at, now) < HEAL_WINDOW_SECONDS);
        self.held.retain(|_, held| held.until > now);
    }
}

fn seconds_between(from: Timestamp, to: Timestamp) -> i64 {
    to.as_second().saturating_sub(from.as_second())
}

/// `seconds` after `from`; `from` itself where the calendar ends.
fn later(from: Timestamp, seconds: i64) -> Timestamp {
    Timestamp::from_second(from.as_second().saturating_add(seconds)).unwrap_or(from)
}
