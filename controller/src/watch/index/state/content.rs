//! Workspaces, their volume claims, and the directories that claims mount. Pure.

use std::collections::BTreeSet;

use sandgate_shared::api::ClaimPhase;
use sandgate_shared::api::outside::WorkspaceSpec;

use super::State;
use crate::claim::mounted::Neighbour;
use crate::claim::plan;
use crate::key::Key;

impl State {
    pub(in crate::watch::index) fn workspaces_of(
        &self,
        namespace: &str,
    ) -> Vec<(String, WorkspaceSpec)> {
        let named = self.workspaces.keys().filter_map(|key| {
            let spec = self.workspaces.get(key)?;
            let owned = spec.namespace.as_ref()?;
            (owned.name == namespace).then(|| (key.name.clone(), spec.clone()))
        });
        named.collect()
    }

    pub(in crate::watch::index) fn has_content_claim(&self, claim: &Key) -> bool {
        self.content_claims.get(claim).is_some_and(|going| !going)
    }

    pub(in crate::watch::index) fn neighbours(&self, namespace: &str) -> Vec<Neighbour> {
        let claims = self.claims.keys_in(namespace);
        claims
            .filter_map(|key| Neighbour::of(self.claims.get(key)?))
            .collect()
    }

    /// The claims that wait for storage in the namespace that a workspace owns.
    pub(super) fn of_workspace(&self, workspace: &Key) -> BTreeSet<Key> {
        let spec = self.workspaces.get(workspace);
        let owned = spec.and_then(|spec| spec.namespace.as_ref());
        owned
            .map(|owned| self.that_await_storage(&owned.name))
            .unwrap_or_default()
    }

    /// The claims of a namespace that are admitted and were never bound: a sandbox that runs has what it
    /// needs.
    pub(super) fn that_await_storage(&self, namespace: &str) -> BTreeSet<Key> {
        let awaits = |key: &&Key| {
            self.claims.get(key).is_some_and(|claim| {
                let status = claim.status.as_ref();
                let pending = status.and_then(|status| status.phase) == Some(ClaimPhase::Pending);
                pending && !plan::ever_bound(claim)
            })
        };
        self.claims
            .keys_in(namespace)
            .filter(awaits)
            .cloned()
            .collect()
    }
}
