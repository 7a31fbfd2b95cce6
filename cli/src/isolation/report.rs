//! The report: what the terminal, the JSON file and the picture are made from. Pure.
//!
//! The JSON file is this module's types as serde writes them; `docs/isolation-report.schema.json`,
//! which is generated, is their schema. A field that changes its meaning raises [`VERSION`]; a new one does not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::destination::Via;
use super::evidence::Evidence;
use super::facts::{Family, Protocol};
use super::hardening::Check;
use super::scenario::Expected;
use super::verdict::{Measured, Outcome};

/// Version of the JSON file.
pub const VERSION: u32 = 1;

/// What one run found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(title = "Report of `sandgate isolation`")]
pub struct Report {
    /// Version of this format.
    pub version: u32,
    /// When the run began (RFC 3339).
    pub began: String,
    /// How long it took.
    pub seconds: f64,
    /// Where it was measured.
    pub cluster: Cluster,
    /// What was different from the usual, such as a node without its guard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Whether everything is as it should be.
    pub passed: bool,
    /// The result in one sentence.
    pub sentence: String,
    /// How many cells came out how.
    pub counts: Counts,
    /// What was tried, in the order of the columns.
    pub scenarios: Vec<Tried>,
    /// The matrices, cell by cell.
    pub cells: Vec<Cell>,
    /// What became of sandboxes that ended.
    pub endings: Vec<Ended>,
    /// What containers see of themselves.
    pub hardening: Vec<Hardened>,
}

/// Where it was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cluster {
    /// Version of the API server.
    pub kubernetes: String,
    /// How many nodes it has.
    pub nodes: usize,
    /// Kernel of the node that was measured on.
    pub kernel: String,
    /// Its container runtime.
    pub container_runtime: String,
    /// Its operating system.
    #[serde(default)]
    pub os: String,
    /// Its processor architecture.
    pub architecture: String,
    /// How many processors it has, as the kubelet writes it.
    #[serde(default)]
    pub cpus: String,
    /// Image of the operator.
    pub operator_image: String,
    /// Image of the probe.
    pub probe_image: String,
}

/// How many cells came out how; endings and hardening checks are counted with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// As they should be.
    pub as_expected: usize,
    /// Reachable, and should not be.
    pub leaks: usize,
    /// Not reachable, and should be.
    pub blocked: usize,
    /// Nothing can be said.
    pub unmeasured: usize,
    /// Left open by Kubernetes.
    pub implementation_defined: usize,
    /// Nothing to reach here.
    pub absent: usize,
    /// Hardening that is not as it should be.
    pub weaknesses: usize,
}

/// A scenario that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tried {
    /// Its name.
    pub id: String,
    /// Short, above a column.
    pub title: String,
    /// One sentence.
    pub about: String,
    /// What kept it from being carried out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// One cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cell {
    /// Name of the scenario.
    pub scenario: String,
    /// Who dials.
    pub from: String,
    /// Label of the destination; the same in all scenarios.
    pub destination: String,
    /// What it is.
    pub to: String,
    /// By which kind of address.
    pub via: Via,
    /// How.
    pub protocol: Protocol,
    /// Of which family.
    pub family: Family,
    /// What was dialled, as the probe was told; absent where there is nothing to dial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// What it should be.
    pub expected: Expected,
    /// What it is.
    pub measured: Measured,
    /// How that compares.
    pub outcome: Outcome,
    /// Why nothing can be said, or why Kubernetes leaves it open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What was seen.
    pub evidence: Evidence,
}

/// What became of a sandbox that ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ended {
    /// Name of the scenario.
    pub scenario: String,
    /// How it compares; a deleted namespace is published, never judged.
    pub outcome: Outcome,
    /// Why nothing can be said, or why it is not judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How long the workload lived on after its end began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lived_on_seconds: Option<f64>,
    /// How long the workload dialled on after its end began, as far as it could be heard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialled_on_seconds: Option<f64>,
    /// How long the deleted policy was away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub healed_after_seconds: Option<f64>,
    /// Longest silence at the Service that the class opens, while its policy was away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_silent_seconds: Option<f64>,
    /// How often something reached the Service that the class opens: the workload was dialling.
    pub allowed_arrivals: u64,
    /// How often something arrived where nothing may.
    pub forbidden_arrivals: u64,
    /// From the first of those to the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_seconds: Option<f64>,
    /// When the first of those arrived, counted from the request that ended the sandbox; negative for one
    /// that arrived before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_forbidden_seconds: Option<f64>,
    /// How many of those arrived before that request: the sandbox was not shut in from its start.
    pub forbidden_before_end: u64,
    /// The destinations that it reached and should not have.
    pub reached: Vec<String>,
}

/// What one container sees of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hardened {
    /// Name of the scenario whose sandbox it is.
    pub scenario: String,
    /// Everything looked at; empty if the container said nothing.
    pub checks: Vec<Check>,
}

/// The schema of the JSON file.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Report)
}

impl Counts {
    /// Counts everything in a report's parts.
    pub fn of(cells: &[Cell], endings: &[Ended], hardening: &[Hardened]) -> Self {
        let mut counts = Self::default();
        let outcomes = cells.iter().map(|cell| cell.outcome);
        for outcome in outcomes.chain(endings.iter().map(|ended| ended.outcome)) {
            counts.add(outcome);
        }
        for hardened in hardening {
            if hardened.checks.is_empty() {
                counts.unmeasured += 1;
            }
            for check in &hardened.checks {
                if check.holds {
                    counts.as_expected += 1;
                } else {
                    counts.weaknesses += 1;
                }
            }
        }
        counts
    }

    fn add(&mut self, outcome: Outcome) {
        *match outcome {
            Outcome::AsExpected => &mut self.as_expected,
            Outcome::Leak => &mut self.leaks,
            Outcome::Blocked => &mut self.blocked,
            Outcome::Unmeasured => &mut self.unmeasured,
            Outcome::ImplementationDefined => &mut self.implementation_defined,
            Outcome::Absent => &mut self.absent,
        } += 1;
    }

    /// Whether a run with these passes. A run that measured nothing does not.
    pub fn pass(&self, allow_unmeasured: bool) -> bool {
        let wrong = self.leaks + self.blocked + self.weaknesses;
        wrong == 0 && (allow_unmeasured || self.unmeasured == 0) && self.as_expected > 0
    }

    /// The result in one sentence.
    pub fn sentence(&self, allow_unmeasured: bool) -> String {
        let parts: Vec<String> = [
            (self.leaks, "reachable that must not be"),
            (self.blocked, "not reachable that must be"),
            (self.weaknesses, "not hardened as they should be"),
            (self.unmeasured, "not measured"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
        let measured = self.as_expected;
        match (self.pass(allow_unmeasured), parts.is_empty()) {
            (true, true) => format!("All {measured} measurements are as they should be."),
            (true, false) => format!(
                "All {measured} measurements are as they should be, {}.",
                parts.join(", ")
            ),
            (false, true) => "Nothing was measured.".to_owned(),
            (false, false) => format!(
                "Not isolated as it should be: {}; {measured} as they should be.",
                parts.join(", ")
            ),
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
