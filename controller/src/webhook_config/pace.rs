//! How often something that is changed back again and again is put right. Pure.

use std::time::Duration;

use tokio::time::Instant;

/// How long a heal counts.
const MEMORY: Duration = Duration::from_mins(10);
/// How many heals within [`MEMORY`] are made at once; after that there is a rest before each.
pub(crate) const AT_ONCE: usize = 3;

/// What may be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Put it right.
    Heal,
    /// Somebody changes it back: leave it for so long.
    Rest(Duration),
}

/// Bounds a quarrel about one object: nobody wins it, and each round of it costs everybody's watches.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    healed: Vec<Instant>,
    rest: Duration,
}

impl Pace {
    /// A pace with so long a rest before each further heal.
    pub(crate) fn new(rest: Duration) -> Self {
        Self {
            healed: Vec::new(),
            rest,
        }
    }

    /// Whether it is time.
    pub(crate) fn turn(&mut self, now: Instant) -> Turn {
        let calm = self.is_calm(now);
        let Some(last) = self.healed.last().filter(|_| !calm) else {
            return Turn::Heal;
        };
        let left = self
            .rest
            .saturating_sub(now.saturating_duration_since(*last));
        if left.is_zero() {
            Turn::Heal
        } else {
            Turn::Rest(left)
        }
    }

    /// Whether nobody quarrels.
    pub(crate) fn is_calm(&mut self, now: Instant) -> bool {
        self.healed
            .retain(|healed| now.saturating_duration_since(*healed) < MEMORY);
        self.healed.len() < AT_ONCE
    }

    /// Takes note of a heal.
    pub(crate) fn healed(&mut self, now: Instant) {
        self.healed.push(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    #[test]
    fn three_heals_are_made_at_once_and_the_next_after_a_rest() {
        let start = Instant::now();
        let mut pace = Pace::new(5 * MINUTE);
        for _ in 0..AT_ONCE {
            assert_eq!(pace.turn(start), Turn::Heal);
            pace.healed(start);
        }
        assert_eq!(pace.turn(start + MINUTE), Turn::Rest(4 * MINUTE));
        assert_eq!(pace.turn(start + 5 * MINUTE), Turn::Heal);
        pace.healed(start + 5 * MINUTE);
        assert_eq!(pace.turn(start + 6 * MINUTE), Turn::Rest(4 * MINUTE));
    }

    #[test]
    fn a_quarrel_that_is_over_is_forgotten() {
        let start = Instant::now();
        let mut pace = Pace::new(5 * MINUTE);
        for _ in 0..AT_ONCE {
            pace.healed(start);
        }
        assert_eq!(pace.turn(start + MEMORY), Turn::Heal);
        pace.healed(start + MEMORY);
        assert_eq!(pace.turn(start + MEMORY), Turn::Heal);
    }
}
