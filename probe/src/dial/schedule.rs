//! When a target is dialled next. Pure.

use std::time::Duration;

/// A fresh sandbox is open, if at all, for its first moments: these are looked at closely.
const FIRST: Duration = Duration::from_millis(500);
const EVERY_AT_FIRST: Duration = Duration::from_millis(2);
const EVERY_LATER: Duration = Duration::from_millis(25);

/// When one target is due; times count from the start of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    due: Duration,
    end: Option<Duration>,
}

impl Schedule {
    /// Due at once, and again and again until `end`, if there is one.
    pub fn until(end: Option<Duration>) -> Self {
        Self {
            due: Duration::ZERO,
            end,
        }
    }

    /// The next time it is due, if there is one.
    pub fn due(&self) -> Option<Duration> {
        match self.end {
            Some(end) if self.due >= end => None,
            _ => Some(self.due),
        }
    }

    /// It was dialled at `now`, late or not: what was missed is not made up for.
    pub fn dialled(&mut self, now: Duration) {
        let step = if self.due < FIRST {
            EVERY_AT_FIRST
        } else {
            EVERY_LATER
        };
        let next = self.due.saturating_add(step);
        self.due = if next > now {
            next
        } else {
            now.saturating_add(step)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    /// How often a target is dialled by a loop that is always in time.
    fn times(end: Duration) -> Vec<Duration> {
        let mut schedule = Schedule::until(Some(end));
        let mut times = Vec::new();
        while let Some(due) = schedule.due() {
            times.push(due);
            schedule.dialled(due);
        }
        times
    }

    #[test]
    fn the_first_half_second_is_dense_and_the_rest_is_not() {
        let times = times(ms(5_000));
        assert_eq!(times[..3], [ms(0), ms(2), ms(4)]);
        assert_eq!(times[249..252], [ms(498), ms(500), ms(525)]);
        assert_eq!(times.len(), 250 + 180);
        assert_eq!(times.last(), Some(&ms(4_975)));
    }

    #[test]
    fn the_pace_is_kept_though_each_turn_is_a_little_late() {
        let mut schedule = Schedule::until(None);
        for turn in 0..10 {
            let due = schedule.due().unwrap();
            assert_eq!(due, ms(turn * 2));
            schedule.dialled(due + Duration::from_micros(900));
        }
    }

    #[test]
    fn what_was_missed_is_not_made_up_for() {
        let mut schedule = Schedule::until(None);
        schedule.dialled(ms(100));
        assert_eq!(schedule.due(), Some(ms(102)));
    }

    #[test]
    fn without_an_end_it_is_always_due_again() {
        let mut schedule = Schedule::until(None);
        schedule.dialled(ms(1_000_000));
        assert!(schedule.due().is_some());
    }
}
