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

/// A date counts whole seconds: what it leaves out is less than this.
const GRAIN: Duration = Duration::from_secs(1);

/// What time it was there when we read an answer.
#[derive(Clone, Copy, Debug)]
struct Sighting {
    time: SystemTime,
    at: Instant,
}

impl Sighting {
    /// The time there at `at`, if its clock ran as ours did.
    fn time_at(self, at: Instant) -> SystemTime {
        self.time + at.saturating_duration_since(self.at)
    }
}

impl Clock {
    /// Reads the date (RFC 9110, 6.6.1) in the head of an answer. One without it, or with one that
    /// cannot be read, tells nothing.
    ///
    /// Each date is a bound of the time, within which what was known runs on: taken as it is, each
    /// answer would set the clock back by up to a second.
    pub fn note(&self, head: &HeaderMap, at: Instant) {
        let date = head.get(DATE).and_then(|date| date.to_str().ok());
        let date = date.and_then(|date| DateTimeParser::new().parse_timestamp(date).ok());
        if let Some(date) = date.map(SystemTime::from) {
            let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let time = seen.map_or(date, |seen| seen.time_at(at).clamp(date, date + GRAIN));
            *seen = Some(Sighting { time, at });
        }
    }

    /// The API server's time, to a second or two; `None` if it has not been heard of for a minute.
    /// Whoever would take something away because of its age then leaves it.
    pub fn heard(&self, at: Instant) -> Option<SystemTime> {
        let seen = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.filter(|seen| at.saturating_duration_since(seen.at) < FRESH)
            .map(|seen| seen.time_at(at))
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

    // Proves: C-027
    #[test]
    fn a_date_of_whole_seconds_never_sets_the_clock_back_and_soon_tells_parts_of_them() {
        let (clock, start) = (Clock::default(), Instant::now());
        let theirs = SystemTime::UNIX_EPOCH + Duration::from_secs(DATE_2026);
        // Their clock is at 700 ms of a second when we begin to listen.
        let ahead = Duration::from_millis(700);
        let mut last = theirs;
        for tenth in 0..30 {
            let since = Duration::from_millis(100) * tenth;
            let whole = Duration::from_secs((ahead + since).as_secs());
            let date = k8s_openapi::jiff::Timestamp::try_from(theirs + whole).unwrap();
            clock.note(
                &head(&date.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()),
                start + since,
            );
            let heard = clock.heard(start + since).unwrap();
            assert!(tenth == 0 || heard > last, "set back at {since:?}");
            last = heard;
        }
        assert_eq!(last, theirs + ahead + Duration::from_millis(2900));
    }

    #[test]
    fn a_clock_that_is_set_back_there_is_set_back_here() {
        let (clock, at) = (Clock::default(), Instant::now());
        clock.note(&head("Tue, 01 Dec 2026 19:49:29 GMT"), at);
        clock.note(&head("Tue, 01 Dec 2026 19:40:00 GMT"), at + SECOND);
        let theirs = SystemTime::UNIX_EPOCH + Duration::from_secs(DATE_2026 - 569) + SECOND;
        assert_eq!(clock.heard(at + SECOND), Some(theirs));
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
