//! The workers of one term of leadership. Does I/O through the reconciler.

use std::sync::Arc;

use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::claim::Reconciler;
use crate::metrics::Metrics;
use crate::watch::Watches;

/// How many subjects are worked on at once.
const WORKERS: usize = 8;

/// Looks after claims and baseline policies until the term ends: first all of them, then those that change. A worker
/// that is cut off leaves nothing behind that the next term would not put right.
pub async fn work(
    watches: &Arc<Watches>,
    reconciler: Arc<Reconciler>,
    metrics: &Metrics,
    term: &CancellationToken,
) -> Result<(), JoinError> {
    tokio::select! {
        () = term.cancelled() => return Ok(()),
        () = watches.synced.complete() => {}
    }
    watches.queue.open();
    for subject in watches.index.subjects() {
        watches.queue.push(subject);
    }
    let mut workers = JoinSet::new();
    for _ in 0..WORKERS {
        workers.spawn(worker(
            Arc::clone(watches),
            Arc::clone(&reconciler),
            metrics.clone(),
            term.clone(),
        ));
    }
    let mut result = Ok(());
    while let (Ok(()), Some(ended)) = (&result, workers.join_next().await) {
        result = ended;
    }
    watches.queue.close();
    result
}

async fn worker(
    watches: Arc<Watches>,
    reconciler: Arc<Reconciler>,
    metrics: Metrics,
    term: CancellationToken,
) {
    let work = async {
        loop {
            let subject = watches.queue.next().await;
            let next = reconciler.look_after(&subject).await;
            watches.queue.done(&subject, next);
            metrics.queued(watches.queue.len());
        }
    };
    tokio::select! {
        () = term.cancelled() => {}
        () = work => {}
    }
}
