//! Somebody swaps a component for a symbolic link and back, all the time: nothing beyond the link is ever
//! taken for what is below the root, and nothing is ever made there.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failing test stops where it stands"
)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rstest::rstest;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use sandgate_paths::{Below, PathsError, Root, Seen};

type Opens = fn(&Path) -> Result<Root, PathsError>;

/// How often is looked at least while somebody swaps.
const LOOKS: usize = 20_000;
/// How often a test has to have seen each state before it says anything; a busy machine may show one for long.
const ENOUGH: usize = 20;
/// How long it may take to see both.
const PATIENCE: Duration = Duration::from_mins(1);

/// `root/above/name` is a directory, and `root/above/link` a link to `outside`, in which there is a
/// directory that is missing below the root.
fn folder(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("root/above").join(name)).unwrap();
    fs::create_dir_all(folder.path().join("outside/secret")).unwrap();
    symlink(
        folder.path().join("outside"),
        folder.path().join("root/above/link"),
    )
    .unwrap();
    folder
}

/// Swaps the two, each time at one moment, until told to stop.
fn swap(above: &Path, name: &str, stop: &AtomicBool) {
    let (name, link): (PathBuf, PathBuf) = (above.join(name), above.join("link"));
    while !stop.load(Ordering::Relaxed) {
        renameat_with(CWD, &name, CWD, &link, RenameFlags::EXCHANGE).unwrap();
    }
}

/// What was found where something is swapped.
enum Found {
    Directory,
    Link,
}

/// Runs `look` while another thread swaps `name` for a link, until it has found both often enough.
fn while_swapped(folder: &Path, name: &str, mut look: impl FnMut() -> Found) {
    let stop = AtomicBool::new(false);
    let deadline = Instant::now() + PATIENCE;
    let (mut directory, mut link) = (0, 0);
    std::thread::scope(|threads| {
        threads.spawn(|| swap(&folder.join("root/above"), name, &stop));
        while directory + link < LOOKS
            || (directory.min(link) < ENOUGH && Instant::now() < deadline)
        {
            match look() {
                Found::Directory => directory += 1,
                Found::Link => link += 1,
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(
        directory.min(link) >= ENOUGH,
        "the directory was found {directory} times, the link {link} times"
    );
}

#[rstest]
fn what_is_beyond_a_link_is_never_found(#[values(Root::open, Root::stepwise)] opens: Opens) {
    let folder = folder("within");
    let root = opens(&folder.path().join("root")).unwrap();
    let secret: Below = "above/within/secret".parse().unwrap();
    while_swapped(folder.path(), "within", || {
        match root.look(&secret).unwrap() {
            Seen::Missing { at } => {
                assert_eq!(at, "above/within/secret");
                Found::Directory
            }
            Seen::Symlink { at } => {
                assert_eq!(at, "above/within");
                Found::Link
            }
            other => unreachable!("what is outside was taken for {other:?}"),
        }
    });
}

#[rstest]
fn the_last_component_is_a_directory_or_a_link_and_never_both(
    #[values(Root::open, Root::stepwise)] opens: Opens,
) {
    let folder = folder("last");
    let root = opens(&folder.path().join("root")).unwrap();
    let last: Below = "above/last".parse().unwrap();
    while_swapped(folder.path(), "last", || match root.look(&last).unwrap() {
        Seen::Directory => Found::Directory,
        Seen::Symlink { at } => {
            assert_eq!(at, "above/last");
            Found::Link
        }
        other => unreachable!("{other:?}"),
    });
}

#[rstest]
fn nothing_is_ever_made_beyond_a_link(#[values(Root::open, Root::stepwise)] opens: Opens) {
    let folder = folder("within");
    let root = opens(&folder.path().join("root")).unwrap();
    let path: Below = "above/within/made/deep".parse().unwrap();
    let inside = |name: &str| folder.path().join("root/above").join(name).join("made");
    let outside = folder.path().join("outside");
    while_swapped(folder.path(), "within", || {
        let found = match root.make(&path, 0o2770).unwrap() {
            Seen::Directory => Found::Directory,
            Seen::Symlink { at } => {
                assert_eq!(at, "above/within");
                Found::Link
            }
            other => unreachable!("{other:?}"),
        };
        assert!(!outside.join("made").exists(), "made beyond the link");
        // Whichever of the two names the directory bears now; a link leads outside, where nothing is.
        for name in ["within", "link"] {
            let _ = fs::remove_dir_all(inside(name));
        }
        found
    });
    let left: Vec<_> = fs::read_dir(&outside).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}
