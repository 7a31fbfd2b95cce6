//! What was seen of one destination by the pods of one scenario. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ledger::{Ledger, Span};
use sandgate_probe::hardening::Hardening;
use sandgate_probe::line::Line;
use sandgate_probe::tally::Tally;

/// What one pod did and saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sighting {
    /// The name it calls itself by; no two pods of a run share one.
    pub name: String,
    /// When it began, in Unix microseconds by its node's clock; `None` of a pod that was not heard.
    pub started_us: Option<u64>,
    /// How it dialled each destination.
    pub dialled: Vec<Tally>,
    /// What its container sees of itself.
    pub hardening: Option<Hardening>,
}

impl Sighting {
    /// Of a pod that calls itself so and has said nothing yet.
    pub fn of_pod(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// Takes in one line of its log; `true` once it has said all.
    pub fn take_in(&mut self, line: &str) -> bool {
        match serde_json::from_str(line) {
            Ok(Line::Started { started_us, .. }) => self.started_us = Some(started_us),
            Ok(Line::Hardening { hardening }) => self.hardening = Some(*hardening),
            Ok(Line::Tally(tally)) => {
                self.dialled.retain(|known| known.target != tally.target);
                self.dialled.push(tally);
            }
            Ok(Line::Done { .. }) => return true,
            _ => {}
        }
        false
    }

    /// How it dialled this destination.
    pub fn of(&self, label: &str) -> Option<&Tally> {
        self.dialled.iter().find(|dialled| dialled.target == label)
    }
}

/// What was seen of one destination. Times are milliseconds since the dialling process began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Evidence {
    /// How many pods dialled.
    pub pods: u32,
    /// How many more were told to dial it and are not known to have done so.
    #[serde(skip_serializing_if = "is_zero")]
    pub mute: u32,
    /// How many of them got through, by their own view or the receiver's.
    pub reached: u32,
    /// Which those are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reached_by: Vec<String>,
    /// How often was dialled, in all.
    pub attempts: u64,
    /// How often somebody answered.
    pub answers: u64,
    /// How often it was refused.
    pub refusals: u64,
    /// How often nothing came back.
    pub timeouts: u64,
    /// How often it was said to be unreachable.
    pub unreachable: u64,
    /// What a receiver of ours logged; absent where none listens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<u64>,
    /// The latest first attempt of any pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_attempt_ms: Option<f64>,
    /// The first answer or arrival.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_reached_ms: Option<f64>,
    /// The last answer or arrival.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_reached_ms: Option<f64>,
    /// The last error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

impl Evidence {
    /// Gathers what these pods and, if the destination is `logged`, its receiver saw.
    pub fn gather(sightings: &[Sighting], label: &str, logged: bool, ledger: &Ledger) -> Self {
        let mut evidence = Self {
            arrivals: logged.then_some(0),
            ..Self::default()
        };
        for sighting in sightings {
            let times = ledger.times(&sighting.name, label);
            let times: Vec<i64> = times.filter(|_| logged).collect();
            let reached = evidence.reached;
            evidence.add(sighting.of(label), sighting.started_us, &times);
            if evidence.reached > reached {
                evidence.reached_by.push(sighting.name.clone());
            }
        }
        evidence
    }

    fn add(&mut self, dialled: Option<&Tally>, started_us: Option<u64>, arrivals: &[i64]) {
        let Some(since) = started_us.map(u64::cast_signed) else {
            self.hear(arrivals);
            return;
        };
        // A probe tells of each target it was told to dial.
        let Some(dialled) = dialled else { return };
        if dialled.last_error.is_some() {
            self.last_error.clone_from(&dialled.last_error);
        }
        // One that never dialled saw nothing.
        if dialled.attempts == 0 {
            self.mute += 1;
            return;
        }
        self.pods += 1;
        self.attempts += dialled.attempts;
        self.answers += dialled.answers;
        self.refusals += dialled.refusals;
        self.timeouts += dialled.timeouts;
        self.unreachable += dialled.unreachable;
        let attempt = dialled
            .first_attempt_us
            .map(u64::cast_signed)
            .map(milliseconds);
        self.first_attempt_ms = larger(self.first_attempt_ms, attempt);
        let arrived = Span::of(arrivals.iter().map(|at| at - since));
        if let (Some(total), Some(span)) = (&mut self.arrivals, arrived) {
            *total += span.count;
        }
        if dialled.answers > 0 || arrived.is_some() {
            self.reached += 1;
        }
        // The sender's clock for what the sender saw, the receiver's only for what it alone saw: the
        // two may differ by more than what is measured.
        let heard = arrived.filter(|_| dialled.answers == 0);
        let first = dialled
            .first_answer_us
            .map(u64::cast_signed)
            .or(heard.map(|span| span.first));
        let last = dialled
            .last_answer_us
            .map(u64::cast_signed)
            .or(heard.map(|span| span.last));
        self.first_reached_ms = smaller(self.first_reached_ms, first.map(milliseconds));
        self.last_reached_ms = larger(self.last_reached_ms, last.map(milliseconds));
    }

    /// Of a pod that said nothing only arrivals count, and nobody knows when it began.
    fn hear(&mut self, arrivals: &[i64]) {
        if arrivals.is_empty() {
            self.mute += 1;
            return;
        }
        self.pods += 1;
        if let Some(total) = &mut self.arrivals {
            *total += arrivals.len() as u64;
        }
        self.reached += 1;
    }

    /// How often something got through: answers, or arrivals where more of those are known.
    pub fn times_reached(&self) -> u64 {
        self.answers.max(self.arrivals.unwrap_or_default())
    }
}

/// Microseconds in milliseconds, to a tenth.
pub fn milliseconds(microseconds: i64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a run lasts minutes, not centuries"
    )]
    let tenths = (microseconds as f64 / 100.0).round();
    tenths / 10.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn smaller(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

fn larger(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.max(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests;
