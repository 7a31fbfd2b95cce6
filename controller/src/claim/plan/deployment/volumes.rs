//! The volumes of a sandbox and where they are mounted (O-017, O-019). Pure.
//!
//! A class with `filesystem.workspace` gets an emptyDir of the claim's own at its mount path: private
//! to the claim, of the node's disk, and gone with the pod. It stands in for the claim's scratch
//! directory on a workspace volume; a claim that asks for a directory which must outlive its pod is
//! never built with it.

use k8s_openapi::api::core::v1::{EmptyDirVolumeSource, Volume, VolumeMount};
use sandgate_shared::api::{
    SandboxClassSpec,
    sandbox_class::{Access, Filesystem, Medium},
};

use super::invalid;
use crate::claim::plan::Finding;

/// Name of the volume that is the claim's own workspace. Names that start so are the operator's.
const WORKSPACE_VOLUME: &str = "sandgate-workspace";

pub(super) fn volumes(
    class: &SandboxClassSpec,
) -> Result<(Vec<Volume>, Vec<VolumeMount>), Finding> {
    let mut volumes = Vec::new();
    let mut mounts = Vec::new();
    let Some(files) = &class.filesystem else {
        return Ok((volumes, mounts));
    };
    if let Some(workspace) = &files.workspace {
        volumes.push(empty_dir(WORKSPACE_VOLUME, EmptyDirVolumeSource::default()));
        mounts.push(VolumeMount {
            name: WORKSPACE_VOLUME.to_owned(),
            mount_path: workspace.mount_path.clone(),
            read_only: read_only_scratch(class).then_some(true),
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

/// Whether the class lets a scratch claim only read its workspace (O-019, Q35).
fn read_only_scratch(class: &SandboxClassSpec) -> bool {
    let mut entries = class.mounts.iter().flatten();
    entries.any(|entry| entry.role == "scratch" && entry.access == Access::ReadOnly)
}
