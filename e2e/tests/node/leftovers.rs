//! What is there of a node on this machine, looked for where the kernel keeps it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sandgate_e2e::Outcome;
use sandgate_e2e::real_node::RealNode;
use serde::{Deserialize, Serialize};

/// By what a node is known on the machine it runs on.
#[derive(Debug, Serialize, Deserialize)]
pub struct Marks {
    folder: PathBuf,
    networks: Vec<PathBuf>,
}

/// The kernel's settings a kubelet would change for everybody.
const SETTINGS: [&str; 4] = [
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
];

pub fn marks(node: &RealNode) -> Outcome<Marks> {
    let network = || fs::read_link("/proc/thread-self/ns/net");
    Ok(Marks {
        folder: node.plane().folder().to_owned(),
        networks: vec![node.on_the_node(network)??, node.in_the_outside(network)??],
    })
}

/// Processes that belong to the node, or are in one of its networks, or see its mounts.
pub fn processes(of: &Marks) -> io::Result<Vec<String>> {
    let name = run(of);
    let mut found = Vec::new();
    for process in fs::read_dir("/proc")?.filter_map(Result::ok) {
        let number = process.file_name().to_string_lossy().into_owned();
        let path = process.path();
        if number.parse::<u32>().is_err() || number == std::process::id().to_string() {
            continue;
        }
        // One that ended in the meantime has none of these.
        let names = |file: &str| {
            let text = fs::read(path.join(file)).unwrap_or_default();
            String::from_utf8_lossy(&text).contains(&name)
        };
        let network = fs::read_link(path.join("ns/net")).unwrap_or_default();
        if names("cmdline")
            || names("cgroup")
            || names("mountinfo")
            || of.networks.contains(&network)
        {
            let what = fs::read_to_string(path.join("comm")).unwrap_or_default();
            found.push(format!("{number} {}", what.trim()));
        }
    }
    Ok(found)
}

/// Files, control groups and mounts of the node that this machine shows.
pub fn things(of: &Marks) -> io::Result<Vec<String>> {
    let name = run(of);
    let mut found = Vec::new();
    if of.folder.exists() {
        found.push(of.folder.display().to_string());
    }
    for root in fs::read_dir("/sys/fs/cgroup")?.filter_map(Result::ok) {
        let of_v2 = [root.path()].into_iter();
        let of_v1 = fs::read_dir(root.path()).into_iter().flatten();
        let groups = of_v2.chain(of_v1.filter_map(Result::ok).map(|entry| entry.path()));
        let ours = groups.filter(|group| group.to_string_lossy().contains(&name));
        found.extend(ours.map(|group| group.display().to_string()));
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let ours = mounts.lines().filter(|mount| mount.contains(&name));
    found.extend(ours.map(str::to_owned));
    Ok(found)
}

/// What every process of this machine shares, and a node must not touch.
pub fn shared_by_all() -> io::Result<Vec<String>> {
    let mut all = Vec::new();
    for setting in SETTINGS {
        let value = fs::read_to_string(Path::new("/proc/sys").join(setting))?;
        all.push(format!("{setting} = {}", value.trim()));
    }
    for folder in [
        "/run/netns",
        "/run/containerd",
        "/var/lib/kubelet",
        "/var/lib/cni",
        "/var/log/containers",
    ] {
        all.push(format!("{folder} exists: {}", Path::new(folder).exists()));
    }
    Ok(all)
}

fn run(of: &Marks) -> String {
    let name = of.folder.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
