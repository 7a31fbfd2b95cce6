//! What became of a sandbox that ended while its workload dialled on. Pure.

use super::destination::Destination;
use super::evidence::Sighting;
use super::ledger::{Ledger, Span};
use super::report::Ended;
use super::scenario::{Ending, Scenario};
use super::verdict::{Outcome, Witness};

/// What was watched of an ending. Seconds are by the clock of whoever watched.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Watched {
    /// When the request that ended it was made, in Unix microseconds by the clock of the workload's
    /// node.
    pub asked_us: Option<i64>,
    /// From the request that ended it until its pod was gone.
    pub lived_on_seconds: Option<f64>,
    /// From the request until the last dial that its workload told of.
    pub dialled_on_seconds: Option<f64>,
    /// From the deletion of the policy until it stood again.
    pub healed_after_seconds: Option<f64>,
}

/// A pod has half a minute from SIGTERM on. A workload that dialled on for less than this went at
/// SIGTERM or was killed; the silence after it tells nothing.
const LEAST_DIALLED_ON: f64 = 15.0;
/// How long a workload has to dial on once its policy is back.
const LEAST_AFTER_HEALING: f64 = 1.0;

/// Judges one.
pub fn judge(
    scenario: &Scenario,
    ending: Ending,
    sighting: &Sighting,
    watched: Watched,
    destinations: &[Destination],
    ledger: &Ledger,
    witness: impl Fn(&Destination) -> Witness,
) -> Ended {
    let dialled = destinations
        .iter()
        .filter(|row| scenario.dials_for_ever(row));
    let (allowed, forbidden): (Vec<_>, Vec<_>) =
        dialled.partition(|row| row.opened_by == scenario.opening());
    let arrivals = |rows: &[&Destination]| -> Vec<i64> {
        let rows = rows.iter();
        rows.flat_map(|row| ledger.times(&sighting.name, &row.label))
            .collect()
    };
    // What it says itself, where it can still be heard, counts as well.
    let answers = |row: &Destination| sighting.of(&row.label).map_or(0, |tally| tally.answers);
    let trespasses = arrivals(&forbidden);
    let (allowed, arrived) = (Span::of(arrivals(&allowed)), Span::of(trespasses.clone()));
    let early = |asked| trespasses.iter().filter(|at| **at < asked).count() as u64;
    let answered: u64 = forbidden.iter().map(|row| answers(row)).sum();
    let reached = forbidden
        .iter()
        .filter(|row| ledger.heard(&sighting.name, &row.label) || answers(row) > 0)
        .map(|row| row.label.clone());
    let mut ended = Ended {
        scenario: scenario.id.to_owned(),
        outcome: Outcome::AsExpected,
        reason: None,
        lived_on_seconds: watched.lived_on_seconds,
        dialled_on_seconds: watched.dialled_on_seconds,
        healed_after_seconds: watched.healed_after_seconds,
        allowed_silent_seconds: allowed
            .filter(|_| ending == Ending::Policy)
            .map(|span| seconds(span.gap)),
        allowed_arrivals: allowed.map_or(0, |span| span.count),
        forbidden_arrivals: arrived.map_or(0, |span| span.count).max(answered),
        window_seconds: arrived.map(|span| seconds(span.last - span.first)),
        first_forbidden_seconds: arrived
            .zip(watched.asked_us)
            .map(|(span, asked)| seconds(span.first - asked)),
        forbidden_before_end: watched.asked_us.map_or(0, early),
        reached: reached.collect(),
    };
    let unwitnessed = forbidden.iter().find_map(|row| witness(row).err());
    let beyond_us = beyond_us(ending);
    let got_through = ended.forbidden_arrivals > 0;
    (ended.outcome, ended.reason) = if let (true, Some(why)) = (got_through, beyond_us) {
        (Outcome::ImplementationDefined, Some(why.to_owned()))
    } else if got_through {
        (Outcome::Leak, None)
    } else if allowed.is_none() {
        let why = "the workload reached nothing at all, so its silence tells nothing";
        (Outcome::Unmeasured, Some(why.to_owned()))
    } else if let Some(why) = unwitnessed {
        (Outcome::Unmeasured, Some(why))
    } else if let Some(why) = beyond_us {
        (Outcome::ImplementationDefined, Some(why.to_owned()))
    } else {
        dialled_on(ending, watched)
    };
    ended
}

/// Why nobody but the cluster can keep a workload in that ends so: measured and published, not judged.
fn beyond_us(ending: Ending) -> Option<&'static str> {
    match ending {
        Ending::Namespace => Some("with the namespace go all policies in it"),
        Ending::Force => Some("the network plugin forgets the pod before its processes end"),
        _ => None,
    }
}

/// Whether the workload is known to have dialled on, so that silence tells something.
fn dialled_on(ending: Ending, watched: Watched) -> (Outcome, Option<String>) {
    let unmeasured = |why: &str| (Outcome::Unmeasured, Some(why.to_owned()));
    let least = match (ending, watched) {
        (
            Ending::Policy,
            Watched {
                healed_after_seconds: None,
                ..
            },
        ) => {
            return unmeasured("the policy did not come back while it was watched");
        }
        (
            Ending::Policy,
            Watched {
                healed_after_seconds: Some(healed),
                ..
            },
        ) => healed + LEAST_AFTER_HEALING,
        (
            _,
            Watched {
                lived_on_seconds: None,
                ..
            },
        ) => {
            return unmeasured("the pod's end was not seen");
        }
        _ => LEAST_DIALLED_ON,
    };
    match watched.dialled_on_seconds {
        Some(seconds) if seconds >= least => (Outcome::AsExpected, None),
        Some(seconds) => unmeasured(&format!(
            "the workload told of no dial later than {seconds:.1} s after its end began, though it ignores SIGTERM; {least:.1} s are needed"
        )),
        None => unmeasured("the workload told of no dial at all"),
    }
}

/// One of a scenario that could not be carried out.
pub fn unmeasured(scenario: &Scenario, trouble: &str) -> Ended {
    Ended {
        scenario: scenario.id.to_owned(),
        outcome: Outcome::Unmeasured,
        reason: Some(trouble.to_owned()),
        lived_on_seconds: None,
        dialled_on_seconds: None,
        healed_after_seconds: None,
        allowed_silent_seconds: None,
        allowed_arrivals: 0,
        forbidden_arrivals: 0,
        window_seconds: None,
        first_forbidden_seconds: None,
        forbidden_before_end: 0,
        reached: Vec::new(),
    }
}

fn seconds(microseconds: i64) -> f64 {
    super::evidence::milliseconds(microseconds) / 1000.0
}

#[cfg(test)]
mod tests;
