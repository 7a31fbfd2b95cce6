//! When the Lease is looked at. Does I/O: it watches the Lease.

use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use tokio::time::{Instant, Interval, MissedTickBehavior};

use super::lease::StoredLease;
use crate::metrics::Metrics;
use crate::watch::changes;

/// Regular turns, and while somebody else leads, changes of the Lease: it may be given up at any time.
pub(super) struct Occasions {
    lease: StoredLease,
    metrics: Metrics,
    turns: Interval,
    /// A leader has none: its own renewals would wake it.
    changes: Option<BoxStream<'static, ()>>,
}

impl Occasions {
    /// Those of a replica that has not looked yet; the first comes at once.
    pub(super) fn new(lease: StoredLease, metrics: Metrics, period: Duration) -> Self {
        let mut turns = tokio::time::interval(period);
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            lease,
            metrics,
            turns,
            changes: None,
        }
    }

    /// Waits for the next; `lapse` is one, too. Nothing is lost by one who stops waiting.
    pub(super) async fn next(&mut self, lapse: Option<Instant>) {
        tokio::select! {
            _ = self.turns.tick() => {}
            () = change(&mut self.changes) => {}
            () = reached(lapse) => {}
        }
    }

    /// A look has just found that somebody else leads. The turns go on, for a watch can be refused, or
    /// dead without anybody knowing.
    pub(super) fn stand_by(&mut self) {
        self.turns.reset();
        self.changes.get_or_insert_with(|| {
            changes::of_object(&self.lease.api, &self.metrics, self.lease.place())
        });
    }

    /// We lead.
    pub(super) fn lead(&mut self) {
        self.changes = None;
    }
}

/// Waits for a change, without a watch for ever.
async fn change(changes: &mut Option<BoxStream<'static, ()>>) {
    let told = match changes {
        Some(changes) => changes.next().await,
        None => std::future::pending().await,
    };
    if told.is_none() {
        // Given up on, and not to be asked again; `stand_by` begins another.
        *changes = None;
        std::future::pending::<()>().await;
    }
}

/// Waits for a moment, without one for ever.
pub(super) async fn reached(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
