//! A histogram as a scraper reads it, and the quantiles that it tells. Pure.

/// How many observations were at most so large, for each bound in ascending order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram(Vec<(f64, f64)>);

impl Histogram {
    /// Reads the buckets called `name`, which has no labels but their bounds.
    pub fn read(text: &str, name: &str) -> Self {
        let buckets = text.lines().filter_map(|line| {
            let rest = line.strip_prefix(name)?.strip_prefix("{le=\"")?;
            let (bound, count) = rest.split_once("\"} ")?;
            // Rust reads `+Inf` as the format has it.
            Some((bound.parse().ok()?, count.parse().ok()?))
        });
        Self(buckets.collect())
    }

    /// What was observed since `before`, an earlier state of the same.
    pub fn since(&self, before: &Self) -> Self {
        let earlier = |bound: f64| {
            let known = before.0.iter().find(|(known, _)| *known >= bound);
            known.map_or(0.0, |(_, count)| *count)
        };
        let buckets = self.0.iter();
        Self(
            buckets
                .map(|(bound, count)| (*bound, count - earlier(*bound)))
                .collect(),
        )
    }

    /// How many observations there are.
    pub fn count(&self) -> f64 {
        self.0.last().map_or(0.0, |(_, count)| *count)
    }

    /// The value that `part` of the observations do not exceed, as Prometheus tells it: between two bounds by
    /// a straight line. Nothing without observations, or where it lies above the last finite bound.
    pub fn quantile(&self, part: f64) -> Option<f64> {
        let rank = self.count() * part;
        let at = self.0.iter().position(|(_, count)| *count >= rank)?;
        let (bound, count) = self.0.get(at)?;
        let before = at.checked_sub(1).and_then(|before| self.0.get(before));
        let (floor, below) = before.copied().unwrap_or_default();
        let within = count - below;
        (bound.is_finite() && within > 0.0)
            .then(|| floor + (bound - floor) * (rank - below) / within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# TYPE took_seconds histogram\n\
        took_seconds_sum 9.5\n\
        took_seconds_count 10\n\
        took_seconds_bucket{le=\"1.0\"} 4\n\
        took_seconds_bucket{le=\"2.0\"} 8\n\
        took_seconds_bucket{le=\"+Inf\"} 10\n";

    fn read() -> Histogram {
        Histogram::read(TEXT, "took_seconds_bucket")
    }

    #[test]
    fn a_quantile_lies_between_the_bounds_of_its_bucket() {
        let read = read();
        assert_eq!(read.quantile(0.5), Some(1.25));
        assert_eq!(read.quantile(0.4), Some(1.0));
        assert_eq!(read.quantile(0.2), Some(0.5));
        assert_eq!(read.quantile(0.99), None);
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    #[test]
    fn what_was_observed_before_does_not_count() {
        let before = Histogram::read(
            "took_seconds_bucket{le=\"1.0\"} 4\n\
             took_seconds_bucket{le=\"2.0\"} 4\n\
             took_seconds_bucket{le=\"+Inf\"} 4\n",
            "took_seconds_bucket",
        );
        let since = read().since(&before);
        assert_eq!(since.count().to_bits(), 6.0_f64.to_bits());
        assert_eq!(since.quantile(0.5), Some(1.75));
        assert_eq!(read().since(&Histogram::default()), read());
    }
}
