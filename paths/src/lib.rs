//! Directories below a root, on a file system that others write to at the same time (M-016, M-017, M-020,
//! M-021). Does I/O; blocks for as long as the file system does.
//!
//! No path is first checked as a text and then used as one: between the two, a name could become a
//! symbolic link. Each component is opened relative to the directory that was opened before it, and none
//! through a link:
//!
//! ```text
//!   Root::look ──▶ openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS), the whole path
//!        └────────▶ openat(O_PATH | O_NOFOLLOW | O_DIRECTORY), one component after the other:
//!                   where there is no openat2, and to find out which component it was
//!   Root::make ──▶ the same, with mkdirat for each component that is missing
//! ```
//!
//! Linux only. The root itself may be reached through a link: whoever mounted it has said where it is.

mod below;
mod open;
mod root;

pub use below::{Below, NotBelow};
pub use root::{PathsError, Root, Seen};
