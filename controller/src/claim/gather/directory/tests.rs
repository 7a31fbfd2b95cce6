use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use rstest::rstest;

use super::*;

/// The content of two workspaces.
fn volume() -> tempfile::TempDir {
    let volume = tempfile::tempdir().unwrap();
    fs::create_dir_all(volume.path().join("team/arena/shop")).unwrap();
    fs::create_dir_all(volume.path().join("other/secret")).unwrap();
    fs::write(volume.path().join("team/file"), "text").unwrap();
    symlink("../other", volume.path().join("team/link")).unwrap();
    symlink("other", volume.path().join("linked")).unwrap();
    volume
}

fn directories(volume: &tempfile::TempDir) -> Directories {
    Directories::new(ContentRoot {
        path: volume.path().to_owned(),
        layout: ContentLayout::default(),
    })
}

fn wanted(namespace: &str, path: &str) -> Wanted {
    Wanted {
        workspace: "shop".to_owned(),
        namespace: namespace.to_owned(),
        path: path.parse().unwrap(),
    }
}

// Proves: M-020
#[rstest]
#[case::there("arena/shop", Directory::Stands)]
#[case::not_there("arena/other", Directory::Missing)]
#[case::a_link("link", Directory::Symlink { at: "link".to_owned() })]
#[case::beyond_a_link("link/secret", Directory::Symlink { at: "link".to_owned() })]
#[case::a_file("file/x", Directory::NotDirectory { at: "file".to_owned() })]
#[tokio::test]
async fn what_is_at_a_directory_is_told_from_the_workspaces_content(
    #[case] path: &str,
    #[case] seen: Directory,
) {
    let volume = volume();
    assert_eq!(directories(&volume).look(wanted("team", path)).await, seen);
}

#[rstest]
#[case::nowhere("nobody")]
#[case::behind_a_link("linked")]
#[tokio::test]
async fn content_that_is_not_where_the_layout_says_is_neither_read_nor_made(
    #[case] namespace: &str,
) {
    let volume = volume();
    for made in [false, true] {
        let wanted = wanted(namespace, "secret");
        let directories = directories(&volume);
        let answer = if made {
            directories.make(wanted).await
        } else {
            directories.look(wanted).await
        };
        let Directory::Unseen(why) = answer else {
            panic!("{answer:?}");
        };
        assert!(why.contains("--workspace-content-path"), "{why}");
    }
    assert!(!volume.path().join("nobody").exists());
}

// Proves: M-017
#[tokio::test]
async fn a_directory_is_made_for_the_operators_group() {
    let volume = volume();
    let path = "sandboxes/uid";
    let made = directories(&volume).make(wanted("team", path)).await;
    assert_eq!(made, Directory::Stands);
    let found = fs::metadata(volume.path().join("team").join(path)).unwrap();
    assert_eq!(found.permissions().mode() & 0o7777, PERMISSIONS);
}

#[tokio::test]
async fn a_volume_that_is_gone_is_said_to_be() {
    let volume = volume();
    let directories = directories(&volume);
    drop(volume);
    let answer = directories.look(wanted("team", "arena/shop")).await;
    assert!(matches!(answer, Directory::Unseen(_)), "{answer:?}");
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_does_not_answer_holds_nobody_for_long() {
    let volume = volume();
    let directories = directories(&volume);
    // As if each thread waited for it.
    let threads = Arc::clone(&directories.threads);
    let _held = threads
        .acquire_many_owned(u32::try_from(THREADS).unwrap())
        .await
        .unwrap();
    let began = tokio::time::Instant::now();
    let answer = directories.look(wanted("team", "arena/shop")).await;
    let told = "the volume does not answer".to_owned();
    assert_eq!(answer, Directory::Unseen(told));
    assert_eq!(began.elapsed(), THREAD_WITHIN);
}
