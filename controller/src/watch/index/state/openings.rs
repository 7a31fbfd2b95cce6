//! Policies that open sandboxes' pods beside the claims' own. Pure.
//!
//! Only what opens something to others is kept, so that a claim's own policy takes no room here.

use std::collections::BTreeSet;

use kube::core::DynamicObject;
use sandgate_shared::names;

use super::State;
use super::intake::takes_object;
use crate::claim::observed::{LiveObject, ObservedPod, Opening, Widening};
use crate::key::Key;
use crate::watch::index::NotKnown;
use crate::watch::{Source, Subject};

/// Whose pods a policy can open.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Opens {
    /// Those of the claim with this UID.
    Claim(String),
    /// Any of this namespace.
    Namespace(String),
}

pub(super) fn opens(key: &Key, opening: &Opening) -> Vec<Opens> {
    let only_of = opening.only_of.clone().map(Opens::Claim);
    vec![only_of.unwrap_or_else(|| Opens::Namespace(key.namespace.clone()))]
}

impl State {
    /// Any policy may open a sandbox's pod, whatever its name; the baselines, and what bears the name of
    /// a claim's own, are kept for themselves, too.
    pub(super) fn observe_policy(
        &mut self,
        key: &Key,
        version: u64,
        object: &DynamicObject,
    ) -> Result<BTreeSet<Subject>, NotKnown> {
        let mut concerned = BTreeSet::new();
        let value = serde_json::to_value(object).map_err(|source| NotKnown::Unreadable {
            key: key.clone(),
            source,
        })?;
        if let Some(policies) = self.policies_like(key)
            && takes_object(policies, key, version, LiveObject::read(&value))?
        {
            concerned.extend(self.concerned(Source::NetworkPolicies, key));
        }
        let before = self.opened_by(key);
        let changed = match Opening::read(&key.name, &value) {
            Some(opening) => {
                let (news, stood) = self.openings.observe(key.clone(), version, opening);
                news && stood.as_ref() != self.openings.get(key)
            }
            None => self.openings.remove(key, version).is_some(),
        };
        if changed {
            concerned.extend(before);
            concerned.extend(self.opened_by(key));
        }
        Ok(concerned)
    }

    /// Takes a policy out; whether it was in.
    pub(super) fn remove_policy(&mut self, key: &Key, version: u64) -> bool {
        let opened = self.openings.remove(key, version).is_some();
        let policies = self.policies_like(key);
        policies.is_some_and(|policies| policies.remove(key, version).is_some()) || opened
    }

    /// The claims whose pods a policy opens; nobody's if it opens none, or only its own claim's.
    pub(super) fn opened_by(&self, key: &Key) -> BTreeSet<Subject> {
        let Some(opening) = self.openings.get(key) else {
            return BTreeSet::new();
        };
        let claims: BTreeSet<Key> = if let Some(uid) = &opening.only_of {
            self.of_uid(uid)
        } else {
            let pods = self.pods.keys_in(&key.namespace);
            let pods = pods.filter_map(|pod| self.pods.get(pod));
            pods.filter(|pod| opening.selects(&pod.value.labels))
                .flat_map(|pod| self.of_uid(&pod.claim_uid))
                .collect()
        };
        let here = claims.into_iter().filter(|claim| {
            claim.namespace == key.namespace && names::sandbox(&claim.name) != key.name
        });
        here.map(Subject::Claim).collect()
    }

    #[cfg(test)]
    pub(in crate::watch::index) fn opening_count(&self) -> usize {
        self.openings.len()
    }

    /// The policies that open a pod of the claim whose own policy is `own`, in order of their names.
    pub(super) fn widenings(&self, own: &Key, pod: &ObservedPod) -> Vec<Widening> {
        let mut labels = pod.labels.iter();
        let of_claim = labels.find(|(label, _)| label == names::LABEL_CLAIM_UID);
        let groups = [
            of_claim.map(|(_, uid)| Opens::Claim(uid.clone())),
            Some(Opens::Namespace(own.namespace.clone())),
        ];
        let policies = groups.iter().flatten();
        let policies = policies.flat_map(|group| self.openings.group(group));
        let others = policies.filter(|key| key.namespace == own.namespace && *key != own);
        let mut widenings: Vec<_> = others
            .filter_map(|key| {
                let opening = self.openings.get(key)?;
                let selects = opening.selects(&pod.labels);
                selects.then(|| opening.widening(&key.name))
            })
            .collect();
        widenings.sort();
        widenings
    }
}
