//! Durations and what is told of them. Pure.

use std::time::Duration;

/// Many measured durations, in order of length.
#[derive(Clone, Debug, Default)]
pub struct Latencies(Vec<Duration>);

impl FromIterator<Duration> for Latencies {
    fn from_iter<I: IntoIterator<Item = Duration>>(durations: I) -> Self {
        let mut all: Vec<Duration> = durations.into_iter().collect();
        all.sort_unstable();
        Self(all)
    }
}

impl Latencies {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Those of both.
    #[must_use]
    pub fn and(self, more: Self) -> Self {
        self.0.into_iter().chain(more.0).collect()
    }

    /// The shortest duration that at least `percent` of 100 do not exceed; nothing if there are none.
    pub fn percentile(&self, percent: usize) -> Option<Duration> {
        let rank = (self.0.len() * percent).div_ceil(100);
        self.0.get(rank.saturating_sub(1)).copied()
    }

    /// The same in milliseconds.
    pub fn millis(&self, percent: usize) -> Option<f64> {
        let latency = self.percentile(percent)?;
        Some(latency.as_secs_f64() * 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_what_was_measured() {
        let all: Latencies = (1..=200).rev().map(Duration::from_millis).collect();
        assert_eq!(all.percentile(50), Some(Duration::from_millis(100)));
        assert_eq!(all.percentile(99), Some(Duration::from_millis(198)));
        assert_eq!(all.percentile(100), Some(Duration::from_millis(200)));
        assert_eq!(all.len(), 200);
    }

    #[test]
    fn what_was_measured_in_two_rounds_is_told_as_one() {
        let of = |millis: [u64; 2]| Latencies::from_iter(millis.map(Duration::from_millis));
        let all = of([1, 9]).and(of([3, 5]));
        assert_eq!(all.percentile(50), Some(Duration::from_millis(3)));
        assert_eq!(all.len(), 4);
    }

    #[test]
    fn nothing_measured_has_no_percentile() {
        assert_eq!(Latencies::default().percentile(50), None);
    }
}
