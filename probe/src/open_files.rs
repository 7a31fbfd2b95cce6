//! How many sockets may be open at once. Asks the system.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More would help nobody.
const ENOUGH: usize = 16_384;
/// For what is no socket of a dialler or a caller.
const OTHERS: usize = 64;

/// Raises the limit of open files as far as it may be, and returns how many of them sockets may use.
pub fn for_sockets() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let current = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    let files = current.and_then(|files| usize::try_from(files).ok());
    files.unwrap_or(ENOUGH).min(ENOUGH).saturating_sub(OTHERS)
}
