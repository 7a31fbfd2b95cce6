//! What a pod that dials without end has said so far, by whose clock. Pure.
//!
//! A dialler counts time from the start of its process; its node's clock and ours may differ by
//! more than is measured. So its start is found by our clock: each time it tells how far it is, it
//! cannot have begun later than that long ago.

use std::time::{Duration, Instant};

use super::evidence::Sighting;

/// What it has said so far.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// All of it.
    pub sighting: Sighting,
    /// When its process began, by our clock: that, or earlier by what its fastest line took.
    began: Option<Instant>,
}

impl Heard {
    /// Of a pod that calls itself so and has said nothing yet.
    pub fn of_pod(name: &str) -> Self {
        Self {
            sighting: Sighting::of_pod(name),
            began: None,
        }
    }

    /// Takes in one line of its log, read at `now`; `true` once it has said all.
    pub fn take_in(&mut self, line: &str, now: Instant) -> bool {
        let before = self.sighting.started_us;
        let all = self.sighting.take_in(line);
        if before.is_some() && before != self.sighting.started_us {
            // A container that was started again counts anew.
            self.began = None;
            self.sighting.dialled.clear();
        }
        let latest = self.last_attempt();
        let began = latest.and_then(|latest| now.checked_sub(latest));
        self.began = match (self.began, began) {
            (Some(known), Some(began)) => Some(known.min(began)),
            (known, began) => known.or(began),
        };
        all
    }

    /// For how long after `asked` it has dialled on, in seconds; `None` if it has told of no dial.
    pub fn dialled_on_seconds(&self, asked: Instant) -> Option<f64> {
        let last = self.began?.checked_add(self.last_attempt()?)?;
        Some(last.saturating_duration_since(asked).as_secs_f64())
    }

    /// `asked` in Unix microseconds by the clock of its node, which receivers there tell time by.
    pub fn by_its_node(&self, asked: Instant) -> Option<i64> {
        let since = asked.saturating_duration_since(self.began?);
        let since = i64::try_from(since.as_micros()).ok()?;
        Some(
            self.sighting
                .started_us?
                .cast_signed()
                .saturating_add(since),
        )
    }

    fn last_attempt(&self) -> Option<Duration> {
        let tallies = self.sighting.dialled.iter();
        let latest = tallies.filter_map(|tally| tally.last_attempt_us).max();
        latest.map(Duration::from_micros)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn started(at_us: u64) -> String {
        format!(r#"{{"started_us":{at_us},"name":"a"}}"#)
    }

    fn tally(last_us: u64) -> String {
        format!(
            r#"{{"target":"t","attempts":9,"answers":0,"refusals":0,"timeouts":9,"unreachable":0,"first_attempt_us":0,"last_attempt_us":{last_us},"first_answer_us":null,"last_answer_us":null,"last_error":null,"so_far":true}}"#
        )
    }

    /// A process that began at `start` by our clock, and an hour later by its node's.
    fn heard(start: Instant, told: &[(Duration, Duration)]) -> Heard {
        let mut heard = Heard::of_pod("a");
        heard.take_in(&started(3_600_000_000), start + SECOND * 2);
        for (dialled, delay) in told {
            let line = tally(u64::try_from(dialled.as_micros()).unwrap());
            heard.take_in(&line, start + *dialled + *delay);
        }
        heard
    }

    #[test]
    fn how_long_it_dialled_on_is_told_by_one_clock_however_late_its_lines_come() {
        let start = Instant::now();
        let told = [
            (SECOND, SECOND * 3),
            (SECOND * 2, Duration::ZERO),
            (SECOND * 20, SECOND * 5),
        ];
        let heard = heard(start, &told);
        assert_eq!(heard.dialled_on_seconds(start + SECOND * 4), Some(16.0));
        assert_eq!(heard.by_its_node(start + SECOND * 4), Some(3_604_000_000));
    }

    #[test]
    fn a_process_that_ended_at_once_dialled_on_for_no_time_though_its_pod_lives() {
        let start = Instant::now();
        let heard = heard(
            start,
            &[(SECOND, Duration::ZERO), (SECOND * 4, Duration::ZERO)],
        );
        assert_eq!(heard.dialled_on_seconds(start + SECOND * 4), Some(0.0));
        assert_eq!(Heard::of_pod("a").dialled_on_seconds(start), None);
    }

    #[test]
    fn a_container_that_is_started_again_counts_anew() {
        let start = Instant::now();
        let mut heard = heard(start, &[(SECOND * 9, Duration::ZERO)]);
        heard.take_in(&started(3_700_000_000), start + SECOND * 100);
        heard.take_in(&tally(1_000_000), start + SECOND * 101);
        assert_eq!(heard.dialled_on_seconds(start + SECOND * 99), Some(2.0));
    }
}
