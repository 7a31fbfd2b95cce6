//! How soon a watch that broke is begun again. Pure.

use std::time::Duration;

use backon::ExponentialBuilder;
use kube::runtime::utils::{Backoff, ResetTimerBackoff};
use kube::runtime::watcher::ExponentialBackoff;

/// The first wait.
const FIRST: Duration = Duration::from_millis(800);
/// Waits double up to this one. Clients of the field wait for half a minute then; but nothing that a
/// stranger opens meanwhile is shut again before this watch is back (O-037), and we have no more than
/// a dozen and a half of them.
const LONGEST: Duration = Duration::from_secs(2);
/// A watch that has held for so long has recovered.
const RECOVERED: Duration = Duration::from_mins(2);

/// The waits of one watch, each with up to as much again at random.
pub fn back_off() -> impl Backoff {
    let waits = ExponentialBuilder::new()
        .with_min_delay(FIRST)
        .with_max_delay(LONGEST)
        .with_jitter()
        .without_max_times();
    ResetTimerBackoff::new(ExponentialBackoff::from(waits), RECOVERED)
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, back_off};

    // Proves: O-037
    #[test]
    fn however_often_a_watch_breaks_it_is_begun_again_within_four_seconds_and_for_ever() {
        let waits: Vec<_> = back_off().take(1000).collect();
        assert_eq!(waits.len(), 1000);
        let longest = waits.iter().max().unwrap();
        assert!(*longest <= LONGEST * 2, "{longest:?}");
        assert!(*longest >= LONGEST, "{longest:?}");
    }
}
