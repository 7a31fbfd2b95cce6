//! The workers of one term of leadership. Does I/O through the reconciler.

use std::sync::Arc;

use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::claim::Reconciler;
use crate::metrics::Metrics;
use crate::watch::Watches;

/// How many claims are worked on at once.
const WORKERS: usize = 8;

/// Looks after claims until the term ends: first at all of them, then at those that change. A worker
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
    for claim in watches.index.claims() {
        watches.queue.push(claim);
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
            let claim = watches.queue.next().await;
            let next = reconciler.look_after(&claim).await;
            watches.queue.done(&claim, next);
            metrics.queued(watches.queue.len());
        }
    };
    tokio::select! {
        () = term.cancelled() => {}
        () = work => {}
    }
}
