//! What stands of a claim's objects, as its status tells it (C-020, O-040). Pure.

use std::collections::BTreeMap;

use kube::ResourceExt;
use sandgate_shared::{api::sandbox_claim::AppliedObject, names};

use super::Report;
use crate::claim::{
    observed::ObjectKind,
    plan::{Build, Finding, Outcome, Refusal, gate::owns, previous_remains},
};

impl Report<'_> {
    /// One `host:port` per class port; the host is the sandbox's Service (C-020).
    pub(super) fn addresses(&self) -> BTreeMap<String, String> {
        let claim = &self.observed.claim;
        let host = format!(
            "{}.{}.svc.{}",
            names::sandbox(&claim.name_any()),
            claim.namespace().unwrap_or_default(),
            self.settings.cluster_domain,
        );
        let address = |name: &str, port: i32| (name.to_owned(), format!("{host}:{port}"));
        if let Some(class) = self.observed.class.found() {
            let ports = class.ports.iter();
            return ports.map(|port| address(&port.name, port.port)).collect();
        }
        // The class is gone and its ports were immutable: the Service has them still.
        let service = self.observed.service.as_ref();
        let ports = service.into_iter().flat_map(|service| &service.ports);
        ports.map(|(name, port)| address(name, *port)).collect()
    }

    pub(super) fn outcome(&self, kind: ObjectKind) -> Option<&Outcome> {
        let mut outcomes = self.applied.outcomes.iter();
        outcomes
            .find(|(found, _)| *found == kind)
            .map(|(_, outcome)| outcome)
    }

    /// UID of the Deployment as it stands now. What was seen before the write may lack it: a label
    /// that was edited away hides it from the watch until it is put back.
    pub(super) fn deployment(&self) -> Option<&str> {
        let written = self
            .outcome(ObjectKind::Deployment)
            .and_then(Outcome::stored);
        let seen = self.observed.deployment.as_ref();
        written
            .map(|stored| stored.uid.as_str())
            .or(seen.map(|live| live.uid.as_str()))
    }

    pub(super) fn stands(&self, kind: ObjectKind) -> bool {
        let written = self.outcome(kind).and_then(Outcome::stored).is_some();
        written || owns(self.observed, kind)
    }

    /// The first object that a write came to this of.
    pub(super) fn first(&self, wanted: &Outcome) -> Option<ObjectKind> {
        let mut outcomes = self.applied.outcomes.iter();
        let found = outcomes.find(|(_, outcome)| outcome == wanted);
        found.map(|(kind, _)| *kind)
    }

    /// What a write came upon of an earlier claim of the name.
    pub(super) fn left_over(&self) -> Option<Finding> {
        let kind = self.first(&Outcome::LeftOver)?;
        let claim = self.observed.claim.name_any();
        Some(previous_remains(kind.as_str(), &kind.name(&claim)))
    }

    /// The refusal that holds the claim up: of this pass, or of an earlier one that is not tried
    /// again yet.
    pub(super) fn refused<'a>(&'a self, build: &Build) -> Option<(ObjectKind, &'a Refusal)> {
        let now = self.applied.outcomes.iter().find_map(|(kind, outcome)| {
            let Outcome::Refused(refusal) = outcome else {
                return None;
            };
            Some((*kind, refusal))
        });
        now.or_else(|| {
            build.paused_until?;
            let past = self.observed.memory.refusal.as_ref()?;
            Some((past.kind, &past.refusal))
        })
    }

    pub(super) fn template_hash(&self, build: &Build, present: Option<String>) -> Option<String> {
        let outcome = self.outcome(ObjectKind::Deployment);
        if outcome.is_some_and(Outcome::wrote_spec) {
            build.template_hash.clone()
        } else {
            build.standing_template.clone().or(present)
        }
    }

    pub(super) fn applied_objects(&self) -> Option<Vec<AppliedObject>> {
        let applied = &self.observed.memory.applied;
        let records = ObjectKind::all_owned().filter_map(|kind| {
            let record = applied.get(&kind)?;
            Some(AppliedObject {
                kind: kind.record().to_owned(),
                uid: record.uid.clone(),
                digest: record.digest.clone(),
            })
        });
        Some(records.collect::<Vec<_>>()).filter(|records| !records.is_empty())
    }
}
