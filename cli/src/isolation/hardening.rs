//! What a sandbox's container sees of itself, against the restricted profile and its class. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use sandgate_probe::hardening::{Capabilities, Hardening, Mount};

/// What the class of a sandbox asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// `filesystem.readOnlyRoot`.
    pub read_only_root: bool,
    /// `resources.limits.memory`, in bytes.
    pub memory_bytes: u64,
    /// `resources.limits.cpu`, in thousandths.
    pub cpu_milli: u64,
    /// Where its memory-backed scratch volume is mounted.
    pub scratch: &'static str,
}

/// One thing looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// What.
    pub about: String,
    /// What it should be.
    pub expected: String,
    /// What it is.
    pub found: String,
    /// Whether that is the same.
    pub holds: bool,
}

impl Check {
    fn new(about: &str, expected: &str, found: impl Into<String>, holds: bool) -> Self {
        Self {
            about: about.to_owned(),
            expected: expected.to_owned(),
            found: found.into(),
            holds,
        }
    }
}

/// Looks at everything. What the container could not read does not hold.
pub fn judge(seen: &Hardening, asked: &Asked) -> Vec<Check> {
    let status = &seen.status;
    let mut checks = vec![
        user(status.uid),
        capabilities(&status.capabilities),
        no_new_privs(status.no_new_privs),
        seccomp(status.seccomp),
        root(seen.root_read_only, asked.read_only_root),
    ];
    checks.extend(["/proc/sys", "/sys"].map(|path| read_only(&seen.mounts, path)));
    checks.push(scratch(&seen.mounts, asked.scratch));
    checks.push(token(seen.token_present));
    checks.push(memory(seen.cgroup.memory_max_bytes, asked.memory_bytes));
    let quota = seen.cgroup.cpu_quota_us.zip(seen.cgroup.cpu_period_us);
    checks.push(cpu(quota, asked.cpu_milli));
    checks.push(services(&seen.service_env));
    checks
}

const UNKNOWN: &str = "unknown";

fn user(uid: Option<u32>) -> Check {
    let found = uid.map_or_else(|| UNKNOWN.to_owned(), |uid| uid.to_string());
    Check::new("user", "not root", found, uid.is_some_and(|uid| uid != 0))
}

fn capabilities(seen: &Capabilities) -> Check {
    let sets = [
        ("effective", &seen.effective),
        ("permitted", &seen.permitted),
        ("inheritable", &seen.inheritable),
        ("bounding", &seen.bounding),
        ("ambient", &seen.ambient),
    ];
    let held = sets.into_iter().filter_map(|(name, set)| {
        let digits = set.as_deref().unwrap_or(UNKNOWN);
        // A set that cannot be read is not an empty one.
        let empty = u64::from_str_radix(digits, 16) == Ok(0);
        (!empty).then(|| format!("{name} {digits}"))
    });
    none_of("capabilities", &held.collect::<Vec<_>>())
}

fn no_new_privs(found: Option<bool>) -> Check {
    let words = match found {
        Some(true) => "set",
        Some(false) => "not set",
        None => UNKNOWN,
    };
    Check::new("no new privileges", "set", words, found == Some(true))
}

fn seccomp(mode: Option<u32>) -> Check {
    let found = match mode {
        Some(0) => "none".to_owned(),
        Some(1) => "strict".to_owned(),
        Some(2) => "filter".to_owned(),
        Some(other) => format!("mode {other}"),
        None => UNKNOWN.to_owned(),
    };
    Check::new("seccomp", "filter", found, mode == Some(2))
}

fn token(present: bool) -> Check {
    let found = if present { "present" } else { "absent" };
    Check::new("ServiceAccount token", "absent", found, !present)
}

/// Nothing may be on this list.
fn none_of(about: &str, found: &[impl AsRef<str>]) -> Check {
    let words: Vec<&str> = found.iter().map(AsRef::as_ref).collect();
    let none = words.is_empty();
    let found = if none {
        "none".to_owned()
    } else {
        words.join(", ")
    };
    Check::new(about, "none", found, none)
}

fn root(found: Option<bool>, asked: bool) -> Check {
    let words = |read_only| {
        if read_only { "read-only" } else { "writable" }
    };
    Check::new(
        "root filesystem",
        words(asked),
        found.map_or(UNKNOWN, words),
        found == Some(asked),
    )
}

fn read_only(mounts: &[Mount], path: &str) -> Check {
    // The last mount at a path is the one that is seen.
    let mount = mounts.iter().rfind(|mount| mount.path == path);
    let holds = mount.is_some_and(|mount| mount.options.iter().any(|option| option == "ro"));
    let found = match mount {
        Some(_) if holds => "read-only",
        Some(_) => "writable",
        None => "not mounted apart",
    };
    Check::new(path, "read-only", found, holds)
}

fn scratch(mounts: &[Mount], path: &str) -> Check {
    let mount = mounts.iter().rfind(|mount| mount.path == path);
    let kind = mount.map_or("no mount", |mount| mount.fstype.as_str());
    Check::new("scratch volume in memory", "tmpfs", kind, kind == "tmpfs")
}

fn memory(found: Option<u64>, asked: u64) -> Check {
    let words = |bytes: u64| format!("{} MiB", bytes / (1 << 20));
    Check::new(
        "memory limit",
        &words(asked),
        found.map_or_else(|| "none".to_owned(), words),
        found == Some(asked),
    )
}

fn cpu(found: Option<(u64, u64)>, asked: u64) -> Check {
    let milli = found.and_then(|(quota, period)| (quota * 1000).checked_div(period));
    let words = |milli: u64| format!("{milli}m");
    Check::new(
        "CPU limit",
        &words(asked),
        milli.map_or_else(|| "none".to_owned(), words),
        milli == Some(asked),
    )
}

/// The kubelet always tells of the API server's own Service; `enableServiceLinks: false` keeps it
/// from telling of all others.
fn services(names: &[String]) -> Check {
    let others = names.iter().filter(|name| !name.starts_with("KUBERNETES_"));
    none_of("variables of other Services", &others.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests;
