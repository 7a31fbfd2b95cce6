//! The mount roles that an installation configures (M-001, M-003, M-007, M-008). Pure.

use std::collections::BTreeSet;
use std::str::FromStr;

use serde::Deserialize;
use thiserror::Error;

use super::path::{PathFault, RolePath};
use crate::net::label::{self, is_label};

/// The roles that are not configured: their directories follow from the claim.
const BUILT_IN: [&str; 2] = ["scratch", "session"];

/// What a user may do in a workspace, least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkspaceRole {
    /// May look.
    Viewer,
    /// May change what is in it.
    #[default]
    Editor,
    /// May change who is in it.
    Owner,
}

/// One role that a class and a claim can name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountRole {
    /// Its name: a DNS label, and none of the built-in roles (M-003).
    pub name: String,
    /// Where its directories are.
    pub path: RolePath,
    /// Whether a directory has to be there already; otherwise it is made as a claim binds.
    pub must_exist: bool,
    /// The least a verified user has to be in the workspace to declare a mount of it.
    pub min_role: WorkspaceRole,
}

/// All roles of an installation: names and paths are apart from one another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountRoles(Vec<MountRole>);

/// What is wrong with one role.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RoleFault {
    /// It is no object with the fields of a role.
    #[error("{0}; write an object with name, path, mustExist and minRole")]
    Fields(String),
    /// Its name could not stand in a claim (M-003).
    #[error(
        "its name is no DNS label; use at most {} lower-case letters, digits and '-', a letter or digit first and last",
        label::LONGEST
    )]
    Name,
    /// Its name means something already (M-003).
    #[error("its name is that of a built-in role; give it another name than scratch and session")]
    BuiltIn,
    /// Two roles of one name (M-007).
    #[error("another role has its name; give each a name of its own")]
    Twice,
    /// Its path (M-004 to M-006).
    #[error("its path {path:?} {fault}")]
    Path {
        /// As configured.
        path: String,
        /// What is wrong with it.
        fault: PathFault,
    },
    /// Two roles could mount one directory (M-007).
    #[error(
        "its path {path} and that of role {other:?}, {others}, can become one directory or one inside the other; begin each with directories of its own"
    )]
    Overlap {
        /// As configured.
        path: RolePath,
        /// Name of the other role.
        other: String,
        /// Its path.
        others: RolePath,
    },
}

/// Why mount roles are refused. All of them are, for one that is wrong (M-001).
#[derive(Debug, Error)]
pub enum MountRolesError {
    /// It is no list of roles.
    #[error(
        "failed to read mount roles: {0}; write a JSON list of objects with name, path, mustExist and minRole"
    )]
    List(serde_json::Error),
    /// One of them is wrong.
    #[error("failed to accept mount role {name:?}: {fault}")]
    Role {
        /// The role's name, as configured.
        name: String,
        /// What is wrong with it.
        fault: RoleFault,
    },
}

/// A role as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Written {
    name: String,
    path: String,
    #[serde(default = "yes")]
    must_exist: bool,
    #[serde(default)]
    min_role: WorkspaceRole,
}

fn yes() -> bool {
    true
}

impl MountRoles {
    /// The roles, in the order they were written in.
    pub fn iter(&self) -> impl Iterator<Item = &MountRole> {
        self.0.iter()
    }
}

impl FromStr for MountRoles {
    type Err = MountRolesError;

    /// Reads a JSON list of roles.
    ///
    /// # Errors
    /// The first that is wrong, in the order they are written in.
    fn from_str(text: &str) -> Result<Self, MountRolesError> {
        let list: Vec<Written> = serde_json::from_str(text).map_err(MountRolesError::List)?;
        let mut roles: Vec<MountRole> = Vec::with_capacity(list.len());
        let mut names = BTreeSet::new();
        for written in list {
            let name = written.name.clone();
            let accepted = MountRole::try_from(written).and_then(|role| {
                if !names.insert(role.name.clone()) {
                    return Err(RoleFault::Twice);
                }
                apart(role, &roles)
            });
            roles.push(accepted.map_err(|fault| MountRolesError::Role { name, fault })?);
        }
        Ok(Self(roles))
    }
}

impl TryFrom<Written> for MountRole {
    type Error = RoleFault;

    fn try_from(written: Written) -> Result<Self, RoleFault> {
        if !is_label(&written.name) {
            return Err(RoleFault::Name);
        }
        if BUILT_IN.contains(&written.name.as_str()) {
            return Err(RoleFault::BuiltIn);
        }
        let path = written.path.parse().map_err(|fault| RoleFault::Path {
            path: written.path.clone(),
            fault,
        })?;
        Ok(Self {
            name: written.name,
            path,
            must_exist: written.must_exist,
            min_role: written.min_role,
        })
    }
}

/// The role, unless it and one of `others` could mount one directory.
pub(super) fn apart<'o>(
    role: MountRole,
    others: impl IntoIterator<Item = &'o MountRole>,
) -> Result<MountRole, RoleFault> {
    let mut others = others.into_iter();
    match others.find(|other| other.path.overlaps(&role.path)) {
        None => Ok(role),
        Some(other) => Err(RoleFault::Overlap {
            path: role.path,
            other: other.name.clone(),
            others: other.path.clone(),
        }),
    }
}
