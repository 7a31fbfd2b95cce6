//! The workers of one term of leadership. Does I/O through the reconciler.

use std::sync::Arc;

use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::cause::Chain;
use crate::claim::Reconciler;
use crate::metrics::Metrics;
use crate::queue::back_off;
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
    let ready = async {
        watches.synced.complete().await;
        catch_up(&reconciler).await;
        let claims = watches.index.claim_count();
        tracing::info!(claims, "all claims were read and are looked after");
    };
    tokio::select! {
        () = term.cancelled() => return Ok(()),
        () = ready => {}
    }
    watches.queue.open();
    watches.queue.push_all(watches.index.subjects());
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

/// Until it is known whom the leader before admitted, nobody is.
async fn catch_up(reconciler: &Reconciler) {
    let mut failures = 0;
    while let Err(error) = reconciler.catch_up().await {
        tracing::warn!(error = %Chain(&error), "the claims are read once more before any is looked after");
        tokio::time::sleep(back_off(failures)).await;
        failures += 1;
    }
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
