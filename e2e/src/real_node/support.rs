//! Whether this machine can run a real node, tried and not guessed. Does I/O: makes namespaces and
//! mounts that are gone afterwards.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use super::cgroups;
use super::images::BUSYBOX;
use super::namespaces;
use super::network::QUEUE;
use super::tools;
use crate::folders;
use crate::room::Room;

/// Network plugins that pods are connected with.
pub(super) const PLUGINS: [&str; 3] = ["ptp", "host-local", "loopback"];

/// Programs that come with the machine, and the Debian packages they come in.
const PROGRAMS: [(&str, &str); 7] = [
    ("runc", "runc"),
    ("iptables-restore", "iptables"),
    ("nft", "nftables"),
    ("ip", "iproute2"),
    ("mount", "mount"),
    ("setpriv", "util-linux"),
    // The other package of this name brings one that needs libraries.
    (BUSYBOX, "busybox-static"),
];

/// Controllers the kubelet limits pods with.
const CONTROLLERS: [&str; 4] = ["cpu", "cpuset", "memory", "pids"];

/// Why there cannot be a real node here, and the way out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unsupported(String);

impl Unsupported {
    fn because(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

/// An error that says what is missing. Takes some 50 ms.
pub fn supported() -> Result<(), Unsupported> {
    if !cfg!(target_os = "linux") {
        return Err(Unsupported::because("a real node needs Linux"));
    }
    let owner = fs::metadata("/proc/self").map(|it| it.uid());
    if owner.ok() != Some(0) {
        return Err(Unsupported::because(
            "a real node makes namespaces and mounts: run this as root",
        ));
    }
    packages()?;
    control_groups()?;
    kernel()
}

fn packages() -> Result<(), Unsupported> {
    let is_there = |program: &str| tools::find(program).is_some();
    let missing = missing_packages(is_there, tools::plugins(&PLUGINS).is_some());
    if missing.is_empty() {
        return Ok(());
    }
    Err(Unsupported::because(format!(
        "a real node needs programs that are not installed: apt-get install {}",
        missing.join(" ")
    )))
}

fn missing_packages(is_there: impl Fn(&str) -> bool, has_plugins: bool) -> Vec<&'static str> {
    let programs = PROGRAMS.iter().filter(|(program, _)| !is_there(program));
    let plugins = (!has_plugins).then_some("containernetworking-plugins");
    programs
        .map(|(_, package)| *package)
        .chain(plugins)
        .collect()
}

fn control_groups() -> Result<(), Unsupported> {
    let mut offered = Vec::new();
    for root in cgroups::hierarchies().unwrap_or_default() {
        let controllers = cgroups::controllers(&root).map_err(|error| {
            Unsupported::because(format!(
                "a real node limits pods, and no control group can be made in {}: {error}",
                root.display()
            ))
        })?;
        offered.extend(controllers);
    }
    let missing = CONTROLLERS
        .iter()
        .find(|it| !offered.iter().any(|offered| offered == *it));
    missing.map_or(Ok(()), |missing| {
        Err(Unsupported::because(format!(
            "a real node limits pods, and no control group `{missing}` can be had here"
        )))
    })
}

fn kernel() -> Result<(), Unsupported> {
    let enter = || namespaces::own_network().and_then(|()| namespaces::own_mounts());
    let alone = |error: io::Error| {
        Unsupported::because(format!(
            "a real node lives in namespaces of its own, and this machine makes none: {error}"
        ))
    };
    let room = Room::open(enter).map_err(alone)?;
    overlay(&room).map_err(|error| {
        Unsupported::because(format!(
            "a real node unpacks images with overlayfs, which cannot be mounted in the cache folder: {error}"
        ))
    })?;
    let judging = format!(
        "*mangle\n\
         -A OUTPUT -m conntrack --ctstate ESTABLISHED -j RETURN\n\
         -A OUTPUT -m owner --uid-owner 0 -j RETURN\n\
         -A OUTPUT -j NFQUEUE --queue-num {QUEUE}\n\
         COMMIT\n"
    );
    let (cable, table) = (
        "link add try0 type veth peer name try1\n",
        "add table ip sandgate-try\n",
    );
    for (what, program, arguments, input) in [
        (
            "cables between networks (veth)",
            "ip",
            &["-batch", "-"][..],
            cable,
        ),
        (
            "Services of kube-proxy (nftables)",
            "nft",
            &["-f", "-"],
            table,
        ),
        (
            "judging packets (iptables with conntrack, owner and NFQUEUE)",
            "iptables-restore",
            &[],
            &judging,
        ),
    ] {
        tools::run(&room, program, arguments, input).map_err(|error| {
            let error = error.to_string();
            let said = error.lines().next().unwrap_or_default();
            Unsupported::because(format!("a real node needs a kernel with {what}: {said}"))
        })?;
    }
    room.run(namespaces::own_processes)
        .and_then(|outcome| outcome)
        .map_err(alone)
}

/// Mounts an overlay in the cache, where images will be unpacked. It goes with the room.
fn overlay(room: &Room) -> io::Result<()> {
    let cache = folders::cache().map_err(io::Error::other)?;
    fs::create_dir_all(&cache)?;
    let folder = tempfile::tempdir_in(cache)?;
    let [lower, upper, work, at] =
        ["lower", "upper", "work", "at"].map(|name| folder.path().join(name));
    for path in [&lower, &upper, &work, &at] {
        fs::create_dir(path)?;
    }
    room.run(move || namespaces::overlay(&lower, &upper, &work, &at))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_installed_is_named_as_the_package_manager_knows_it() {
        assert_eq!(missing_packages(|_| true, true), [""; 0]);
        let all_but_one = |program: &str| program != "iptables-restore";
        assert_eq!(missing_packages(all_but_one, true), ["iptables"]);
        let none_of_ours = |program: &str| program == "mount" || program == "setpriv";
        assert_eq!(
            missing_packages(none_of_ours, false),
            [
                "runc",
                "iptables",
                "nftables",
                "iproute2",
                "busybox-static",
                "containernetworking-plugins"
            ]
        );
    }
}
