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

use futures::{Stream, StreamExt as _, TryStreamExt as _, pin_mut};
use kube::core::{DynamicObject, ObjectMeta, PartialObjectMeta};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::admission_queue::Limit;
use crate::api_server::{ApiServer, PAGE};
use crate::cause::{self, Chain};
use crate::metrics::Metrics;
use crate::queue::Queue;

mod back_off;
pub(crate) mod changes;
mod confirmed;
mod index;
mod source;
mod subject;
mod table;

pub(crate) use back_off::back_off;
pub use confirmed::Confirmed;
pub use index::{Index, NotKnown};
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
    /// Where it is known not to be behind.
    pub confirmed: Confirmed,
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
    let config = watcher::Config {
        label_selector: source.label_selector(),
        page_size: Some(PAGE),
        ..watcher::Config::default()
    };
    let intake = Intake {
        source,
        watches,
        metrics,
    };
    if source.metadata_only() {
        let events = watcher(api.metadata(source.kind()), config);
        intake.all(events.map_ok(metadata_alone)).await;
    } else {
        let events = watcher(api.objects(source.kind(), None), config);
        intake.all(events).await;
    }
}

/// Where the events of one watch go.
struct Intake {
    source: Source,
    watches: Arc<Watches>,
    metrics: Metrics,
}

impl Intake {
    async fn all(self, events: impl Stream<Item = watcher::Result<Event<DynamicObject>>> + Send) {
        let events = events.backoff(back_off());
        pin_mut!(events);
        while let Some(event) = events.next().await {
            let concerned = match event {
                Ok(event) => self.event(event),
                Err(error) => self.broke(&error),
            };
            let Watches { queue, index, .. } = &*self.watches;
            queue.push_all(concerned);
            self.metrics.queued(queue.len());
            if self.source == Source::Claims {
                self.metrics.claims(index.claim_count());
                for limit in Limit::ALL {
                    self.metrics.held_back(limit, index.held_back_by(limit));
                }
            }
        }
    }

    /// Takes in what a watch delivered; what it concerns.
    fn event(&self, event: Event<DynamicObject>) -> BTreeSet<Subject> {
        let index = &self.watches.index;
        match event {
            Event::Init => {
                index.begin_listing(self.source);
                BTreeSet::new()
            }
            Event::InitApply(object) => self.observe(object),
            Event::InitDone => self.listed(),
            Event::Apply(object) => {
                self.told();
                self.observe(object)
            }
            Event::Delete(object) => {
                self.told();
                index.forget(self.source, &object)
            }
        }
    }

    fn observe(&self, object: DynamicObject) -> BTreeSet<Subject> {
        let observed = self.watches.index.observe(self.source, object);
        observed.unwrap_or_else(|error| {
            let kind = self.source.kind();
            self.metrics.undecodable(kind);
            tracing::warn!(
                kind = kind.as_str(),
                error = %Chain(&error),
                "an object was passed over"
            );
            BTreeSet::new()
        })
    }

    fn listed(&self) -> BTreeSet<Subject> {
        let concerned = self.watches.index.end_listing(self.source);
        self.doubt();
        self.told();
        self.watches.synced.mark(self.source);
        concerned
    }

    fn told(&self) {
        if self.source == Source::Runtimes {
            self.watches.confirmed.told();
        }
    }

    fn doubt(&self) {
        if self.source == Source::Runtimes {
            self.watches.confirmed.doubt_all();
        }
    }

    /// Takes in that a watch broke; what that concerns. It is started again by itself. While it is
    /// refused, what it would show counts as not listed, and readiness says so; except that of a kind
    /// which is not served there is nothing to be listed.
    fn broke(&self, error: &watcher::Error) -> BTreeSet<Subject> {
        let kind = self.source.kind();
        let unserved = cause::answer_of_watch(error).is_some_and(|status| status.code == 404);
        if unserved && self.source.may_be_unserved() {
            tracing::debug!(kind = kind.as_str(), "the kind is not served");
            self.watches.index.begin_listing(self.source);
            return self.listed();
        }
        self.doubt();
        self.metrics.watch_failed(kind);
        tracing::info!(
            kind = kind.as_str(),
            error = cause::of_watch(error),
            "a watch broke and is started again"
        );
        BTreeSet::new()
    }
}

/// The same object without all that is not its metadata, and without annotations.
fn metadata_alone(event: Event<PartialObjectMeta<DynamicObject>>) -> Event<DynamicObject> {
    let bare = |object: PartialObjectMeta<DynamicObject>| DynamicObject {
        types: object.types,
        metadata: ObjectMeta {
            annotations: None,
            managed_fields: None,
            ..object.metadata
        },
        data: Value::Null,
    };
    match event {
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(bare(object)),
        Event::InitDone => Event::InitDone,
        Event::Apply(object) => Event::Apply(bare(object)),
        Event::Delete(object) => Event::Delete(bare(object)),
    }
}

#[cfg(test)]
mod tests;
