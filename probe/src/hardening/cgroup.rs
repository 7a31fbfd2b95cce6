//! The limits of a container's own cgroup, of either version. Pure: files are read by who asks.

use serde::{Deserialize, Serialize};

use super::mounts::{Entry, entries};

/// A v1 limit of memory that is as good as none: the most pages there can be.
const NO_MEMORY_LIMIT: u64 = 1 << 60;

/// The limits; null where there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of memory.
    pub memory_max_bytes: Option<u64>,
    /// Microseconds of processor time in each period.
    pub cpu_quota_us: Option<u64>,
    /// Microseconds of a period.
    pub cpu_period_us: Option<u64>,
    /// Processes and threads.
    pub pids_max: Option<u64>,
}

/// The files that hold the limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    memory: Option<String>,
    cpu: Option<Cpu>,
    pids: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Cpu {
    /// Quota and period in one file.
    Two(String),
    /// The quota's file and the period's.
    One(String, String),
}

impl Files {
    /// Finds them by what is mounted and by `/proc/self/cgroup`.
    pub fn find(mountinfo: &str, own: &str) -> Self {
        let folder = |controller: &str| {
            let v1 = entries(mountinfo)
                .filter(|entry| entry.fstype == "cgroup" && entry.of_all.contains(&controller))
                .last();
            match v1 {
                Some(entry) => Some((Version::One, folder_in(&entry, own, controller))),
                None => entries(mountinfo)
                    .filter(|entry| entry.fstype == "cgroup2")
                    .last()
                    .map(|entry| (Version::Two, folder_in(&entry, own, ""))),
            }
        };
        let file = |controller: &str, one: &str, two: &str| {
            folder(controller).map(|(version, folder)| match version {
                Version::One => format!("{folder}/{one}"),
                Version::Two => format!("{folder}/{two}"),
            })
        };
        Self {
            memory: file("memory", "memory.limit_in_bytes", "memory.max"),
            cpu: folder("cpu").map(|(version, folder)| match version {
                Version::One => Cpu::One(
                    format!("{folder}/cpu.cfs_quota_us"),
                    format!("{folder}/cpu.cfs_period_us"),
                ),
                Version::Two => Cpu::Two(format!("{folder}/cpu.max")),
            }),
            pids: file("pids", "pids.max", "pids.max"),
        }
    }
}

#[derive(Clone, Copy)]
enum Version {
    One,
    Two,
}

impl Limits {
    /// Reads them; a file that is not there sets no limit.
    pub fn read(files: &Files, read: impl Fn(&str) -> Option<String>) -> Self {
        let number = |path: &Option<String>| number(&read(path.as_deref()?)?);
        let (quota, period) = match &files.cpu {
            None => (None, None),
            Some(Cpu::Two(path)) => {
                let text = read(path).unwrap_or_default();
                let mut words = text.split_whitespace().map(str::to_owned);
                (words.next(), words.next())
            }
            Some(Cpu::One(quota, period)) => (read(quota), read(period)),
        };
        let as_number = |text: Option<String>| text.as_deref().and_then(self::number);
        Self {
            memory_max_bytes: number(&files.memory).filter(|bytes| *bytes < NO_MEMORY_LIMIT),
            cpu_quota_us: as_number(quota),
            cpu_period_us: as_number(period),
            pids_max: number(&files.pids),
        }
    }
}

/// `max` and `-1` are no number, and so no limit.
fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// Where our own cgroup lies under a mount, which may show only a part of the tree.
fn folder_in(entry: &Entry<'_>, own: &str, controller: &str) -> String {
    let path = own_path(own, controller).unwrap_or_default();
    let shown = path.strip_prefix(entry.root.trim_end_matches('/'));
    let inside = shown
        .filter(|rest| rest.starts_with('/'))
        .unwrap_or_default();
    format!("{}{}", entry.path, inside.trim_end_matches('/'))
}

