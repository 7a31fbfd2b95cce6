//! Whether the claim's directory can be mounted: its place, what is there, and who else has it
//! (C-025, M-012 to M-023, Q37). Pure.

use sandgate_shared::{
    api::SandboxClassSpec,
    mounts::{MountFault, Place},
    reason,
};

use super::storage::waiting;
use crate::claim::{
    observed::{Directory, Observed},
    plan::{Finding, Settings, workspace_volume::directory},
};

/// What ends a claim at any time: a place that cannot be its own, or that has become a link (C-025, M-021).
pub(super) fn unsound(observed: &Observed) -> Option<Finding> {
    let recorded = observed.claim.status.as_ref()?.volume_sub_path.as_deref()?;
    let derived = directory(observed)?;
    if derived
        .as_ref()
        .map_or(true, |path| path.as_str() != recorded)
    {
        return Some(invalid(format!(
            "status.volumeSubPath is {recorded:?}, which this claim can not have been given; somebody wrote it"
        )));
    }
    match observed.directory.as_ref()? {
        Directory::Symlink { at } => Some(invalid(format!(
            "{at} on the workspace's volume is a symbolic link, and nothing is mounted through one; put a directory there"
        ))),
        _ => None,
    }
}

/// What ends a claim before it is admitted, as far as nothing has to be looked at.
pub(super) fn misplaced(observed: &Observed, settings: &Settings) -> Option<Finding> {
    let place = directory(observed)?;
    match Place::of(&observed.claim.spec) {
        Place::Session if !settings.content.reachable => Some(Finding {
            reason: reason::SESSION_WORKSPACE_UNAVAILABLE,
            message: "the claim mounts its session's workspace, and the operator runs without --workspace-content-path, so it has nowhere to keep a session's files".to_owned(),
        }),
        Place::Configured { .. } if !settings.content.reachable => Some(invalid(
            "the operator runs without --workspace-content-path, so it can not see the directory".to_owned(),
        )),
        _ => place.err().map(|fault| unplaced(&fault)),
    }
}

/// What ends an admitted claim before its first bind, by what is at its directory or who else mounts it.
pub(super) fn taken(observed: &Observed) -> Option<Finding> {
    let path = directory(observed)?.ok()?;
    if let Some(other) = &observed.nested {
        return Some(invalid(format!(
            "{path} lies inside, or around, the directory that claim {other} mounts; wait until that one is gone"
        )));
    }
    match observed.directory.as_ref()? {
        Directory::NotDirectory { at } => Some(invalid(format!(
            "{at} on the workspace's volume is no directory"
        ))),
        Directory::Missing if must_exist(observed) => Some(Finding {
            reason: reason::MOUNT_NOT_FOUND,
            message: format!(
                "there is no directory {path} on the workspace's volume, and its mount role makes none; make it, then make the claim again"
            ),
        }),
        _ => None,
    }
}

/// What an admitted claim waits for before its first bind.
pub(super) fn unseen(observed: &Observed) -> Option<Finding> {
    match observed.directory.as_ref()? {
        Directory::Unseen(why) => Some(waiting(format!(
            "the claim's directory on the workspace's volume can not be looked at: {why}; it is tried again by itself"
        ))),
        _ => None,
    }
}

/// Whether a missing directory is to be made (M-017).
pub(super) fn to_make(observed: &Observed) -> bool {
    observed.directory == Some(Directory::Missing) && !must_exist(observed)
}

fn must_exist(observed: &Observed) -> bool {
    let place = Place::of(&observed.claim.spec);
    matches!(
        place,
        Place::Configured {
            must_exist: true,
            ..
        }
    )
}

/// The class lists the role that the claim mounts; one that lists none takes scratch alone (M-014, M-015, Q35).
pub(super) fn permitted(observed: &Observed, class: &SandboxClassSpec) -> Option<Finding> {
    let role = Place::of(&observed.claim.spec).class_role();
    let listed = class.mounts.as_deref().unwrap_or_default();
    let permitted = match listed {
        [] => role == "scratch",
        listed => listed.iter().any(|entry| entry.role == role),
    };
    (!permitted).then(|| Finding {
        reason: reason::MOUNT_NOT_PERMITTED,
        message: format!(
            "the class does not list role {role} in its mounts; add it there, or bind a role that it lists; then make the claim again"
        ),
    })
}

/// No directory follows from the claim (M-019).
pub(in crate::claim::plan) fn unplaced(fault: &MountFault) -> Finding {
    invalid(fault.to_string())
}

fn invalid(message: String) -> Finding {
    Finding {
        reason: reason::INVALID_MOUNT,
        message,
    }
}
