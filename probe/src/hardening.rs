//! What a container sees of itself: the proof that what was asked for was done. Does I/O; what it
//! reads is understood by the modules below, which are pure.

mod cgroup;
mod environment;
mod mounts;
mod status;

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use self::cgroup::Limits;
pub use self::mounts::Mount;
pub use self::status::{Capabilities, Status};

use self::cgroup::Files;

/// Where a kubelet puts the token of a ServiceAccount.
const TOKEN: &str = "/var/run/secrets/kubernetes.io";

/// All that is seen. What cannot be read is null, or an empty list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hardening {
    /// Who the process is and what it may do.
    #[serde(flatten)]
    pub status: Status,
    /// Whether nothing can be written to the root file system.
    pub root_read_only: Option<bool>,
    /// What is mounted.
    pub mounts: Vec<Mount>,
    /// Whether there is a token of a ServiceAccount, or a folder for one.
    pub token_present: bool,
    /// The limits of the container's own cgroup.
    pub cgroup: Limits,
    /// Variables by which a pod is told of Services.
    pub service_env: Vec<String>,
    /// The names of all variables.
    pub env_names: Vec<String>,
}

impl Hardening {
    /// Reads it.
    pub fn read() -> Self {
        let mounts = text("/proc/self/mountinfo");
        let names = environment::names(std::env::vars_os().map(|(name, _)| name));
        Self {
            status: status::parse(&text("/proc/self/status")),
            root_read_only: mounts::root_is_read_only(&mounts),
            mounts: mounts::parse(&mounts),
            token_present: Path::new(TOKEN).symlink_metadata().is_ok(),
            cgroup: limits(&mounts),
            service_env: environment::of_services(&names),
            env_names: names,
        }
    }
}

fn limits(mounts: &str) -> Limits {
    let files = Files::find(mounts, &text("/proc/self/cgroup"));
    Limits::read(&files, |path| fs::read_to_string(path).ok())
}

/// A file that may not be there; what is in it may be anything.
fn text(path: &str) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
