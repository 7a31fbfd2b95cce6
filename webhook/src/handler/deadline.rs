//! How long the API server waits for an answer: it says so in `?timeout=10s`. Pure but for the clock.

use std::time::Duration;

use tokio::time::Instant;

/// The API server's default, and the most it allows.
const USUAL: Duration = Duration::from_secs(10);
const MOST: Duration = Duration::from_secs(30);

/// When an answer is of no use any more: a little before the API server gives up, so that it gets ours
/// rather than none.
pub(super) fn of(query: Option<&str>) -> Instant {
    Instant::now() + budget(query)
}

fn budget(query: Option<&str>) -> Duration {
    let said = query
        .into_iter()
        .flat_map(|query| query.split('&'))
        .find_map(|pair| pair.strip_prefix("timeout="))
        .and_then(|value| value.strip_suffix('s'))
        .and_then(|seconds| seconds.parse::<u32>().ok())
        .filter(|seconds| *seconds > 0);
    let granted = said.map_or(USUAL, |seconds| {
        Duration::from_secs(u64::from(seconds)).min(MOST)
    });
    granted / 10 * 9
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::absent(None, 9_000)]
    #[case::seconds(Some("timeout=1s"), 900)]
    #[case::beside_others(Some("a=b&timeout=20s"), 18_000)]
    #[case::more_than_any_api_server_waits(Some("timeout=4000000000s"), 27_000)]
    #[case::zero(Some("timeout=0s"), 9_000)]
    #[case::nonsense(Some("timeout=soon"), 9_000)]
    #[case::empty(Some(""), 9_000)]
    fn the_deadline_lies_below_the_callers(#[case] query: Option<&str>, #[case] millis: u64) {
        assert_eq!(budget(query), Duration::from_millis(millis));
    }
}
