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
    assert_eq!(
        directories(&volume)
            .look(wanted("team", path), Haste::Needed)
            .await,
        seen
    );
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
            directories.look(wanted, Haste::Needed).await
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
    let answer = directories
        .look(wanted("team", "arena/shop"), Haste::Needed)
        .await;
    assert!(matches!(answer, Directory::Unseen(_)), "{answer:?}");
}

/// A volume whose server is gone.
fn hung(_: &ContentRoot, _: &Wanted, _: Errand) -> Directory {
    loop {
        std::thread::park();
    }
}

fn hung_directories() -> Directories {
    let root = ContentRoot {
        path: PathBuf::from("/nowhere"),
        layout: ContentLayout::default(),
    };
    Directories::doing(root, hung)
}

fn shop() -> Wanted {
    wanted("team", "arena/shop")
}

// Proves: C-023, M-021
#[tokio::test(start_paused = true)]
async fn a_volume_that_does_not_answer_holds_few_for_five_seconds_and_then_nobody() {
    let directories = hung_directories();
    let began = tokio::time::Instant::now();
    // As many as workers there are.
    let looks = (0..8).map(|_| async {
        let answer = directories.look(shop(), Haste::Needed).await;
        (answer, began.elapsed())
    });
    let mut answers = futures::future::join_all(looks).await;
    answers.sort_by_key(|(_, after)| *after);
    let waited: Vec<Duration> = answers.iter().map(|(_, after)| *after).collect();
    let expected = [[THREAD_WITHIN; THREADS], [ANSWER_WITHIN; THREADS]].concat();
    assert_eq!(waited, expected);
    let unseen = |(answer, _): &(Directory, Duration)| matches!(answer, Directory::Unseen(_));
    assert!(answers.iter().all(unseen), "{answers:?}");

    let later = tokio::time::Instant::now();
    for haste in [Haste::Needed, Haste::IfFree] {
        let answer = directories.look(shop(), haste).await;
        let told = "the volume does not answer".to_owned();
        assert_eq!(answer, Directory::Unseen(told));
    }
    assert_eq!(later.elapsed(), Duration::ZERO);
}

// Proves: M-021
#[tokio::test]
async fn a_directory_of_a_running_claim_is_not_waited_for_while_others_are_looked_at() {
    let volume = volume();
    let directories = directories(&volume);
    let all = u32::try_from(THREADS).unwrap();
    let busy = Arc::clone(&directories.threads).acquire_many_owned(all);
    let busy = busy.await.unwrap();
    let began = tokio::time::Instant::now();
    let answer = directories.look(shop(), Haste::IfFree).await;
    assert!(matches!(answer, Directory::Unseen(_)), "{answer:?}");
    assert!(began.elapsed() < THREAD_WITHIN, "{:?}", began.elapsed());
    drop(busy);
    let answer = directories.look(shop(), Haste::IfFree).await;
    assert_eq!(answer, Directory::Stands);
}

#[tokio::test]
async fn a_volume_that_answers_again_is_waited_for_again() {
    let volume = volume();
    let directories = directories(&volume);
    let all = u32::try_from(THREADS).unwrap();
    let busy = || Arc::clone(&directories.threads).acquire_many_owned(all);
    let held = busy().await.unwrap();
    directories.look(shop(), Haste::Needed).await;
    assert!(directories.silent.load(Ordering::Relaxed));
    drop(held);
    let answer = directories.look(shop(), Haste::Needed).await;
    assert_eq!(answer, Directory::Stands);
    assert!(!directories.silent.load(Ordering::Relaxed));
}

#[test]
fn a_volume_that_does_not_answer_does_not_hold_up_the_end_of_the_process() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let directories = hung_directories();
    let asks = directories.clone();
    runtime.spawn(async move { asks.look(shop(), Haste::Needed).await });
    while directories.threads.available_permits() == THREADS {
        std::thread::yield_now();
    }
    let (ended, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        drop(runtime);
        ended.send(()).unwrap();
    });
    told.recv_timeout(ANSWER_WITHIN)
        .expect("the runtime waits for the volume");
}
