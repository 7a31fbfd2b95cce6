//! What stands in the cluster, as far as claims are concerned: one watch a [`Source`], all feeding one
//! [`Index`]. Does I/O; the index itself is pure.
//!
//! ```text
//!  watch of a source ──object──▶ Index::observe ──what it concerns──▶ Queue
//!                                     ▲     │
//!                own writes (wrote) ──┘     └──▶ Observed, for gather
//! ```
//!
//! Every replica watches, so that a new leader starts with what it needs. An object that cannot be
//! read is counted, logged and passed over; it stalls nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::{StreamExt as _, pin_mut};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::api_server::ApiServer;
use crate::cause::{self, Chain};
use crate::metrics::Metrics;
use crate::queue::Queue;

pub(crate) mod changes;
mod index;
mod key;
mod source;
mod subject;
mod table;

pub use index::{Index, NotKnown};
pub use key::Key;
pub use source::Source;
pub use subject::Subject;

/// Which sources have been listed whole at least once.
#[derive(Debug, Default)]
pub struct Synced(watch::Sender<BTreeSet<Source>>);

impl Synced {
    /// Those that have not.
    pub fn missing(&self) -> Vec<Source> {
        let synced = self.0.borrow();
        Source::ALL
            .into_iter()
            .filter(|source| !synced.contains(source))
            .collect()
    }

    /// Resolves once all have.
    pub async fn complete(&self) {
        let mut told = self.0.subscribe();
        // The sender lives as long as self, so this cannot fail before the condition holds.
        let _ = told
            .wait_for(|synced| synced.len() == Source::ALL.len())
            .await;
    }

    pub(crate) fn mark(&self, source: Source) {
        self.0.send_if_modified(|synced| synced.insert(source));
    }
}

/// The watches, and what they keep up to date.
#[derive(Debug, Default)]
pub struct Watches {
    /// What stands.
    pub index: Index,
    /// What to look at because something about it changed.
    pub queue: Queue<Subject>,
    /// Whether the index is whole.
    pub synced: Synced,
}

/// Follows every source until the task set is dropped.
pub fn follow_all(
    watches: &Arc<Watches>,
    api: &ApiServer,
    metrics: &Metrics,
    tasks: &mut JoinSet<()>,
) {
    for source in Source::ALL {
        tasks.spawn(follow(
            source,
            Arc::clone(watches),
            api.clone(),
            metrics.clone(),
        ));
    }
}

async fn follow(source: Source, watches: Arc<Watches>, api: ApiServer, metrics: Metrics) {
    let Watches {
        index,
        queue,
        synced,
    } = &*watches;
    let config = watcher::Config {
        label_selector: source.label_selector(),
        field_selector: source.field_selector(),
        ..watcher::Config::default()
    };
    let events = watcher(api.objects(source.kind(), None), config).default_backoff();
    pin_mut!(events);
    while let Some(event) = events.next().await {
        let concerned = match event {
            Ok(Event::Init) => {
                index.begin_listing(source);
                continue;
            }
            Ok(Event::InitApply(object) | Event::Apply(object)) => {
                index.observe(source, object).unwrap_or_else(|error| {
                    metrics.undecodable(source.kind());
                    tracing::warn!(
                        kind = source.kind().as_str(),
                        error = %Chain(&error),
                        "an object was passed over"
                    );
                    BTreeSet::new()
                })
            }
            Ok(Event::Delete(object)) => index.forget(source, &object),
            Ok(Event::InitDone) => {
                let concerned = index.end_listing(source);
                synced.mark(source);
                concerned
            }
            Err(error) => {
                metrics.watch_failed(source.kind());
                tracing::info!(
                    kind = source.kind().as_str(),
                    error = cause::of_watch(&error),
                    "a watch broke and is started again"
                );
                continue;
            }
        };
        for subject in concerned {
            queue.push(subject);
        }
        metrics.queued(queue.len());
        if source == Source::Claims {
            metrics.claims(index.claim_count());
        }
    }
}
