//! Where the statically linked probe is, which runs in images that hold nothing else. Reads the
//! environment.

use std::path::PathBuf;

/// Names it.
pub const VARIABLE: &str = "SANDGATE_PROBE";

/// There is none.
#[derive(Debug, thiserror::Error)]
#[error("{VARIABLE} names no statically linked sandgate-probe")]
pub struct NoProbe;

pub(super) fn find() -> Result<PathBuf, NoProbe> {
    let named = std::env::var_os(VARIABLE).map(PathBuf::from);
    named.filter(|path| path.is_file()).ok_or(NoProbe)
}
