//! The path of a mount role: words and placeholders, and which directories it can become (M-004 to
//! M-007). Pure.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::sub_path::{SubPath, SubPathError};

/// What stands for the id that a mount names.
const ID: &str = "{id}";
/// What stands for the pseudonym of the user that declares a mount.
const USER: &str = "{user}";

/// The directories of a workspace's content that sandboxes and other components own (M-006).
pub const RESERVED: [&str; 10] = [
    "sandboxes",
    "sessions",
    "arena/sources",
    "arena/repos",
    "arena/snapshots",
    "arena/deployed",
    "arena/template-sources",
    "arena/template-indexes",
    "skills",
    "manifests",
];

/// Why a text is no path of a mount role.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PathFault {
    /// It could not name a directory below the workspace's content (M-005).
    #[error("{0}; write it like arena/workspaces/{ID}")]
    Text(SubPathError),
    /// A segment has a brace and is no placeholder (M-004).
    #[error(
        "has the segment {0:?}: a placeholder is a whole segment, {ID} or {USER}, and nothing else has braces"
    )]
    Placeholder(String),
    /// Two ids, or none, would each mount the same (M-004).
    #[error("has {0} segments {ID}; it needs exactly one, which the id of a mount is put for")]
    Ids(usize),
    /// More than one user (M-004).
    #[error("has {0} segments {USER}; it may have one, which the declaring user is put for")]
    Users(usize),
    /// It can become a directory of somebody else's, one inside, or one around (M-006).
    #[error(
        "can reach or contain {0}/, which sandboxes or other components own; begin it with a directory of its own, as in arena/workspaces/{ID}"
    )]
    Reserved(&'static str),
}

/// Where a role's directories are, relative to a workspace's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolePath(String);

impl RolePath {
    /// The path as configured.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this path and another can become one directory, or one inside the other (M-007).
    pub fn overlaps(&self, other: &Self) -> bool {
        overlap(&self.0, &other.0)
    }
}

impl fmt::Display for RolePath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl FromStr for RolePath {
    type Err = PathFault;

    fn from_str(text: &str) -> Result<Self, PathFault> {
        let path: SubPath = text.parse().map_err(PathFault::Text)?;
        let (mut ids, mut users) = (0, 0);
        for segment in path.segments() {
            match segment {
                ID => ids += 1,
                USER => users += 1,
                word if word.contains(['{', '}']) => {
                    return Err(PathFault::Placeholder(word.to_owned()));
                }
                _ => {}
            }
        }
        if ids != 1 {
            return Err(PathFault::Ids(ids));
        }
        if users > 1 {
            return Err(PathFault::Users(users));
        }
        match RESERVED.into_iter().find(|taken| overlap(text, taken)) {
            Some(taken) => Err(PathFault::Reserved(taken)),
            None => Ok(Self(text.to_owned())),
        }
    }
}

/// Whether two paths can become one directory, or one inside the other: a placeholder can become any
/// segment, so they can unless two words differ at one depth.
fn overlap(ours: &str, theirs: &str) -> bool {
    let any = |segment: &str| matches!(segment, ID | USER);
    let mut pairs = ours.split('/').zip(theirs.split('/'));
    pairs.all(|(ours, theirs)| ours == theirs || any(ours) || any(theirs))
}
