//! Keeping the served leaf equal to the TLS directory. Reads files; everything else is decided in
//! `sandgate_certs`.
//!
//! The directory is polled and compared by content: on a volume that the kubelet swaps by a symbolic
//! link, a watch on the files themselves never fires. A set that cannot be served leaves the last good
//! one in place.

use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwapOption;
use sandgate_certs::directory::TlsDirectory;
use sandgate_certs::resolver::{Resolver, ServingSet};
use sandgate_shared::cause::sentence;

use crate::metrics::Metrics;

/// The served leaf and the last trouble with the files it comes from.
#[derive(Debug)]
pub struct Reloader {
    directory: TlsDirectory,
    resolver: Arc<Resolver>,
    metrics: Arc<Metrics>,
    problem: ArcSwapOption<String>,
}

impl Reloader {
    /// Nothing is read until [`Self::look`].
    pub fn new(directory: TlsDirectory, metrics: Arc<Metrics>) -> Self {
        Self {
            directory,
            resolver: Arc::new(Resolver::new()),
            metrics,
            problem: ArcSwapOption::empty(),
        }
    }

    /// What TLS servers resolve their certificate with.
    pub fn resolver(&self) -> Arc<Resolver> {
        Arc::clone(&self.resolver)
    }

    /// Reads the directory and, if its content is not what was seen `last`, serves it. Returns what was
    /// seen. Blocks on a few small reads.
    pub fn look(&self, last: Option<[u8; 32]>) -> Option<[u8; 32]> {
        let files = match self.directory.read() {
            Ok(files) => files,
            Err(error) => {
                self.trouble(&sentence(&error));
                return None;
            }
        };
        let digest = files.digest();
        if last == Some(digest) {
            return last;
        }
        match ServingSet::parse(&files) {
            Ok(set) => {
                let leaf = set.leaf().fingerprint().clone();
                self.metrics.serving_until(set.leaf().not_after());
                self.resolver.swap(Arc::new(set));
                self.problem.store(None);
                tracing::info!(%leaf, "serving the certificate in the TLS directory");
            }
            Err(error) => {
                self.metrics.reload_failures.inc();
                self.trouble(&sentence(&error));
            }
        }
        Some(digest)
    }

    /// Why the API server would not accept what is served at `now`, in one sentence.
    pub fn readiness(&self, now: SystemTime) -> Result<(), String> {
        let Some(set) = self.resolver.current() else {
            let problem = self.problem.load_full();
            let why = problem
                .as_deref()
                .map_or("it was not looked at yet", String::as_str);
            let place = self.directory.path().display();
            return Err(format!(
                "no certificate could be loaded from {place}: {why}"
            ));
        };
        set.fitness(now).map_err(|unfit| sentence(&unfit))
    }

    /// Tells a problem once, not at every look.
    fn trouble(&self, problem: &str) {
        let known = self.problem.load();
        if known.as_deref().is_some_and(|known| known == problem) {
            return;
        }
        let kept = self.resolver.current().is_some();
        tracing::warn!(
            problem,
            kept_last_good = kept,
            "the TLS directory cannot be served"
        );
        self.problem.store(Some(Arc::new(problem.to_owned())));
    }
}
