//! When nobody led: time in which a claim could not get on, through no fault of its own. Pure.
//!
//! All times are the API server's: when it stored the last renewal, and what time its answers tell. The
//! holder's own clock, which `renewTime` is of, counts for nothing. What is not known counts as time
//! without a leader, so that nothing ends too early.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use sandgate_shared::names;

/// How long an interval is kept after its end.
const KEPT: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Most intervals kept, so that the annotation stays below 4 KiB; more of them are joined.
const MOST: usize = 64;

/// The intervals without a leader: sorted, apart from each other, of the last week.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leaderless(Vec<(Timestamp, Timestamp)>);

impl Leaderless {
    /// What a new leader knows at `now`, from the Lease that stood: what its annotation says, and the time
    /// since it was written last. A Lease that is not there or cannot be read says nothing.
    pub fn found(lease: Option<&ObjectMeta>, now: Timestamp) -> Self {
        let known = lease.and_then(|lease| {
            let annotations = lease.annotations.as_ref()?;
            let told = Self::read(annotations.get(names::ANNOTATION_LEADERLESS)?)?;
            Some((told, written(lease)?))
        });
        let (told, since) = known.unwrap_or((Self::default(), Timestamp::UNIX_EPOCH));
        told.with(since, now)
    }

    /// Reads the annotation; `None` if it is not one of ours.
    pub fn read(text: &str) -> Option<Self> {
        let intervals: Vec<(Timestamp, Timestamp)> = serde_json::from_str(text).ok()?;
        Some(Self(intervals).tidy())
    }

    /// As the annotation is written.
    pub fn text(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }

    /// The same with one more interval, at whose end it is `until`.
    #[must_use]
    pub fn with(mut self, since: Timestamp, until: Timestamp) -> Self {
        self.0.push((since, until));
        self.0.retain(|(_, to)| until.duration_since(*to) < KEPT);
        self.tidy()
    }

    /// How much of the time from `since` until `now` nobody led.
    pub fn within(&self, since: Timestamp, now: Timestamp) -> SignedDuration {
        let parts = self.0.iter().map(|(from, to)| {
            let part = (*to).min(now).duration_since((*from).max(since));
            part.max(SignedDuration::ZERO)
        });
        parts.fold(SignedDuration::ZERO, SignedDuration::saturating_add)
    }

    fn tidy(mut self) -> Self {
        self.0.retain(|(from, to)| from < to);
        self.0.sort_unstable();
        let mut apart: Vec<(Timestamp, Timestamp)> = Vec::new();
        for (from, to) in self.0 {
            match apart.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => apart.push((from, to)),
            }
        }
        while apart.len() > MOST {
            join_closest(&mut apart);
        }
        Self(apart)
    }
}

/// Joins the two intervals with the least time between them, which then counts as without a leader, too.
fn join_closest(apart: &mut Vec<(Timestamp, Timestamp)>) {
    let between = apart.iter().zip(apart.iter().skip(1));
    let between = between.map(|(before, after)| after.0.duration_since(before.1));
    let closest = between.enumerate().min_by_key(|(_, time)| *time);
    if let Some((at, _)) = closest {
        let (_, until) = apart.remove(at + 1);
        if let Some(joined) = apart.get_mut(at) {
            joined.1 = until;
        }
    }
}

/// When the API server stored what a controller wrote of the Lease last.
fn written(lease: &ObjectMeta) -> Option<Timestamp> {
    let fields = lease.managed_fields.iter().flatten();
    let ours = fields.filter(|entry| entry.manager.as_deref() == Some(names::MANAGER_CONTROLLER));
    ours.filter_map(|entry| entry.time.as_ref())
        .map(|time| time.0)
        .max()
}

#[cfg(test)]
mod tests;
