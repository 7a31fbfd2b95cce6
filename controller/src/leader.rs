//! Who leads: one Lease in the operator's own namespace (C-001). [`decide`], [`Record`] and [`Leaderless`] are pure,
//! [`Elector`] and [`Fence`] do the I/O.
//!
//! Another holder's term is over when its record has not changed for its duration **by our own
//! monotonic clock**; nobody's wall clock is trusted. Our own term is over at a local deadline that is
//! shorter than what the others wait, whatever the API server says or fails to say. Every write of the
//! controller is safe with two leaders all the same: the Lease saves work, it does not fence. Where something
//! is counted, an admission under a limit say, [`Fence`] asks once more.
//!
//! [`Leaderless`] keeps in the Lease when nobody led.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;

mod elector;
mod fence;
mod leaderless;
mod lease;
mod occasions;

pub use elector::{Elector, Leadership};
pub use fence::Fence;
pub use leaderless::Leaderless;
pub use lease::LeaderError;

/// What a Lease says about its holder.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Who holds it; `None` when released.
    pub holder: Option<String>,
    /// For how long after the last change others must wait.
    pub duration: Duration,
    /// When this holder took it, by the holder's clock.
    pub acquired: Option<Timestamp>,
    /// When it was last renewed, by the holder's clock.
    pub renewed: Option<Timestamp>,
    /// How often it changed hands.
    pub transitions: i32,
}

/// What to do about the Lease now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// There is none: make it.
    Create,
    /// We hold it: renew.
    Renew,
    /// It is free, or its holder was silent too long: take it.
    Take,
    /// Somebody else holds it.
    Wait,
}

/// Decides what to do. `unchanged_for`: how long we have seen this very record, by our own clock.
pub fn decide(me: &str, standing: Option<&Record>, unchanged_for: Duration) -> Step {
    let Some(record) = standing else {
        return Step::Create;
    };
    match record.holder.as_deref() {
        None => Step::Take,
        Some(holder) if holder == me => Step::Renew,
        Some(_) if unchanged_for >= record.duration => Step::Take,
        Some(_) => Step::Wait,
    }
}

impl Record {
    /// Reads a Lease. A duration that is missing or not positive is read as `fallback`.
    pub fn read(spec: Option<&LeaseSpec>, fallback: Duration) -> Self {
        let spec = spec.cloned().unwrap_or_default();
        let seconds = spec
            .lease_duration_seconds
            .and_then(|seconds| u64::try_from(seconds).ok());
        Self {
            holder: spec.holder_identity.filter(|holder| !holder.is_empty()),
            duration: seconds
                .filter(|seconds| *seconds > 0)
                .map_or(fallback, Duration::from_secs),
            acquired: spec.acquire_time.map(|time| time.0),
            renewed: spec.renew_time.map(|time| time.0),
            transitions: spec.lease_transitions.unwrap_or(0),
        }
    }

    /// The record after `me` has created, renewed or taken the Lease.
    pub fn held_by(me: &str, standing: Option<&Self>, duration: Duration, now: Timestamp) -> Self {
        let renewing = standing.filter(|record| record.holder.as_deref() == Some(me));
        Self {
            holder: Some(me.to_owned()),
            duration,
            acquired: renewing.and_then(|record| record.acquired).or(Some(now)),
            renewed: Some(now),
            transitions: match (standing, renewing) {
                (None, _) => 0,
                (Some(_), Some(record)) => record.transitions,
                (Some(record), None) => record.transitions.saturating_add(1),
            },
        }
    }

    /// The record after its holder gave it up.
    #[must_use]
    pub fn released(&self, now: Timestamp) -> Self {
        Self {
            holder: None,
            renewed: Some(now),
            acquired: None,
            ..self.clone()
        }
    }

    /// As a Lease is written.
    pub fn to_spec(&self) -> LeaseSpec {
        LeaseSpec {
            holder_identity: self.holder.clone(),
            lease_duration_seconds: Some(
                i32::try_from(self.duration.as_secs()).unwrap_or(i32::MAX),
            ),
            acquire_time: self.acquired.map(MicroTime),
            renew_time: self.renewed.map(MicroTime),
            lease_transitions: Some(self.transitions),
            ..LeaseSpec::default()
        }
    }
}

/// The three intervals of an election, all from the Lease's duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long others wait after our last renewal.
    pub duration: Duration,
    /// How long after the start of our last successful renewal we still act.
    pub deadline: Duration,
    /// How often the Lease is looked at.
    pub period: Duration,
}

impl Timing {
    /// Of a Lease that lasts `duration`, which is at least a second.
    pub fn of(duration: Duration) -> Self {
        let duration = duration.max(Duration::from_secs(1));
        Self {
            duration,
            deadline: duration * 2 / 3,
            period: duration / 6,
        }
    }
}

#[cfg(test)]
mod tests;
