//! What follows from what was seen: one cell of the matrix. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::destination::Presence;
use super::evidence::Evidence;
use super::scenario::Expected;

/// What a cell was measured to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Measured {
    /// Something got through.
    Open,
    /// Nothing got through, and the witness shows that something could have.
    Shut,
    /// Nothing can be said.
    Unmeasured,
    /// There is nothing to reach here.
    Absent,
}

/// How the measured compares to the expected.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It should be shut and something got through.
    Leak,
    /// It should be open and nothing got through.
    Blocked,
    /// Nothing can be said.
    Unmeasured,
    /// As it should be.
    AsExpected,
    /// Kubernetes leaves it open; this is how it is here.
    ImplementationDefined,
    /// There is nothing to reach here.
    Absent,
}

impl Outcome {
    /// Whether a run with such a cell fails.
    pub fn fails(self, allow_unmeasured: bool) -> bool {
        match self {
            Self::Leak | Self::Blocked => true,
            Self::Unmeasured => !allow_unmeasured,
            Self::AsExpected | Self::ImplementationDefined | Self::Absent => false,
        }
    }
}

/// What is known of the witness: that it got through, or why it did not.
pub type Witness = Result<(), String>;

/// One cell, judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What it is.
    pub measured: Measured,
    /// How that compares.
    pub outcome: Outcome,
    /// Why nothing can be said, or why Kubernetes leaves it open.
    pub reason: Option<String>,
}

impl Verdict {
    /// There is nothing to reach, for this reason.
    pub fn absent(reason: &str) -> Self {
        Self {
            measured: Measured::Absent,
            outcome: Outcome::Absent,
            reason: Some(reason.to_owned()),
        }
    }
}

/// Judges a cell. `trouble` is what kept the scenario from being carried out to its end; what got
/// through before still got through.
pub fn judge(
    expected: Expected,
    presence: Presence,
    evidence: &Evidence,
    trouble: Option<&str>,
    witness: &Witness,
) -> Verdict {
    if evidence.reached > 0 {
        return measured(expected, Measured::Open);
    }
    if let Some(trouble) = trouble {
        return unmeasured(trouble);
    }
    if evidence.pods == 0 {
        let error = evidence.last_error.as_deref();
        let error = error.unwrap_or("no pod reported on it");
        return unmeasured(&format!("it was not dialled: {error}"));
    }
    if evidence.mute > 0 {
        let (mute, all) = (evidence.mute, evidence.pods + evidence.mute);
        let error = evidence.last_error.as_deref();
        let error = error.unwrap_or("they said nothing");
        return unmeasured(&format!("{mute} of {all} pods did not dial it: {error}"));
    }
    match witness {
        Ok(()) => measured(expected, Measured::Shut),
        Err(reason) if presence == Presence::Perhaps => {
            Verdict::absent(&format!("nothing to reach here: {reason}"))
        }
        Err(reason) => unmeasured(reason),
    }
}

fn measured(expected: Expected, measured: Measured) -> Verdict {
    let outcome = match (expected, measured) {
        (Expected::ImplementationDefined, _) => Outcome::ImplementationDefined,
        (Expected::Shut, Measured::Open) => Outcome::Leak,
        (Expected::Open, Measured::Shut) => Outcome::Blocked,
        _ => Outcome::AsExpected,
    };
    Verdict {
        measured,
        outcome,
        reason: None,
    }
}

/// Whatever it should be: also what Kubernetes leaves open is to be measured.
fn unmeasured(reason: &str) -> Verdict {
    Verdict {
        measured: Measured::Unmeasured,
        outcome: Outcome::Unmeasured,
        reason: Some(reason.to_owned()),
    }
}

#[cfg(test)]
mod tests;
