//! The volumes of a sandbox and where they are mounted (O-017, O-019). Pure.
//!
//! At the mount path of a class with `filesystem.workspace` is the claim's directory of the workspace's
//! content.

use k8s_openapi::api::core::v1::{
    EmptyDirVolumeSource, PersistentVolumeClaimVolumeSource, Volume, VolumeMount,
};
use sandgate_shared::{
    api::{
        SandboxClaim, SandboxClassSpec,
        sandbox_class::{Filesystem, Medium},
    },
    mounts::Place,
};

use super::invalid;
use crate::claim::plan::{
    Finding,
    workspace_volume::{WorkspaceVolume, read_only},
};

/// Name of the volume that is the claim's workspace. Names that start so are the operator's.
const WORKSPACE_VOLUME: &str = "sandgate-workspace";

pub(super) fn volumes(
    claim: &SandboxClaim,
    class: &SandboxClassSpec,
    workspace: Option<&WorkspaceVolume>,
) -> Result<(Vec<Volume>, Vec<VolumeMount>), Finding> {
    let mut volumes = Vec::new();
    let mut mounts = Vec::new();
    let Some(files) = &class.filesystem else {
        return Ok((volumes, mounts));
    };
    if let (Some(at), Some(workspace)) = (&files.workspace, workspace) {
        volumes.push(workspace_volume(workspace));
        let read_only = read_only(Place::of(&claim.spec), class);
        mounts.push(VolumeMount {
            name: WORKSPACE_VOLUME.to_owned(),
            mount_path: at.mount_path.clone(),
            sub_path: workspace.path().map(ToString::to_string),
            read_only: read_only.then_some(true),
            ..VolumeMount::default()
        });
    }
    for scratch in scratch_volumes(files) {
        if scratch.name == WORKSPACE_VOLUME {
            return Err(invalid(&format!(
                "filesystem.scratch has a volume called {WORKSPACE_VOLUME}, a name the operator keeps for itself"
            )));
        }
        let source = EmptyDirVolumeSource {
            medium: (scratch.medium == Medium::Memory).then(|| "Memory".to_owned()),
            size_limit: Some(scratch.size_limit.clone()),
        };
        volumes.push(empty_dir(&scratch.name, source));
        mounts.push(VolumeMount {
            name: scratch.name.clone(),
            mount_path: scratch.mount_path.clone(),
            ..VolumeMount::default()
        });
    }
    Ok((volumes, mounts))
}

fn scratch_volumes(
    files: &Filesystem,
) -> impl Iterator<Item = &sandgate_shared::api::sandbox_class::ScratchVolume> {
    files.scratch.iter().flatten()
}

fn empty_dir(name: &str, source: EmptyDirVolumeSource) -> Volume {
    Volume {
        name: name.to_owned(),
        empty_dir: Some(source),
        ..Volume::default()
    }
}

fn workspace_volume(workspace: &WorkspaceVolume) -> Volume {
    match workspace {
        WorkspaceVolume::Empty => empty_dir(WORKSPACE_VOLUME, EmptyDirVolumeSource::default()),
        WorkspaceVolume::Content { claim, .. } => Volume {
            name: WORKSPACE_VOLUME.to_owned(),
            persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
                claim_name: claim.clone(),
                read_only: None,
            }),
            ..Volume::default()
        },
    }
}
