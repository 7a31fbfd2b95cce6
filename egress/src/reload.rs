//! Keeping the allowlist in force equal to the mounted file (E-011, E-012, Q21). Reads files.
//!
//! A change is told by inotify, and looked for every so often in case nobody told. A file that cannot be
//! taken up leaves the last good list in force. The tunnels whose host lost its entry are cut, and no
//! others.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sandgate_shared::cause::sentence;
use thiserror::Error;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::allowlist::{Allowlist, AllowlistError, LARGEST_FILE};
use crate::metrics::Metrics;
use crate::policy::Policies;
use crate::tunnels::{Cause, Tunnels};
use crate::watch::Watch;

/// Why a file is not taken up.
#[derive(Debug, Error)]
pub enum ReloadError {
    /// It cannot be read.
    #[error("failed to read {path}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is no allowlist.
    #[error("failed to take up {path}")]
    Content {
        /// Which.
        path: PathBuf,
        /// Why.
        source: AllowlistError,
    },
}

/// Reads the file at `path`, at most a little more than it may have.
fn content(path: &Path) -> Result<Vec<u8>, ReloadError> {
    let bounded = u64::try_from(LARGEST_FILE).unwrap_or(u64::MAX) + 1;
    let mut content = Vec::new();
    let read = File::open(path).and_then(|file| file.take(bounded).read_to_end(&mut content));
    match read {
        Ok(_) => Ok(content),
        Err(source) => Err(ReloadError::File {
            path: path.to_owned(),
            source,
        }),
    }
}

fn parsed(path: &Path, content: &[u8]) -> Result<Allowlist, ReloadError> {
    Allowlist::read(content).map_err(|source| ReloadError::Content {
        path: path.to_owned(),
        source,
    })
}

/// What was seen last.
#[derive(Debug)]
enum Seen {
    /// This content, good or not.
    Content(Vec<u8>),
    /// Nothing, for this reason.
    Trouble(String),
}

/// Takes up what the file says.
#[derive(Debug)]
pub struct Reloader {
    path: PathBuf,
    seen: Seen,
    policies: Arc<Policies>,
    tunnels: Arc<Tunnels>,
    metrics: Arc<Metrics>,
}

impl Reloader {
    /// Reads the file for the first time, which must succeed.
    ///
    /// # Errors
    /// There is no file, or it is no allowlist.
    pub fn new(
        path: PathBuf,
        tunnels: Arc<Tunnels>,
        metrics: Arc<Metrics>,
    ) -> Result<Self, ReloadError> {
        let content = content(&path)?;
        let allowlist = parsed(&path, &content)?;
        tracing::info!(hosts = allowlist.len(), generation = 1, "allowlist loaded");
        metrics.generation.set(1);
        Ok(Self {
            path,
            seen: Seen::Content(content),
            policies: Arc::new(Policies::new(allowlist)),
            tunnels,
            metrics,
        })
    }

    /// The policy that is kept.
    pub fn policies(&self) -> Arc<Policies> {
        Arc::clone(&self.policies)
    }

    /// Looks at the file, and takes up what is new in it. Blocks on a small read.
    pub fn look(&mut self) {
        let content = match content(&self.path) {
            Ok(content) => content,
            Err(error) => return self.trouble(&error, None),
        };
        if matches!(&self.seen, Seen::Content(seen) if *seen == content) {
            return;
        }
        match parsed(&self.path, &content) {
            Ok(allowlist) => {
                self.seen = Seen::Content(content);
                self.take_up(allowlist);
            }
            Err(error) => self.trouble(&error, Some(content)),
        }
    }

    fn take_up(&self, allowlist: Allowlist) {
        if self.policies.current().allowlist == allowlist {
            return;
        }
        let hosts = allowlist.len();
        // First the policy, then the cut: a tunnel that is neither cut nor opened under the new policy
        // would be one that nobody judged.
        let generation = self.policies.replace(allowlist);
        let policy = self.policies.current();
        let cut = self
            .tunnels
            .cut(Cause::Revoked, |name| !policy.allowlist.covers(name));
        self.metrics
            .generation
            .set(i64::try_from(generation).unwrap_or(i64::MAX));
        tracing::info!(hosts, generation, cut, "allowlist changed");
    }

    /// Tells a trouble once, not at every look.
    fn trouble(&mut self, error: &ReloadError, content: Option<Vec<u8>>) {
        let sentence = sentence(error);
        if matches!(&self.seen, Seen::Trouble(known) if *known == sentence) {
            return;
        }
        self.metrics.reload_failures.inc();
        tracing::error!(error = sentence, "the last good allowlist stays in force");
        self.seen = match content {
            Some(content) => Seen::Content(content),
            None => Seen::Trouble(sentence),
        };
    }
}

/// Looks whenever something changed beside the file, and every `pause`, until `stopping` is cancelled.
pub async fn follow(mut reloader: Reloader, pause: Duration, stopping: CancellationToken) {
    let directory = reloader.path.parent().map(Path::to_owned);
    let directory = directory.filter(|path| !path.as_os_str().is_empty());
    let directory = directory.unwrap_or_else(|| PathBuf::from("."));
    let mut ticks = interval(pause);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut watch = None;
    loop {
        if watch.is_none() {
            // Without it a change is seen a little later.
            watch = Watch::new(&directory)
                .inspect_err(|error| tracing::debug!(%error, "failed to watch the allowlist"))
                .ok();
        }
        tokio::select! {
            _ = ticks.tick() => {}
            told = changed(watch.as_mut()) => if told.is_err() {
                watch = None;
            },
            () = stopping.cancelled() => return,
        }
        reloader.look();
    }
}

async fn changed(watch: Option<&mut Watch>) -> io::Result<()> {
    match watch {
        Some(watch) => watch.changed().await,
        None => std::future::pending().await,
    }
}
