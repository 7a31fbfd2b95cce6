//! Looks at claims' directories, and makes them. The only user of the content volume; does I/O on a file
//! system that others write to, and that may not answer: on threads of its own, few at a time.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sandgate_paths::{Below, PathsError, Root, Seen};
use sandgate_shared::mounts::{ContentLayout, SubPath};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::cause::Chain;
use crate::claim::observed::Directory;

/// How long an answer of the file system is waited for. A volume whose server is gone gives none.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// How long a thread is waited for. They are all taken for longer only while the volume does not answer,
/// and then nobody waits for one until one has answered.
const THREAD_WITHIN: Duration = Duration::from_millis(250);
/// How many threads wait for the file system at once. One that never answers keeps them all, and nothing
/// else of the controller.
const THREADS: usize = 4;
/// Permissions of what is made: the operator's group may write, and what is made inside is the group's.
const PERMISSIONS: u32 = 0o2770;

/// Where the content of all workspaces is mounted, and which directory is whose.
#[derive(Clone, Debug)]
pub struct ContentRoot {
    /// The directory that it is mounted at.
    pub path: PathBuf,
    /// Which of its directories is a workspace's.
    pub layout: ContentLayout,
}

/// What is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The workspace.
    pub workspace: String,
    /// The namespace it owns.
    pub namespace: String,
    /// The directory of its content.
    pub path: SubPath,
}

/// Whether an answer is worth waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Haste {
    /// The claim cannot go on without.
    Needed,
    /// The claim runs, and its directory is looked at again in any case: only if a thread is free.
    IfFree,
}

/// Looks at directories and makes them.
#[derive(Clone, Debug)]
pub struct Directories {
    root: Arc<ContentRoot>,
    threads: Arc<Semaphore>,
    /// All threads were taken for longer than one is waited for, and none has answered since.
    silent: Arc<AtomicBool>,
    does: Does,
}

#[derive(Clone, Copy)]
enum Errand {
    Look,
    Make,
}

/// What a thread does.
type Does = fn(&ContentRoot, &Wanted, Errand) -> Directory;

impl Directories {
    /// Of the volume that is mounted there.
    pub fn new(root: ContentRoot) -> Self {
        Self::doing(root, on_thread)
    }

    fn doing(root: ContentRoot, does: Does) -> Self {
        Self {
            root: Arc::new(root),
            threads: Arc::new(Semaphore::new(THREADS)),
            silent: Arc::default(),
            does,
        }
    }

    /// What is at a directory.
    pub async fn look(&self, wanted: Wanted, haste: Haste) -> Directory {
        self.run(wanted, Errand::Look, haste).await
    }

    /// Makes a directory and those above it, within the workspace's content; what is there then.
    pub async fn make(&self, wanted: Wanted) -> Directory {
        self.run(wanted, Errand::Make, Haste::Needed).await
    }

    /// A thread to be; `None` if there is none.
    async fn free_thread(&self, haste: Haste) -> Option<OwnedSemaphorePermit> {
        let threads = || Arc::clone(&self.threads);
        if let Ok(free) = threads().try_acquire_owned() {
            return Some(free);
        }
        if haste == Haste::IfFree || self.silent.load(Ordering::Relaxed) {
            return None;
        }
        let free = tokio::time::timeout(THREAD_WITHIN, threads().acquire_owned()).await;
        if free.is_err() {
            self.silent.store(true, Ordering::Relaxed);
        }
        free.ok()?.ok()
    }

    async fn run(&self, wanted: Wanted, errand: Errand, haste: Haste) -> Directory {
        let work = async {
            let permit = self.free_thread(haste).await?;
            let (root, does) = (Arc::clone(&self.root), self.does);
            let silent = Arc::clone(&self.silent);
            let (tell, told) = oneshot::channel();
            // Not one of the runtime's threads, which it waits for when the process ends.
            let thread = std::thread::Builder::new().name("content".to_owned());
            let started = thread.spawn(move || {
                let answer = does(&root, &wanted, errand);
                silent.store(false, Ordering::Relaxed);
                drop(permit);
                // Nobody listens any more if it took too long.
                let _ = tell.send(answer);
            });
            match started {
                Ok(_) => told.await.ok(),
                Err(_) => None,
            }
        };
        match tokio::time::timeout(ANSWER_WITHIN, work).await {
            Ok(Some(answer)) => answer,
            Ok(None) => Directory::Unseen("the volume does not answer".to_owned()),
            Err(_) => Directory::Unseen(format!(
                "the volume did not answer within {} s",
                ANSWER_WITHIN.as_secs()
            )),
        }
    }
}

fn on_thread(root: &ContentRoot, wanted: &Wanted, errand: Errand) -> Directory {
    match seen(root, wanted, errand) {
        Ok(directory) => directory,
        Err(error) => Directory::Unseen(Chain(&error).to_string()),
    }
}

fn seen(content: &ContentRoot, wanted: &Wanted, errand: Errand) -> Result<Directory, PathsError> {
    let own = content.layout.of(&wanted.workspace, &wanted.namespace);
    let below = |path: &str| path.parse::<Below>().ok();
    let Some((own, whole)) = own.and_then(|own| {
        let whole = format!("{own}/{}", wanted.path);
        Some((below(own.as_str())?, below(&whole)?))
    }) else {
        return Ok(Directory::Unseen("its path is none".to_owned()));
    };
    let root = Root::open(&content.path)?;
    // Not made: where it is missing, the content is elsewhere, and so would the sandbox be.
    if root.look(&own)? != Seen::Directory {
        return Ok(Directory::Unseen(format!(
            "there is no directory {own} below --workspace-content-path"
        )));
    }
    let answer = match errand {
        Errand::Look => root.look(&whole)?,
        Errand::Make => root.make(&whole, PERMISSIONS)?,
    };
    let within = |at: String| {
        let inner = at.strip_prefix(own.as_str());
        inner.map_or(at.clone(), |inner| inner.trim_start_matches('/').to_owned())
    };
    Ok(match answer {
        Seen::Directory => Directory::Stands,
        Seen::Missing { .. } => Directory::Missing,
        Seen::Symlink { at } => Directory::Symlink { at: within(at) },
        Seen::NotDirectory { at } => Directory::NotDirectory { at: within(at) },
    })
}

#[cfg(test)]
mod tests;
