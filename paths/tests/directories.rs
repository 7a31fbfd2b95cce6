//! What is found and made below a root that nobody else writes to.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failing test stops where it stands"
)]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use rstest::rstest;
use sandgate_paths::{Below, PathsError, Root, Seen};

type Opens = fn(&Path) -> Result<Root, PathsError>;

/// A folder with a root in it, and beside the root what must not be reached.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("root/real/inner")).unwrap();
    fs::create_dir_all(folder.path().join("outside/inner")).unwrap();
    fs::write(folder.path().join("root/file"), "text").unwrap();
    let root = folder.path().join("root");
    symlink(folder.path().join("outside"), root.join("absolute")).unwrap();
    symlink("../outside", root.join("up")).unwrap();
    symlink("real", root.join("beside")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    symlink("/proc/self/root", root.join("magic")).unwrap();
    folder
}

fn below(text: &str) -> Below {
    text.parse().unwrap()
}

fn symlink_at(at: &str) -> Seen {
    Seen::Symlink { at: at.to_owned() }
}

#[rstest]
#[case::nothing("")]
#[case::absolute("/etc")]
#[case::up("..")]
#[case::up_within("a/../b")]
#[case::staying("./a")]
#[case::an_empty_component("a//b")]
#[case::a_slash_last("a/")]
#[case::a_null("a\0b")]
fn what_could_lead_out_by_its_text_is_no_path(#[case] text: &str) {
    let told = text.parse::<Below>().unwrap_err().to_string();
    assert!(told.contains("it must be relative"), "{told}");
}

#[rstest]
#[case::a_directory("real", Seen::Directory)]
#[case::a_directory_within("real/inner", Seen::Directory)]
#[case::nothing("real/other", Seen::Missing { at: "real/other".to_owned() })]
#[case::nothing_above("other/real/inner", Seen::Missing { at: "other".to_owned() })]
#[case::a_file("file", Seen::NotDirectory { at: "file".to_owned() })]
#[case::below_a_file("file/inner", Seen::NotDirectory { at: "file".to_owned() })]
#[case::a_link_out("absolute", symlink_at("absolute"))]
#[case::through_a_link_out("absolute/inner", symlink_at("absolute"))]
#[case::through_a_link_up("up/inner", symlink_at("up"))]
#[case::through_a_link_that_stays_inside("beside/inner", symlink_at("beside"))]
#[case::a_link_that_stays_inside("beside", symlink_at("beside"))]
#[case::a_link_to_nothing("dangling", symlink_at("dangling"))]
#[case::below_a_link_to_nothing("dangling/inner", symlink_at("dangling"))]
#[case::a_link_to_itself("loop/inner", symlink_at("loop"))]
#[case::a_link_of_the_kernels("magic/etc", symlink_at("magic"))]
fn only_a_directory_that_no_link_leads_to_is_one(
    #[values(Root::open, Root::stepwise)] opens: Opens,
    #[case] path: &str,
    #[case] seen: Seen,
) {
    let folder = folder();
    let root = opens(&folder.path().join("root")).unwrap();
    assert_eq!(root.look(&below(path)).unwrap(), seen);
}

#[rstest]
fn missing_directories_are_made_with_their_permissions(
    #[values(Root::open, Root::stepwise)] opens: Opens,
) {
    let folder = folder();
    let root = opens(&folder.path().join("root")).unwrap();
    let mode = |path: &str| {
        let found = fs::metadata(folder.path().join("root").join(path)).unwrap();
        found.permissions().mode() & 0o7777
    };
    let before = mode("real");
    let path = below("real/new/deep");
    assert_eq!(root.make(&path, 0o2770).unwrap(), Seen::Directory);
    assert_eq!(root.look(&path).unwrap(), Seen::Directory);
    assert_eq!([mode("real/new"), mode("real/new/deep")], [0o2770; 2]);
    assert_eq!(mode("real"), before, "what was there is left as it is");
    // What is in it stays.
    fs::write(folder.path().join("root/real/new/deep/file"), "kept").unwrap();
    assert_eq!(root.make(&path, 0o2770).unwrap(), Seen::Directory);
    let kept = fs::read_to_string(folder.path().join("root/real/new/deep/file")).unwrap();
    assert_eq!(kept, "kept");
}

#[rstest]
#[case::through_a_link_out("absolute/made", symlink_at("absolute"))]
#[case::through_a_link_up("up/made", symlink_at("up"))]
#[case::through_a_link_that_stays_inside("beside/made", symlink_at("beside"))]
#[case::at_a_link_to_nothing("dangling", symlink_at("dangling"))]
#[case::below_a_file("file/made", Seen::NotDirectory { at: "file".to_owned() })]
fn nothing_is_made_through_a_link_or_below_a_file(
    #[values(Root::open, Root::stepwise)] opens: Opens,
    #[case] path: &str,
    #[case] seen: Seen,
) {
    let folder = folder();
    let root = opens(&folder.path().join("root")).unwrap();
    assert_eq!(root.make(&below(path), 0o2770).unwrap(), seen);
    for place in ["outside/made", "root/real/made", "root/nowhere"] {
        assert!(!folder.path().join(place).exists(), "{place} was made");
    }
}

#[test]
fn a_root_may_be_reached_through_a_link_and_has_to_be_there() {
    let folder = folder();
    let root = Root::open(&folder.path().join("root/up")).unwrap();
    assert_eq!(root.look(&below("inner")).unwrap(), Seen::Directory);
    let missing = folder.path().join("none");
    let told = Root::open(&missing).unwrap_err().to_string();
    assert_eq!(
        told,
        format!("failed to open the directory {}", missing.display())
    );
    assert!(Root::open(&folder.path().join("root/file")).is_err());
}

#[test]
fn a_root_that_is_moved_stays_the_same_root() {
    let folder = folder();
    let root = Root::open(&folder.path().join("root")).unwrap();
    fs::rename(folder.path().join("root"), folder.path().join("moved")).unwrap();
    fs::create_dir(folder.path().join("root")).unwrap();
    assert_eq!(
        root.make(&below("real/made"), 0o700).unwrap(),
        Seen::Directory
    );
    assert!(folder.path().join("moved/real/made").is_dir());
}
