//! Which volume a claim's workspace is, and which directory of it (O-018, C-025). Pure.

use sandgate_shared::{
    api::{SandboxClassSpec, sandbox_class::Access},
    mounts::{MountFault, Place, SubPath, sub_path},
};

use super::{Finding, gate};
use crate::claim::observed::Observed;

/// What is mounted at the class's `filesystem.workspace`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WorkspaceVolume {
    /// An empty directory that goes with the pod: what an earlier version built, and keeps (C-034).
    Empty,
    /// A directory of the workspace's content.
    Content {
        /// The PersistentVolumeClaim.
        claim: String,
        /// The directory.
        path: SubPath,
        /// The group that may write in what the operator made.
        group: Option<i64>,
    },
}

impl WorkspaceVolume {
    /// The directory of it that is mounted; the whole of one that is the claim's own.
    pub(super) fn path(&self) -> Option<&SubPath> {
        match self {
            Self::Empty => None,
            Self::Content { path, .. } => Some(path),
        }
    }

    /// The groups that the sandbox's user needs for it. Not the pod's `fsGroup`: for that a kubelet may
    /// change the group of all that is on the volume.
    pub(super) fn groups(&self) -> Option<Vec<i64>> {
        match self {
            Self::Empty => None,
            Self::Content { group, .. } => group.map(|group| vec![group]),
        }
    }
}

/// The directory that the claim mounts or will mount; `None` where its class has no workspace, and for a
/// claim that an earlier version admitted.
pub(super) fn directory(observed: &Observed) -> Option<Result<SubPath, MountFault>> {
    let claim = &observed.claim;
    let status = claim.status.as_ref();
    if status
        .and_then(|status| status.volume_sub_path.as_ref())
        .is_some()
    {
        return Some(sub_path(claim));
    }
    let has_workspace = observed.class.found().is_some_and(gate::has_workspace);
    (has_workspace && !gate::holds_place(observed)).then(|| sub_path(claim))
}

/// The same, once it is known to be one.
pub fn mounted(observed: &Observed) -> Option<SubPath> {
    directory(observed)?.ok()
}

/// The volume of a class that has a workspace.
pub(super) fn volume(observed: &Observed, group: Option<i64>) -> Result<WorkspaceVolume, Finding> {
    let Some(path) = directory(observed) else {
        return Ok(WorkspaceVolume::Empty);
    };
    let path = path.map_err(|fault| gate::unplaced(&fault))?;
    let content = observed.storage.content();
    let content = content.ok_or_else(|| gate::no_storage(observed))?;
    Ok(WorkspaceVolume::Content {
        claim: content.claim.clone(),
        path,
        group,
    })
}

/// Whether the class lets the claim only read its workspace (O-019, Q35).
pub(super) fn read_only(place: Place<'_>, class: &SandboxClassSpec) -> bool {
    let mut entries = class.mounts.iter().flatten();
    entries.any(|entry| entry.role == place.class_role() && entry.access == Access::ReadOnly)
}
