//! The sum of many tries to reach one target. Pure.

use serde::{Deserialize, Serialize};

use crate::outcome::Outcome;

/// What became of one target. Times are microseconds since the start of the process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Its label.
    pub target: String,
    /// Tries that were made and ended: the sum of the next four.
    pub attempts: u64,
    /// Tries the target answered.
    pub answers: u64,
    /// Tries something refused in the target's name.
    pub refusals: u64,
    /// Tries nothing was heard of in time.
    pub timeouts: u64,
    /// Tries somebody on the way refused, our own kernel included.
    pub unreachable: u64,
    /// When the first try was made.
    pub first_attempt_us: Option<u64>,
    /// When the last try that has ended was made.
    #[serde(default)]
    pub last_attempt_us: Option<u64>,
    /// When the first answer came.
    pub first_answer_us: Option<u64>,
    /// When the last answer came.
    pub last_answer_us: Option<u64>,
    /// Why the last try that had no answer had none. With no attempts: why none could be made.
    pub last_error: Option<String>,
    /// More tries will follow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub so_far: bool,
}

impl Tally {
    /// Of a target nobody has tried yet.
    pub fn of(target: &str) -> Self {
        Self {
            target: target.to_owned(),
            ..Self::default()
        }
    }

    /// Adds a try that began and ended at these times.
    pub fn add(&mut self, began_us: u64, ended_us: u64, outcome: Outcome) {
        let (count, error) = match outcome {
            Outcome::NotTried(error) => {
                self.last_error = Some(error);
                return;
            }
            Outcome::Answered => {
                let first = self.first_answer_us.unwrap_or(ended_us);
                self.first_answer_us = Some(first.min(ended_us));
                self.last_answer_us = self.last_answer_us.max(Some(ended_us));
                (&mut self.answers, None)
            }
            Outcome::Refused(error) => (&mut self.refusals, Some(error)),
            Outcome::TimedOut(error) => (&mut self.timeouts, Some(error)),
            Outcome::Unreachable(error) => (&mut self.unreachable, Some(error)),
        };
        *count = count.saturating_add(1);
        self.attempts = self.attempts.saturating_add(1);
        if error.is_some() {
            self.last_error = error;
        }
        // Tries do not end in the order in which they begin.
        let first = self.first_attempt_us.unwrap_or(began_us);
        self.first_attempt_us = Some(first.min(began_us));
        self.last_attempt_us = self.last_attempt_us.max(Some(began_us));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn failed(make: fn(String) -> Outcome) -> Outcome {
        make("no".to_owned())
    }

    #[test]
    fn tries_are_counted_by_how_they_ended_and_timed_by_when() {
        let mut tally = Tally::of("peer");
        tally.add(2_000, 402_000, failed(Outcome::TimedOut));
        // Began first, ended last.
        tally.add(10, 500_000, Outcome::Answered);
        tally.add(600_000, 600_100, Outcome::Answered);
        tally.add(700_000, 700_100, failed(Outcome::Refused));
        tally.add(800_000, 800_100, failed(Outcome::Unreachable));
        let sum = Tally {
            target: "peer".to_owned(),
            attempts: 5,
            answers: 2,
            refusals: 1,
            timeouts: 1,
            unreachable: 1,
            first_attempt_us: Some(10),
            last_attempt_us: Some(800_000),
            first_answer_us: Some(500_000),
            last_answer_us: Some(600_100),
            last_error: Some("no".to_owned()),
            so_far: false,
        };
        assert_eq!(tally, sum);
    }

    #[test]
    fn what_was_never_sent_is_no_attempt_but_told() {
        let mut tally = Tally::of("peer");
        tally.add(0, 0, failed(Outcome::NotTried));
        let none = Tally {
            last_error: Some("no".to_owned()),
            ..Tally::of("peer")
        };
        assert_eq!(tally, none);
    }

    #[test]
    fn the_line_has_the_agreed_fields() {
        let mut tally = Tally::of("peer");
        tally.add(7, 9, Outcome::Answered);
        let line = serde_json::to_string(&tally).unwrap();
        assert_eq!(
            line,
            r#"{"target":"peer","attempts":1,"answers":1,"refusals":0,"timeouts":0,"unreachable":0,"first_attempt_us":7,"last_attempt_us":7,"first_answer_us":9,"last_answer_us":9,"last_error":null}"#
        );
        let read: Tally = serde_json::from_str(&line).unwrap();
        assert_eq!(read, tally);
    }

    fn any_outcome() -> impl Strategy<Value = Outcome> {
        prop_oneof![
            Just(Outcome::Answered),
            Just(failed(Outcome::Refused)),
            Just(failed(Outcome::TimedOut)),
            Just(failed(Outcome::Unreachable)),
            Just(failed(Outcome::NotTried)),
        ]
    }

    proptest! {
        #[test]
        fn every_attempt_ended_in_one_way(
            tries in prop::collection::vec((0..1_000_u64, 0..1_000_u64, any_outcome()), 0..50)
        ) {
            let mut tally = Tally::of("peer");
            for (began, took, outcome) in tries {
                tally.add(began, began + took, outcome);
            }
            let ends = tally.answers + tally.refusals + tally.timeouts + tally.unreachable;
            prop_assert_eq!(tally.attempts, ends);
            prop_assert_eq!(tally.first_attempt_us.is_some(), tally.attempts > 0);
            prop_assert!(tally.first_attempt_us <= tally.last_attempt_us);
            prop_assert_eq!(tally.first_answer_us.is_some(), tally.answers > 0);
            prop_assert!(tally.first_answer_us <= tally.last_answer_us);
        }
    }
}
