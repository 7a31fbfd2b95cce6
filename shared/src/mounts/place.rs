//! Which directory a claim mounts, from the claim alone (M-010 to M-014). Pure.

use thiserror::Error;

use super::path::RESERVED;
use super::sub_path::{Relation, SubPath, SubPathError};
use crate::api::{SandboxClaim, SandboxClaimSpec};
use crate::net::label::is_label;

/// What a claim mounts as its workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'c> {
    /// A directory of the claim's own (M-010).
    Scratch,
    /// The directory of its session, which every claim of the same handle finds again (M-013).
    Session,
    /// A directory that the operator resolved when it authorised the mount, as recorded (M-012).
    Configured {
        /// The mount role.
        role: &'c str,
        /// The directory, relative to the workspace's content.
        path: &'c str,
        /// Whether it has to be there; otherwise it is made as the claim binds.
        must_exist: bool,
    },
}

impl<'c> Place<'c> {
    /// What the claim asks for, in either form of saying so.
    pub fn of(spec: &'c SandboxClaimSpec) -> Self {
        let Some(binding) = spec.mounts.iter().flatten().chain(&spec.mount).next() else {
            return Self::Scratch;
        };
        match binding.role() {
            "scratch" => Self::Scratch,
            "session" => Self::Session,
            role => Self::Configured {
                role,
                path: binding.path.as_deref().unwrap_or_default(),
                must_exist: binding.must_exist.unwrap_or(false),
            },
        }
    }

    /// The role that the class has to list: a session mount needs only a scratch mount (M-014).
    pub fn class_role(self) -> &'c str {
        match self {
            Self::Scratch | Self::Session => "scratch",
            Self::Configured { role, .. } => role,
        }
    }
}

/// Why no directory follows from a claim (M-019).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MountFault {
    /// The recorded path is none.
    #[error("failed to place the mount: its path {0}")]
    Path(SubPathError),
    /// The recorded path is not the role's to mount.
    #[error(
        "failed to place the mount: its path reaches or contains {0}/, which sandboxes or other components own"
    )]
    Reserved(&'static str),
    /// The session's directory is named after these three (M-013).
    #[error(
        "failed to place the mount: a session mount needs an agentRuntimeRef, a sessionID and a handle like shop/default"
    )]
    Session,
    /// The claim was not read from an API server.
    #[error("failed to place the mount: the claim has no UID")]
    Uid,
}

/// The directory a claim mounts. It follows from what cannot change in a claim, so it is the same at any
/// time; a scratch directory is named after the UID: a claim that is made again under its name finds
/// nothing of the one before.
pub fn sub_path(claim: &SandboxClaim) -> Result<SubPath, MountFault> {
    match Place::of(&claim.spec) {
        Place::Scratch => {
            let uid = claim.metadata.uid.as_deref().ok_or(MountFault::Uid)?;
            joined(&["sandboxes", uid]).ok_or(MountFault::Uid)
        }
        Place::Session => session(&claim.spec).ok_or(MountFault::Session),
        Place::Configured { path, .. } => configured(path),
    }
}

fn session(spec: &SandboxClaimSpec) -> Option<SubPath> {
    let runtime = spec.agent_runtime_ref.as_ref()?;
    let (sandbox, instance) = spec.handle.as_deref()?.split_once('/')?;
    let labels = is_label(sandbox) && is_label(instance);
    let of_this_session = ["sessions", &runtime.name, &spec.session_id];
    labels
        .then(|| joined(&[&of_this_session[..], &[sandbox, instance]].concat()))
        .flatten()
}

/// The path of these segments, each of which is one.
fn joined(segments: &[&str]) -> Option<SubPath> {
    let whole = segments.iter().all(|segment| !segment.contains('/'));
    whole.then(|| segments.join("/").parse().ok()).flatten()
}

fn configured(path: &str) -> Result<SubPath, MountFault> {
    let path: SubPath = path.parse().map_err(MountFault::Path)?;
    let taken = RESERVED.into_iter().find(|taken| {
        let taken = taken.parse::<SubPath>();
        taken.is_ok_and(|taken| path.relation(&taken) != Relation::Apart)
    });
    match taken {
        Some(taken) => Err(MountFault::Reserved(taken)),
        None => Ok(path),
    }
}
