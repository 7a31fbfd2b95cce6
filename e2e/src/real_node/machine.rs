//! The node as a machine: mounts and process ids of its own, so that whatever runs on it, pods too, ends
//! with its first process, and whatever is mounted on it goes with the last. Does I/O.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use super::cgroups::{self, Group};
use super::namespaces;
use super::tools::{self, ToolError};
use crate::folders::{self, FolderError};
use crate::process::{self, Process, ProcessError, Program};
use crate::room::Room;

/// Folders in which the processes of a node keep things under fixed names. Each machine has its own.
const OWN: [&str; 3] = ["/run", "/var/lib", "/var/log"];

/// What is too large for memory, and what tests read: folders of the run, shown where it is looked for.
const KEPT: [(&str, &str); 3] = [
    ("containerd", "/var/lib/containerd"),
    ("kubelet", "/var/lib/kubelet"),
    ("pods", "/var/log/pods"),
];

/// What the kubelet sets for the whole kernel. It finds these set already, and the kernel is left alone.
const KERNEL: [(&str, &str); 6] = [
    ("vm/overcommit_memory", "1"),
    ("vm/panic_on_oom", "0"),
    ("kernel/panic", "10"),
    ("kernel/panic_on_oops", "1"),
    ("kernel/keys/root_maxkeys", "1000000"),
    ("kernel/keys/root_maxbytes", "25000000"),
];

/// Where these are kept.
const SETTINGS: &str = "kernel";

