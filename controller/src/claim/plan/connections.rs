//! What the Connections of a claim put into its sandbox now, and what is taken away (K-030, K-031). Pure.

use std::collections::BTreeSet;

use sandgate_shared::{
    api::SandboxClassSpec,
    checks::{self, Bound, Dropped, Placement},
};

use super::{FilesIntent, Finding, Urgent, deployment::invalid};
use crate::claim::observed::{Binding, LiveObject, Observed};

/// What still stands of a claim's bindings.
pub(super) struct Standing<'o> {
    kept: Vec<Bound<'o>>,
    gone: Vec<Dropped>,
}

impl<'o> Standing<'o> {
    /// Of a claim that binds Connections which were looked at.
    pub(super) fn of(observed: &'o Observed) -> Option<Self> {
        let bindings = observed.bindings.as_deref()?;
        let bound: Vec<_> = bindings.iter().map(Binding::bound).collect();
        let (kept, gone) = checks::drop_gone(&bound);
        Some(Self { kept, gone })
    }

    /// What is placed in a sandbox of the class, and every binding that is not.
    ///
    /// # Errors
    /// The class's arguments for a session do not render.
    pub(super) fn placed(
        &self,
        class: &SandboxClassSpec,
    ) -> Result<(Placement, Vec<Dropped>), Finding> {
        let fitting = checks::fitting(class, &self.kept);
        let (placement, without_room) = fitting.map_err(|failure| invalid(&failure.message))?;
        let dropped = self.gone.iter().cloned().chain(without_room);
        Ok((placement, dropped.collect()))
    }

    /// The Secret with the files of what stands.
    pub(super) fn files(&self, observed: &Observed) -> FilesIntent {
        FilesIntent::of(&observed.claim, checks::rendered(&self.kept))
    }

    /// The hosts of what stands (E-003, E-013).
    pub(super) fn hosts(&self) -> BTreeSet<String> {
        let found = self.kept.iter().filter_map(|bound| bound.found);
        found.flat_map(|found| &found.hosts).cloned().collect()
    }

    /// Whether a Deployment was made from other bindings: then one of them is gone, or came back.
    pub(super) fn differs_from(&self, live: &LiveObject) -> bool {
        live.bindings.as_deref() != Some(checks::digest(&self.kept).as_str())
    }

    /// Whether that takes a credential away.
    pub(super) fn urgent(&self, live: Option<&LiveObject>) -> Urgent {
        let differs = live.is_some_and(|live| self.differs_from(live));
        if differs && !self.gone.is_empty() {
            Urgent::Revoke
        } else {
            Urgent::No
        }
    }
}
