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

use rstest::rstest;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use sandgate_paths::{Below, PathsError, Root, Seen};

type Opens = fn(&Path) -> Result<Root, PathsError>;

/// How often is looked while somebody swaps; each test is to see both states many times.
const LOOKS: usize = 20_000;
/// How often a test has to have seen each state before it says anything.
const ENOUGH: usize = 20;

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

/// Runs `look` while another thread swaps `name` for a link.
fn while_swapped(folder: &Path, name: &str, mut look: impl FnMut()) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| swap(&folder.join("root/above"), name, &stop));
        for _ in 0..LOOKS {
            look();
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[rstest]
fn what_is_beyond_a_link_is_never_found(#[values(Root::open, Root::stepwise)] opens: Opens) {
    let folder = folder("within");
    let root = opens(&folder.path().join("root")).unwrap();
    let secret: Below = "above/within/secret".parse().unwrap();
    let (mut missing, mut linked) = (0, 0);
    while_swapped(folder.path(), "within", || {
        match root.look(&secret).unwrap() {
            Seen::Missing { at } => {
                assert_eq!(at, "above/within/secret");
                missing += 1;
            }
            Seen::Symlink { at } => {
                assert_eq!(at, "above/within");
                linked += 1;
            }
            other => unreachable!("what is outside was taken for {other:?}"),
        }
    });
    assert!(missing > ENOUGH && linked > ENOUGH, "{missing} {linked}");
}

#[rstest]
fn the_last_component_is_a_directory_or_a_link_and_never_both(
    #[values(Root::open, Root::stepwise)] opens: Opens,
) {
    let folder = folder("last");
    let root = opens(&folder.path().join("root")).unwrap();
    let last: Below = "above/last".parse().unwrap();
    let (mut directory, mut linked) = (0, 0);
    while_swapped(folder.path(), "last", || match root.look(&last).unwrap() {
        Seen::Directory => directory += 1,
        Seen::Symlink { at } => {
            assert_eq!(at, "above/last");
            linked += 1;
        }
        other => unreachable!("{other:?}"),
    });
    assert!(
        directory > ENOUGH && linked > ENOUGH,
        "{directory} {linked}"
    );
}

#[rstest]
fn nothing_is_ever_made_beyond_a_link(#[values(Root::open, Root::stepwise)] opens: Opens) {
    let folder = folder("within");
    let root = opens(&folder.path().join("root")).unwrap();
    let path: Below = "above/within/made/deep".parse().unwrap();
    let inside = |name: &str| folder.path().join("root/above").join(name).join("made");
    let outside = folder.path().join("outside");
    let (mut made, mut linked) = (0, 0);
    while_swapped(folder.path(), "within", || {
        match root.make(&path, 0o2770).unwrap() {
            Seen::Directory => made += 1,
            Seen::Symlink { at } => {
                assert_eq!(at, "above/within");
                linked += 1;
            }
            other => unreachable!("{other:?}"),
        }
        assert!(!outside.join("made").exists(), "made beyond the link");
        // Whichever of the two names the directory bears now; a link leads outside, where nothing is.
        for name in ["within", "link"] {
            let _ = fs::remove_dir_all(inside(name));
        }
    });
    assert!(made > ENOUGH && linked > ENOUGH, "{made} {linked}");
    let left: Vec<_> = fs::read_dir(&outside).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}
