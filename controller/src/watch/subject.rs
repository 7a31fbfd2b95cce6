//! What something that changed concerns. Pure.

use std::fmt;

use crate::key::Key;

/// What is looked at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The baseline policy of a namespace (O-037).
    Baseline(String),
    /// A claim.
    Claim(Key),
    /// The places of an `AgentRuntime`'s claims: one was left, or a limit was edited (C-014).
    Places(Key),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Baseline(namespace) => write!(f, "the baseline policy of {namespace}"),
            Self::Claim(claim) => write!(f, "claim {claim}"),
            Self::Places(runtime) => write!(f, "the places of AgentRuntime {runtime}"),
        }
    }
}
