//! The mount roles of one workspace: the installation's, and its own in their place (M-002, M-007). Pure.

use std::collections::BTreeMap;

use serde::Deserialize as _;
use serde_json::Value;

use super::role::{MountRole, MountRoles, RoleFault, Written, apart};

/// What is read of an entry. The platform may write more there.
const FIELDS: [&str; 4] = ["name", "path", "mustExist", "minRole"];

/// All roles that can be declared in a workspace, by name. A wrong one of the workspace's own is at fault by
/// itself and takes no other with it; it hides an installation's role of its name all the same, since the
/// workspace does not mean that one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceRoles(BTreeMap<String, Result<MountRole, RoleFault>>);

impl WorkspaceRoles {
    /// The role of this name; what is wrong with it if it can not be used, and `None` if nobody configures it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Result<&MountRole, &RoleFault>> {
        self.0.get(name).map(Result::as_ref)
    }
}

impl MountRoles {
    /// The roles as they are in a workspace whose `spec.sandboxMountRoles` is `own`. Of two of its own whose
    /// paths overlap the later is at fault, and a name that it gives twice is; an installation's role yields to
    /// none but that of its name.
    #[must_use]
    pub fn within(&self, own: &[Value]) -> WorkspaceRoles {
        let is_own = |role: &&MountRole| own.iter().any(|entry| name(entry) == Some(&role.name));
        let kept = self.iter().filter(|role| !is_own(role));
        let mut roles: BTreeMap<String, Result<MountRole, RoleFault>> = kept
            .map(|role| (role.name.clone(), Ok(role.clone())))
            .collect();
        for entry in own {
            // Nobody can declare what has no name.
            let Some(name) = name(entry) else { continue };
            let accepted = if roles.contains_key(name) {
                Err(RoleFault::Twice)
            } else {
                read(entry).and_then(|role| apart(role, roles.values().flatten()))
            };
            roles.insert(name.to_owned(), accepted);
        }
        WorkspaceRoles(roles)
    }
}

fn name(entry: &Value) -> Option<&str> {
    entry.get("name").and_then(Value::as_str)
}

/// A value that is not understood is a fault and not a default: a misspelt `minRole` opens nothing.
fn read(entry: &Value) -> Result<MountRole, RoleFault> {
    let mut entry = entry.clone();
    if let Some(fields) = entry.as_object_mut() {
        fields.retain(|field, _| FIELDS.contains(&field.as_str()));
    }
    let written =
        Written::deserialize(entry).map_err(|error| RoleFault::Fields(error.to_string()))?;
    written.try_into()
}
