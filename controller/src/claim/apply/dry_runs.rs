//! How often the API server is asked what a write would do. Keeps time by tokio's clock.
//!
//! A leader that has just begun remembers of no object how it wrote it and asks about all of them; the API
//! server is to notice little of that (O-040).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// One dry run each: 50 a second.
const EVERY: Duration = Duration::from_millis(20);

/// The turns of all that make dry runs; clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct DryRuns(Arc<Mutex<Option<Instant>>>);

impl DryRuns {
    /// Waits until it is one's turn, in the order of asking.
    pub(super) async fn turn(&self) {
        let at = self.take(Instant::now());
        tokio::time::sleep_until(at).await;
    }

    fn take(&self, now: Instant) -> Instant {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = free.map_or(now, |free| free.max(now));
        *free = Some(at + EVERY);
        at
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::JoinSet;

    use super::*;

    // Proves: O-040
    #[tokio::test(start_paused = true)]
    async fn no_second_sees_more_than_fifty_whoever_asks() {
        let turns = DryRuns::default();
        let begun = Instant::now();
        let mut askers = JoinSet::new();
        for _ in 0..8 {
            let turns = turns.clone();
            askers.spawn(async move {
                let mut at = Vec::new();
                for _ in 0..25 {
                    turns.turn().await;
                    at.push(Instant::now());
                }
                at
            });
        }
        let mut at = askers.join_all().await.concat();
        at.sort_unstable();
        let fullest = at.windows(51).map(|some| some[50] - some[0]).min();
        assert!(fullest.unwrap() >= Duration::from_secs(1), "{fullest:?}");
        let took = at[at.len() - 1] - begun;
        assert!(
            took < Duration::from_millis(4100),
            "turns were lost: {took:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_comes_alone_does_not_wait() {
        let turns = DryRuns::default();
        for _ in 0..3 {
            let begun = Instant::now();
            turns.turn().await;
            assert_eq!(begun.elapsed(), Duration::ZERO);
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}
