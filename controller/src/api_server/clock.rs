//! What time it is for the API server: it judges certificates by its own clock, so ours must not
//! matter. Pure but for the shared state.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use hyper::HeaderMap;
use hyper::header::DATE;
use k8s_openapi::jiff::fmt::rfc2822::DateTimeParser;

/// How long an answer's date is worth more than our own clock.
const FRESH: Duration = Duration::from_mins(1);

/// The API server's clock, as its last answer told it. Clones share what they know.
#[derive(Clone, Debug, Default)]
pub struct Clock(Arc<Mutex<Option<Sighting>>>);

/// A date and when we read it.
#[derive(Clone, Copy, Debug)]
struct Sighting {
    date: SystemTime,
    at: Instant,
}

impl Clock {
    /// Reads the date (RFC 9110, 6.6.1) in the head of an answer. One without it, or with one that
    /// cannot be read, tells nothing.
    pub fn note(&self, head: &HeaderMap, at: Instant) {
        let date = head.get(DATE).and_then(|date| date.to_str().ok());
        let date = date.and_then(|date| DateTimeParser::new().parse_timestamp(date).ok());
        if let Some(date) = date {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Sighting {
                date: date.into(),
                at,
            });
        }
    }

    /// The API server's time, to a second or two; `local` if it has not been heard of for a minute.
    pub fn now(&self, at: Instant, local: SystemTime) -> SystemTime {
        let seen = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = seen.map(|seen| (seen.date, at.saturating_duration_since(seen.at)));
        since
            .filter(|(_, since)| *since < FRESH)
            .map_or(local, |(date, since)| date + since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const DATE_2026: u64 = 1_796_154_569;

    fn head(date: &str) -> HeaderMap {
        [(DATE, date.parse().unwrap())].into_iter().collect()
    }

    // Proves: X-012
    #[test]
    fn the_api_servers_clock_counts_whatever_ours_says() {
        let (clock, at) = (Clock::default(), Instant::now());
        clock.note(&head("Tue, 01 Dec 2026 19:49:29 GMT"), at);
        let theirs = SystemTime::UNIX_EPOCH + Duration::from_secs(DATE_2026);
        for ours in [SystemTime::UNIX_EPOCH, theirs + 1_000_000 * SECOND] {
            assert_eq!(
                clock.clone().now(at + 3 * SECOND, ours),
                theirs + 3 * SECOND
            );
        }
    }

    #[test]
    fn who_has_not_heard_of_it_for_long_takes_their_own() {
        let (clock, at) = (Clock::default(), Instant::now());
        let ours = SystemTime::UNIX_EPOCH + SECOND;
        assert_eq!(clock.now(at, ours), ours);
        clock.note(&head("no date"), at);
        clock.note(&HeaderMap::new(), at);
        assert_eq!(clock.now(at, ours), ours);
        clock.note(&head("Tue, 01 Dec 2026 19:49:29 GMT"), at);
        assert_eq!(clock.now(at + FRESH, ours), ours);
    }
}
