//! The control group everything of one machine is accounted in: made with it, gone with it. Does I/O.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

const ROOT: &str = "/sys/fs/cgroup";

/// In v2 every group has this file, which names what may be limited in it.
const CONTROLLERS: &str = "cgroup.controllers";

/// What every group of ours begins with.
const PREFIX: &str = "sandgate-";

/// The child that holds the machine's first process: while it is in there, the group is in use.
const KEEPER: &str = "keeper";

/// A group in each hierarchy the kernel has. Dropped, it is gone, if nothing runs in it any more.
#[derive(Debug)]
pub(super) struct Group {
    name: String,
}

impl Group {
    /// Makes the group of the run called `run`, after removing those whose machine is gone.
    pub(super) fn make(run: &str) -> io::Result<Self> {
        let roots = hierarchies()?;
        sweep(&roots)?;
        let group = Self {
            name: format!("{PREFIX}{run}"),
        };
        for root in &roots {
            hand_down(root);
        }
        group.fill()?;
        Ok(group)
    }

    /// Removes what is accounted in it, all of which must have ended.
    pub(super) fn empty(&self) -> io::Result<()> {
        for root in hierarchies()? {
            remove(&root.join(&self.name))?;
        }
        self.fill()
    }

    fn fill(&self) -> io::Result<()> {
        for root in hierarchies()? {
            fs::create_dir_all(root.join(&self.name).join(KEEPER))?;
        }
        Ok(())
    }

    /// Says that the group is in use while `process` lives.
    pub(super) fn keep(&self, process: u32) -> io::Result<()> {
        let mut last = io::Error::other("the kernel has no control groups");
        let mut kept = false;
        for root in hierarchies()? {
            let file = root.join(&self.name).join(KEEPER).join("cgroup.procs");
            // A hierarchy may want more settings before it takes a process; one that takes it is enough.
            match fs::write(&file, process.to_string()) {
                Ok(()) => kept = true,
                Err(error) => last = error,
            }
        }
        if kept { Ok(()) } else { Err(last) }
    }

    /// The processes of the container with this id.
    pub(super) fn of_container(&self, id: &str) -> io::Result<BTreeSet<u32>> {
        let mut processes = BTreeSet::new();
        for root in hierarchies()? {
            let found = called(&root.join(&self.name), id)?;
            for group in found {
                let text = fs::read_to_string(group.join("cgroup.procs"))?;
                processes.extend(text.lines().filter_map(|line| line.parse::<u32>().ok()));
            }
        }
        Ok(processes)
    }

    /// Its name, under the root of each hierarchy.
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for root in hierarchies().unwrap_or_default() {
            // What cannot be removed now, the next run removes.
            drop(remove(&root.join(&self.name)));
        }
    }
}

/// Keeps every other run on this machine, whoever's it is, from making and sweeping groups as long as the
/// file is held.
pub(super) fn lock() -> io::Result<File> {
    let root = File::open(ROOT)?;
    root.lock()?;
    Ok(root)
}

/// The one hierarchy of cgroup v2, or each of v1's.
pub(super) fn hierarchies() -> io::Result<Vec<PathBuf>> {
    let root = Path::new(ROOT);
    if root.join(CONTROLLERS).is_file() {
        return Ok(vec![root.to_owned()]);
    }
    // Some are known by a second name, which is a link.
    Ok(fs::read_dir(root)?
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|it| it.is_dir()))
        .map(|entry| entry.path())
        .filter(|path| path.join("cgroup.procs").is_file())
        .collect())
}

/// In v2 a group has the controllers that its parent hands down; where v1 is in use, nothing depends on
/// that.
fn hand_down(root: &Path) {
    if root != Path::new(ROOT) {
        return;
    }
    let all = fs::read_to_string(root.join(CONTROLLERS)).unwrap_or_default();
    for controller in all.split_whitespace() {
        // One that is not handed down is missed where it is needed, by its name.
        let wanted = format!("+{controller}");
        drop(fs::write(root.join("cgroup.subtree_control"), wanted));
    }
}

