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

    /// The API server's time, to a second or two; `None` if it has not been heard of for a minute.
    /// Whoever would take something away because of its age then leaves it.
    pub fn heard(&self, at: Instant) -> Option<SystemTime> {
        let seen = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = seen.map(|seen| (seen.date, at.saturating_duration_since(seen.at)));
        since
            .filter(|(_, since)| *since < FRESH)
            .map(|(date, since)| date + since)
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
    fn the_api_servers_clock_runs_on_between_two_answers() {
        let (clock, at) = (Clock::default(), Instant::now());
        clock.note(&head("Tue, 01 Dec 2026 19:49:29 GMT"), at);
        let theirs = SystemTime::UNIX_EPOCH + Duration::from_secs(DATE_2026);
        let heard = clock.clone().heard(at + 3 * SECOND);
        assert_eq!(heard, Some(theirs + 3 * SECOND));
    }

    #[test]
    fn what_was_not_heard_for_a_minute_is_not_known() {
        let (clock, at) = (Clock::default(), Instant::now());
        assert_eq!(clock.heard(at), None);
        clock.note(&head("no date"), at);
        clock.note(&HeaderMap::new(), at);
        assert_eq!(clock.heard(at), None);
        clock.note(&head("Tue, 01 Dec 2026 19:49:29 GMT"), at);
        assert_eq!(clock.heard(at + FRESH), None);
    }
}