/// Why the machine is not there.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// A namespace or mount was refused.
    #[error("failed to make the machine of the node")]
    Make(#[source] io::Error),
    /// Nobody waits any more for a process to end.
    #[error("failed to wait until a part of the node has ended")]
    Stop(#[source] tokio::task::JoinError),
    /// Nothing of it runs.
    #[error("nothing runs in the container {0}")]
    NoContainer(String),
    /// The kernel did not say what runs in a container, or did not end it.
    #[error("failed to kill a container")]
    Kill(#[source] io::Error),
    /// A folder or file could not be made.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A mount was refused.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A process did not start, or ended.
    #[error(transparent)]
    Process(#[from] ProcessError),
}

/// A running machine. Dropped, nothing that ran on it is left.
///
/// Fields are dropped in order. Our own children on it go before its first process, which the kernel
/// lets end only when we have taken note of theirs.
#[derive(Debug)]
pub(super) struct Machine {
    running: BTreeMap<&'static str, Process>,
    first: Process,
    room: Room,
    group: Group,
    folder: PathBuf,
}

impl Machine {
    /// Starts one on `network`, whose disk is the folder of a run. Its first process is `first`, which
    /// must reap.
    pub(super) fn boot(
        network: &Room,
        folder: &Path,
        first: &Program,
    ) -> Result<Self, MachineError> {
        for (name, _) in KEPT {
            folders::make(&folder.join(name))?;
        }
        for (name, value) in KERNEL {
            let file = folder.join(SETTINGS).join(name);
            folders::make(file.parent().unwrap_or(folder))?;
            fs::write(&file, value).map_err(|source| FolderError::at(&file, source))?;
        }
        // Until it is known to be in use, another run would take it for one that was left.
        let _gate = cgroups::lock().map_err(MachineError::Make)?;
        let run = folder.file_name().unwrap_or_default().to_string_lossy();
        let group = Group::make(&run).map_err(MachineError::Make)?;
        let (room, first) = power_on(network, folder, first, &group)?;
        Ok(Self {
            running: BTreeMap::new(),
            first,
            room,
            group,
            folder: folder.to_owned(),
        })
    }

    /// Cuts the power and starts it again, with nothing running but its first process.
    pub(super) fn reboot(&mut self, network: &Room, first: &Program) -> Result<(), MachineError> {
        self.running.clear();
        self.first.kill();
        self.group.empty().map_err(MachineError::Make)?;
        (self.room, self.first) = power_on(network, &self.folder, first, &self.group)?;
        Ok(())
    }

    /// The name of its control group, seen from the root of each hierarchy.
    pub(super) fn group(&self) -> &str {
        self.group.name()
    }

    /// Starts `program` on it as `part`.
    pub(super) fn start(
        &mut self,
        part: &'static str,
        program: &Program,
    ) -> Result<(), MachineError> {
        let log = self.folder.join(format!("{part}.log"));
        let program = program.clone().searching(tools::search());
        let process = Process::start_in(&self.room, part, &program, &log)?;
        self.running.insert(part, process);
        Ok(())
    }

    /// Asks `part` to end and waits until it has, while everything else goes on.
    pub(super) async fn stop(&mut self, part: &str) -> Result<(), MachineError> {
        if let Some(mut process) = self.running.remove(part) {
            let stopped = tokio::task::spawn_blocking(move || process.stop().map(|_| ()));
            stopped.await.map_err(MachineError::Stop)??;
        }
        Ok(())
    }

    /// Kills every process of a container as a power cut would. The container runtime calls it `id`.
    pub(super) fn kill_container(&self, id: &str) -> Result<(), MachineError> {
        let processes = self.group.of_container(id).map_err(MachineError::Kill)?;
        if processes.is_empty() {
            return Err(MachineError::NoContainer(id.to_owned()));
        }
        for process in processes {
            process::signal("KILL", process).map_err(MachineError::Kill)?;
        }
        Ok(())
    }

    /// Where its mounts are and its processes are born.
    pub(super) fn room(&self) -> &Room {
        &self.room
    }

    /// The end of the log of `part`.
    pub(super) fn tail(&self, part: &str) -> String {
        process::tail(&self.folder.join(format!("{part}.log")), 15)
    }

    /// An error if a part of it has ended.
    pub(super) fn check(&mut self) -> Result<(), ProcessError> {
        self.first.check()?;
        self.running.values_mut().try_for_each(Process::check)
    }
}

/// Starts the first process in namespaces of its own.
fn power_on(
    network: &Room,
    folder: &Path,
    first: &Program,
    group: &Group,
) -> Result<(Room, Process), MachineError> {
    let disk = folder.to_owned();
    // A thread starts where the thread is that starts it: on the node's network.
    let room = network
        .run(move || Room::open(move || enter(&disk)))
        .and_then(|room| room)
        .map_err(MachineError::Make)?;
    let log = folder.join("machine.log");
    let first = Process::start_in(&room, "the node's first process", first, &log)?;
    group.keep(first.id()).map_err(MachineError::Make)?;
    // Shows the processes in here. Only one of them can: the thread itself still counts outside.
    tools::run(&room, "mount", &["-t", "proc", "proc", "/proc"], "")?;
    let settings = folder.join(SETTINGS);
    room.run(move || set(&settings))
        .and_then(|outcome| outcome)
        .map_err(MachineError::Make)?;
    Ok((room, first))
}

/// Shows the kernel's settings as the kubelet wants them.
fn set(settings: &Path) -> io::Result<()> {
    for (name, value) in KERNEL {
        let setting = Path::new("/proc/sys").join(name);
        if fs::read_to_string(&setting)?.trim() != value {
            namespaces::bind(&settings.join(name), &setting)?;
        }
    }
    Ok(())
}

/// Makes the mounts; `disk` must stay visible.
fn enter(disk: &Path) -> io::Result<()> {
    // Everything of ours, the binaries too, is in the cache; the folder of the run is in there.
    let cache = folders::cache().map_err(io::Error::other)?;
    let cache_itself = File::open(&cache)?;
    namespaces::own_processes()?;
    namespaces::own_mounts()?;
    for own in OWN.map(Path::new) {
        namespaces::memory(own)?;
        if cache.starts_with(own) {
            fs::create_dir_all(&cache)?;
            let there = format!("/proc/thread-self/fd/{}", cache_itself.as_raw_fd());
            namespaces::bind(Path::new(&there), &cache)?;
        }
    }
    for (name, at) in KEPT {
        fs::create_dir_all(at)?;
        namespaces::bind(&disk.join(name), Path::new(at))?;
    }
    Ok(())
}
