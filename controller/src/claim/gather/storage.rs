//! What keeps the content of namespaces, and what is at claims' directories. Does I/O.

use std::sync::Arc;

use kube::core::DynamicObject;
use sandgate_shared::api::SandboxClaim;
use sandgate_shared::api::outside::{Workspace, WorkspaceSpec};
use sandgate_shared::mounts;
use sandgate_shared::mounts::ContentClaimName;

use super::directory::{ContentRoot, Directories, Haste, Wanted};
use super::{Gather, GatherError};
use crate::api_server::Place;
use crate::claim::mounted::{Mounted, Neighbour};
use crate::claim::observed::{Directory, Observed, Storage};
use crate::claim::plan;
use crate::key::Key;
use crate::kind::Kind;

/// How workspaces keep their content, and what of it is taken.
#[derive(Clone, Debug)]
pub struct Volumes {
    claim_name: ContentClaimName,
    directories: Option<Directories>,
    mounted: Arc<Mounted>,
}

impl Volumes {
    /// Of an installation; `content` is where the operator sees them, if it does.
    pub fn new(claim_name: ContentClaimName, content: Option<ContentRoot>) -> Self {
        Self {
            claim_name,
            directories: content.map(Directories::new),
            mounted: Arc::default(),
        }
    }
}

impl Gather {
    /// What keeps the content of a namespace, as the watches know it.
    pub(super) fn storage(&self, namespace: &str) -> Storage {
        let index = &self.watches.index;
        self.storage_of(index.workspaces_of(namespace), namespace, |name| {
            index.has_content_claim(&Key::new(namespace, name))
        })
    }

    /// The same, read anew.
    pub(super) async fn storage_now(&self, namespace: &str) -> Result<Storage, GatherError> {
        let named = |object: DynamicObject| {
            let name = object.metadata.name.clone()?;
            let value = serde_json::to_value(object).ok()?;
            let workspace: Workspace = serde_json::from_value(value).ok()?;
            let owned = workspace.spec.namespace.as_ref()?;
            (owned.name == namespace).then_some((name, workspace.spec))
        };
        let workspaces = match self.api.list(Kind::Workspace, None).await {
            // The kind is not served.
            Err(error) if error.is_not_found() => Vec::new(),
            listed => listed.map_err(|source| GatherError::List {
                kind: Kind::Workspace,
                source,
            })?,
        };
        let owners: Vec<_> = workspaces.into_iter().filter_map(named).collect();
        let storage = self.storage_of(owners.clone(), namespace, |_| false);
        let Some(content) = storage.content() else {
            return Ok(storage);
        };
        let place = Place::namespaced(Kind::PersistentVolumeClaim, namespace, &content.claim);
        let claim = self.get(place).await?;
        let stands = claim.is_some_and(|claim| claim.metadata.deletion_timestamp.is_none());
        Ok(self.storage_of(owners, namespace, |_| stands))
    }

    /// What is at the directory of a claim, if it has one that can be looked at.
    pub async fn directory(&self, observed: &Observed, haste: Haste) -> Option<Directory> {
        let directories = self.volumes.directories.as_ref()?;
        Some(directories.look(wanted(observed)?, haste).await)
    }

    /// The same, after it was made.
    pub async fn made_directory(&self, observed: &Observed) -> Option<Directory> {
        let directories = self.volumes.directories.as_ref()?;
        Some(directories.make(wanted(observed)?).await)
    }

    /// The claim that keeps this one from its directory. Only what a role configures can lie inside
    /// something else: the others are named after who they are for (M-022).
    pub(super) fn nested(&self, claim: &SandboxClaim) -> Option<String> {
        if !matches!(
            mounts::Place::of(&claim.spec),
            mounts::Place::Configured { .. }
        ) {
            return None;
        }
        let neighbour = Neighbour::of(claim).filter(|claim| !claim.bound)?;
        let namespace = claim.metadata.namespace.as_deref()?;
        let others = || self.watches.index.neighbours(namespace);
        self.volumes.mounted.take(namespace, &neighbour, others)
    }

    fn storage_of(
        &self,
        owners: Vec<(String, WorkspaceSpec)>,
        namespace: &str,
        stands: impl FnOnce(&str) -> bool,
    ) -> Storage {
        let name = |workspace: &str| self.volumes.claim_name.of(workspace, namespace);
        Storage::of(owners, name, stands)
    }
}

fn wanted(observed: &Observed) -> Option<Wanted> {
    // Also while the volume claim is on its way out: the pod that mounts it holds it.
    let content = observed.storage.content()?;
    Some(Wanted {
        workspace: content.workspace.clone(),
        namespace: observed.claim.metadata.namespace.clone()?,
        path: plan::mounted(observed)?,
    })
}