/// The controllers that a group under `root` would have, found by making one.
pub(super) fn controllers(root: &Path) -> io::Result<Vec<String>> {
    hand_down(root);
    // Two may try at once. A group is not removed as a folder is: the kernel's files in it stay.
    let group = tempfile::Builder::new()
        .prefix("try-sandgate-")
        .tempdir_in(root)?
        .keep();
    // In v1 the hierarchy is called after them.
    let called = root.file_name().unwrap_or_default().to_string_lossy();
    let all = fs::read_to_string(group.join(CONTROLLERS)).unwrap_or_else(|_| called.into_owned());
    fs::remove_dir(&group)?;
    let each = all.split([' ', ',', '\n']).filter(|it| !it.is_empty());
    Ok(each.map(str::to_owned).collect())
}

/// Removes the groups of machines that are gone: those called like ours that have, or had, a keeper. What
/// cannot be removed now stays for the next run, and is nothing to this one.
fn sweep(roots: &[PathBuf]) -> io::Result<()> {
    let mut names = BTreeSet::new();
    for root in roots {
        let entries = fs::read_dir(root)?.filter_map(Result::ok);
        names.extend(entries.map(|entry| entry.file_name()));
    }
    for name in names {
        let groups = || roots.iter().map(|root| root.join(&name));
        let ours = |group: PathBuf| group.join(KEEPER).is_dir();
        let in_use = |group: PathBuf| {
            fs::read_to_string(group.join(KEEPER).join("cgroup.procs"))
                .is_ok_and(|processes| !processes.is_empty())
        };
        let called = name.to_string_lossy().starts_with(PREFIX);
        if called && groups().any(ours) && !groups().any(in_use) {
            groups().for_each(|group| drop(remove(&group)));
        }
    }
    Ok(())
}

/// The groups under `group` that have this name.
fn called(group: &Path, name: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(group)?.filter_map(Result::ok) {
        if !entry.file_type()?.is_dir() {
            continue;
        }
        if entry.file_name() == name {
            found.push(entry.path());
        } else {
            found.extend(called(&entry.path(), name)?);
        }
    }
    Ok(found)
}

/// Removes a group and those in it, the keeper last: as long as something is left, it is known to be ours.
fn remove(group: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(group) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut keeper = None;
    for entry in entries.filter_map(Result::ok) {
        if !entry.file_type()?.is_dir() {
            continue;
        }
        if entry.file_name() == KEEPER {
            keeper = Some(entry.path());
        } else {
            remove(&entry.path())?;
        }
    }
    keeper.map_or(Ok(()), fs::remove_dir)?;
    fs::remove_dir(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_found_by_its_name_however_deep_it_is() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        for group in ["pods/pod1/first", "pods/pod1/second", "pods/pod2/third"] {
            fs::create_dir_all(at(group)).unwrap();
        }
        assert_eq!(
            called(root.path(), "second").unwrap(),
            [at("pods/pod1/second")]
        );
        assert!(called(root.path(), "fourth").unwrap().is_empty());
    }

    #[test]
    fn only_groups_of_machines_that_are_gone_are_swept_and_a_busy_one_stops_nobody() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        for group in [
            "sandgate-gone/keeper",
            "sandgate-gone/pods/one",
            "sandgate-service/app",
        ] {
            fs::create_dir_all(at(group)).unwrap();
        }
        // A group in which something runs cannot be removed; a folder with a file in it neither.
        for group in ["sandgate-busy", "sandgate-used"] {
            fs::create_dir_all(at(group).join(KEEPER)).unwrap();
            fs::create_dir_all(at(group).join("pods")).unwrap();
        }
        fs::write(at("sandgate-busy/pods/cgroup.procs"), "42").unwrap();
        fs::write(at("sandgate-used/keeper/cgroup.procs"), "42").unwrap();

        sweep(&[root.path().to_owned()]).unwrap();

        let mut left: Vec<_> = fs::read_dir(root.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["sandgate-busy", "sandgate-service", "sandgate-used"]);
        assert!(at("sandgate-service/app").is_dir(), "somebody else's");
        assert!(at("sandgate-used/pods").is_dir(), "a machine that runs");
        assert!(
            at("sandgate-busy/keeper").is_dir(),
            "known to be ours next time"
        );
    }
}
