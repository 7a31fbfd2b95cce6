//! Claims as they come and go, and the places they hold under their runtimes' limits. Pure.

use std::collections::BTreeSet;

use kube::core::DynamicObject;
use sandgate_shared::api::outside::AgentRuntimeSpec;
use sandgate_shared::api::{ClaimPhase, SandboxClaim};
use sandgate_shared::names;
use sandgate_shared::reason::condition;

use super::{ClaimsBy, State};
use crate::admission_queue::{Limit, Seat, Standing};
use crate::claim::plan::{self, Record};
use crate::key::Key;
use crate::watch::Subject;
use crate::watch::index::{NotKnown, concern, read};

/// What of a claim its runtime's other claims depend on.
#[derive(Debug, PartialEq)]
struct Place {
    runtime: Key,
    uid: Option<String>,
    record: Record,
    awaits_proof: bool,
}

impl Place {
    /// That of a claim; an enrolment has no runtime and takes nobody's place (C-017).
    fn of(claim: &SandboxClaim) -> Option<Self> {
        Some(Self {
            runtime: Key::of_runtime(claim)?,
            uid: claim.metadata.uid.clone(),
            record: plan::record(claim),
            awaits_proof: plan::awaits_proof(claim),
        })
    }

    /// Whether what was taken, or was going to be, is free if this is what stands now.
    fn is_left_by(&self, after: Option<&Self>) -> bool {
        let stays = |after: &Self| after.uid == self.uid && after.record != Record::Over;
        self.record != Record::Over && !after.is_some_and(stays)
    }
}

impl State {
    pub(super) fn observe_claim(
        &mut self,
        key: &Key,
        version: u64,
        object: DynamicObject,
    ) -> Result<BTreeSet<Subject>, NotKnown> {
        let claim: SandboxClaim = read(key, object)?;
        let changed = concern::claim(self.claims.get(key), &claim);
        let after = Place::of(&claim);
        let (news, before) = self.claims.observe(key.clone(), version, claim);
        Ok(self.took_in(key, news, changed, before.as_ref(), after.as_ref()))
    }

    /// Takes in a claim as a write of our own returned it; whom that concerns but the claim itself.
    pub(in crate::watch::index) fn wrote_claim(
        &mut self,
        key: &Key,
        version: u64,
        claim: SandboxClaim,
    ) -> BTreeSet<Subject> {
        let after = Place::of(&claim);
        let (news, before) = self.claims.learn(key.clone(), version, claim);
        self.took_in(key, news, false, before.as_ref(), after.as_ref())
    }

    /// Takes in a claim that was read beside the watch.
    pub(in crate::watch::index) fn read_claim(
        &mut self,
        key: &Key,
        version: u64,
        claim: SandboxClaim,
    ) {
        let after = Place::of(&claim);
        let (news, before) = self.claims.learn(key.clone(), version, claim);
        self.took_in(key, news, false, before.as_ref(), after.as_ref());
    }

    pub(in crate::watch::index) fn lacks_claim(&self, key: &Key, version: u64) -> bool {
        self.claims.lacks(key, version)
    }

    /// Takes out the claims that did not stand any more at `version`, when `all` stood.
    pub(in crate::watch::index) fn only_claims(&mut self, all: &BTreeSet<Key>, version: u64) {
        for (key, version) in self.claims.missing_from(all, version) {
            self.remove_claim(&key, version);
        }
    }

    fn took_in(
        &mut self,
        key: &Key,
        news: bool,
        changed: bool,
        before: Option<&SandboxClaim>,
        after: Option<&Place>,
    ) -> BTreeSet<Subject> {
        if !news {
            return BTreeSet::new();
        }
        let before = before.and_then(Place::of);
        let itself = changed.then(|| Subject::Claim(key.clone()));
        itself
            .into_iter()
            .chain(self.moved(before, after))
            .collect()
    }

    /// Takes a claim out; whom that concerns, if it was in.
    pub(super) fn remove_claim(&mut self, key: &Key, version: u64) -> BTreeSet<Subject> {
        let Some(before) = self.claims.remove(key, version) else {
            return BTreeSet::new();
        };
        let itself = [Subject::Claim(key.clone())].into_iter();
        itself.chain(self.moved(Place::of(&before), None)).collect()
    }

