//! Which directory of a workspace's content a sandbox mounts: the roles an installation configures, and
//! the place that follows from a claim (M-001, M-003 to M-014). Pure: nothing here looks at a volume.
//!
//! ```text
//!   --sandbox-mount-roles ──parse──▶ MountRoles   (refused whole, before anything starts)
//!   MountRoles + Workspace ──within──▶ WorkspaceRoles   (what can be declared there)
//!   claim ──Place::of──▶ Place ──sub_path──▶ SubPath, what the volume is mounted by
//! ```
//!
//! A role's configuration never moves a claim: what it mounts is recorded in the claim (M-012).

mod content;
mod path;
mod place;
mod role;
mod sub_path;
mod workspace;

pub use content::{ContentClaimName, ContentError, ContentLayout};
pub use path::{PathFault, RESERVED, RolePath};
pub use place::{MountFault, Place, sub_path};
pub use role::{MountRole, MountRoles, MountRolesError, RoleFault, WorkspaceRole};
pub use sub_path::{LONGEST, LONGEST_SEGMENT, Relation, SubPath, SubPathError};
pub use workspace::WorkspaceRoles;