/// The path of our cgroup: `5:cpu,cpuacct:/path`, or `0::/path` for version 2.
fn own_path<'a>(own: &'a str, controller: &str) -> Option<&'a str> {
    own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let ours = controllers.split(',').any(|one| one == controller);
        ours.then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use proptest::prelude::*;

    const V2: &str = "30 20 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n";
    /// As containerd shows a container its own part, whose paths are those of the machine.
    const V1: &str = "\
        40 30 0:31 /pods/one /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n\
        41 30 0:32 /pods/one /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n\
        42 30 0:33 /pods/one /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n\
        43 30 0:34 / /sys/fs/cgroup/unified ro - cgroup2 cgroup rw\n";
    const V1_OWN: &str = "9:memory:/pods/one\n8:cpu,cpuacct:/pods/one\n7:pids:/pods/one\n0::/x\n";

    fn read(mountinfo: &str, own: &str, files: &[(&str, &str)]) -> Limits {
        let files: BTreeMap<&str, &str> = files.iter().copied().collect();
        let found = Files::find(mountinfo, own);
        Limits::read(&found, |path| files.get(path).map(|&text| text.to_owned()))
    }

    fn all(memory: u64, quota: u64, period: u64, pids: u64) -> Limits {
        Limits {
            memory_max_bytes: Some(memory),
            cpu_quota_us: Some(quota),
            cpu_period_us: Some(period),
            pids_max: Some(pids),
        }
    }

    #[test]
    fn version_2_is_read() {
        let files = [
            ("/sys/fs/cgroup/memory.max", "268435456\n"),
            ("/sys/fs/cgroup/cpu.max", "50000 100000\n"),
            ("/sys/fs/cgroup/pids.max", "128\n"),
        ];
        assert_eq!(
            read(V2, "0::/\n", &files),
            all(268_435_456, 50_000, 100_000, 128)
        );
    }

    #[test]
    fn a_path_below_the_mount_is_followed() {
        let files = [("/sys/fs/cgroup/pods/one/memory.max", "5\n")];
        assert_eq!(read(V2, "0::/pods/one\n", &files).memory_max_bytes, Some(5));
    }

    #[test]
    fn version_1_is_read_beside_an_empty_version_2() {
        let files = [
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ("/sys/fs/cgroup/pids/pids.max", "128\n"),
        ];
        assert_eq!(
            read(V1, V1_OWN, &files),
            all(268_435_456, 50_000, 100_000, 128)
        );
    }

    #[rstest::rstest]
    #[case(V2, "0::/\n", &[
        ("/sys/fs/cgroup/memory.max", "max\n"),
        ("/sys/fs/cgroup/cpu.max", "max 100000\n"),
        ("/sys/fs/cgroup/pids.max", "max\n"),
    ])]
    #[case(V1, V1_OWN, &[
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
        ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
        ("/sys/fs/cgroup/pids/pids.max", "max\n"),
    ])]
    fn no_limit_is_null(
        #[case] mountinfo: &str,
        #[case] own: &str,
        #[case] files: &[(&str, &str)],
    ) {
        let none = Limits {
            cpu_period_us: Some(100_000),
            ..Limits::default()
        };
        assert_eq!(read(mountinfo, own, files), none);
    }

    #[rstest::rstest]
    #[case("", "")]
    #[case(V2, "")]
    #[case(V1, "garbage\n:::\n9:memory\n")]
    fn what_is_not_there_or_makes_no_sense_sets_no_limit(
        #[case] mountinfo: &str,
        #[case] own: &str,
    ) {
        assert_eq!(read(mountinfo, own, &[]), Limits::default());
    }

    proptest! {
        #[test]
        fn any_text_is_read(own in "([0-9:,/a-z]{0,20}\n){0,5}", text in "\\PC{0,20}") {
            for mountinfo in [V1, V2] {
                let files = Files::find(mountinfo, &own);
                Limits::read(&files, |_| Some(text.clone()));
            }
        }
    }
}