    /// Notes that the seats of a runtime are not what they were. Whose turn it is now is looked at where a
    /// place was left and somebody waits (C-014).
    fn moved(&mut self, before: Option<Place>, after: Option<&Place>) -> Option<Subject> {
        if before.as_ref() == after {
            return None;
        }
        for place in before.iter().chain(after) {
            if self.claims.count(&ClaimsBy::Runtime(place.runtime.clone())) == 0 {
                self.revisions.remove(&place.runtime);
            } else {
                self.revision = self.revision.saturating_add(1);
                self.revisions.insert(place.runtime.clone(), self.revision);
            }
        }
        let left = before.filter(|before| before.is_left_by(after))?;
        self.somebody_waits(&left.runtime)
            .then_some(Subject::Places(left.runtime))
    }

    /// Whether any claim of the runtime has no place yet.
    pub(super) fn somebody_waits(&self, runtime: &Key) -> bool {
        let group = ClaimsBy::Runtime(runtime.clone());
        let mut claims = self.claims.members(&group);
        claims.any(|claim| matches!(plan::record(claim), Record::Queued | Record::Nothing))
    }

    /// The runtime's claims that do not wait for their turn.
    pub(super) fn not_queued(&self, runtime: &Key) -> BTreeSet<Key> {
        let group = ClaimsBy::Runtime(runtime.clone());
        let claims = self.claims.group(&group);
        let queued = |key: &Key| {
            let claim = self.claims.get(key);
            claim.is_some_and(|claim| plan::record(claim) == Record::Queued)
        };
        claims.filter(|key| !queued(key)).cloned().collect()
    }

    /// A number that changes with the runtime's seats.
    pub(in crate::watch::index) fn revision_of(&self, runtime: &Key) -> u64 {
        self.revisions.get(runtime).copied().unwrap_or(0)
    }

    /// The seats of the runtime's claims. `asks`: whether a claim without a place asks for one.
    pub(in crate::watch::index) fn seats(
        &self,
        runtime: &Key,
        asks: impl Fn(&SandboxClaim) -> bool,
    ) -> Vec<Seat> {
        let group = ClaimsBy::Runtime(runtime.clone());
        let claims = self.claims.members(&group);
        let seats = claims.filter_map(|claim| {
            let standing = match plan::record(claim) {
                Record::Over => return None,
                Record::Admitted => Standing::Admitted,
                Record::Nothing if self.has_objects(claim) => Standing::Admitted,
                Record::Queued | Record::Nothing if asks(claim) => Standing::Waiting,
                Record::Queued | Record::Nothing => Standing::Aside,
            };
            Some(Seat::of(claim, standing))
        });
        seats.collect()
    }

    /// Whether an object of the claim's own stands: earlier versions made them before they recorded
    /// anything.
    fn has_objects(&self, claim: &SandboxClaim) -> bool {
        let key = Key::of(&claim.metadata);
        let sandbox = Key::new(&key.namespace, names::sandbox(&key.name));
        let mut tables = [&self.policies, &self.services, &self.deployments].into_iter();
        claim.metadata.uid.is_some()
            && tables.any(|objects| {
                let live = objects.get(&sandbox);
                live.is_some_and(|live| live.controller == claim.metadata.uid)
            })
    }

    /// What is known of a runtime.
    pub(in crate::watch::index) fn runtime(&self, runtime: &Key) -> Option<AgentRuntimeSpec> {
        self.runtimes.get(runtime).cloned()
    }

    /// The version in which a runtime is known.
    pub(in crate::watch::index) fn version_of(&self, runtime: &Key) -> Option<u64> {
        self.runtimes.version(runtime)
    }

    /// How many claims wait for a limit.
    pub(in crate::watch::index) fn held_back_by(&self, limit: Limit) -> usize {
        self.claims.count(&ClaimsBy::HeldBack(limit))
    }
}

/// What a claim that waits for its turn waits for, as its status says.
pub(super) fn waits_for(claim: &SandboxClaim) -> Option<Limit> {
    let status = claim.status.as_ref()?;
    if status.phase != Some(ClaimPhase::Queued) {
        return None;
    }
    let mut conditions = status.conditions.iter().flatten();
    let ready = conditions.find(|found| found.type_ == condition::READY)?;
    let mut limits = Limit::ALL.into_iter();
    limits.find(|limit| limit.reason() == ready.reason)
}
