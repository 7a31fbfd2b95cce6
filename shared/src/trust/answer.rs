//! What became of a dry run that the policy has to refuse: who answered? Pure.

use std::fmt;

use serde_json::{Value, json};

use super::Expected;
use crate::names;

/// The rule that the probe's claim breaks, as its message ends.
const RULE: &str = "[claim-operator-target-path]";

/// The claim that the probe asks for, by dry run only: sound but for a `targetPath`, which nobody but
/// the operator may name.
pub fn probe_claim(namespace: &str) -> Value {
    json!({
        "apiVersion": format!("{}/{}", names::GROUP, names::VERSION),
        "kind": "SandboxClaim",
        "metadata": {"name": names::PROBE_CLAIM, "namespace": namespace},
        "spec": {
            "agentRuntimeRef": {"name": "probe"},
            "classRef": {"kind": "ClusterSandboxClass", "name": "probe"},
            "sessionID": "probe",
            "handle": "probe/default",
            "targetPath": "probe",
        },
    })
}

/// Who answered the probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Our policy, by its rule: the evidence.
    Ours,
    /// Nobody refused.
    Admitted,
    /// Another validating policy, which the API server asks in the same breath as ours and tells of
    /// only one.
    Policy(String),
    /// A mutating policy, before ours was asked.
    MutatingPolicy(String),
    /// A webhook.
    Webhook {
        /// Its name.
        name: String,
        /// When it is called.
        call: Call,
    },
    /// Something else, in its own words: the probe lacks a right, the API server is in trouble.
    Other(String),
}

/// When a webhook is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Before policies.
    Mutating,
    /// After policies.
    Validating,
    /// Nobody knows: no configuration that could be read holds a webhook of the name.
    Unknown,
}

impl Answer {
    /// Reads a refusal's `message`. A webhook's call is left [`Call::Unknown`], unless it is our own.
    ///
    /// The beginning of the text is the API server's own; what comes after a colon may be anybody's, and
    /// could pretend to be ours.
    pub fn of(message: &str, expected: &Expected) -> Self {
        let refused = format!(
            "sandboxclaims.{} \"{}\" is forbidden: ",
            names::GROUP,
            names::PROBE_CLAIM
        );
        let said = message.strip_prefix(&refused).unwrap_or(message);
        if let Some((policy, rest)) = between(said, "ValidatingAdmissionPolicy '", "' ") {
            let binding = between(rest, "with binding '", "' denied request: ");
            let ours = binding.is_some_and(|(binding, words)| {
                policy == expected.name() && binding == expected.name() && words.ends_with(RULE)
            });
            return if ours {
                Self::Ours
            } else {
                Self::Policy(policy.to_owned())
            };
        }
        if let Some((policy, _)) = between(said, "policy '", "' with binding '") {
            return Self::MutatingPolicy(policy.to_owned());
        }
        let internal = said
            .strip_prefix("Internal error occurred: ")
            .unwrap_or(said);
        let webhook = between(internal, "admission webhook \"", "\"")
            .or_else(|| between(internal, "failed calling webhook \"", "\""));
        match webhook {
            Some((name, _)) => Self::Webhook {
                name: name.to_owned(),
                call: own_call(name),
            },
            None => Self::Other(message.to_owned()),
        }
    }

    /// Whether our policy had its turn and said nothing: it is not in force where this was asked.
    pub fn passed_ours(&self) -> bool {
        matches!(
            self,
            Self::Admitted
                | Self::Webhook {
                    call: Call::Validating,
                    ..
                }
        )
    }
}

/// When our own webhook of this name is called.
fn own_call(name: &str) -> Call {
    match name.strip_suffix(&format!(".sandgate.{}", names::GROUP)) {
        Some("mutate") => Call::Mutating,
        Some("validate") => Call::Validating,
        _ => Call::Unknown,
    }
}

/// What stands between two texts, the first of which begins `said`; and what comes after.
fn between<'a>(said: &'a str, before: &str, after: &str) -> Option<(&'a str, &'a str)> {
    said.strip_prefix(before)?.split_once(after)
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ours => write!(f, "it refused a dry run by name"),
            Self::Admitted => write!(f, "nobody refused a dry run that it has to refuse"),
            Self::Policy(name) => write!(
                f,
                "ValidatingAdmissionPolicy {name} answered first; let it leave out the operator's namespace"
            ),
            Self::MutatingPolicy(name) => write!(
                f,
                "MutatingAdmissionPolicy {name} answered first; let it leave out the operator's namespace"
            ),
            Self::Webhook { name, call } => match call {
                Call::Mutating => write!(
                    f,
                    "mutating webhook {name} answered first; let it leave out the operator's namespace"
                ),
                Call::Validating => write!(
                    f,
                    "validating webhook {name} answered a dry run that the policy had let through"
                ),
                Call::Unknown => write!(
                    f,
                    "webhook {name} answered first; let it leave out the operator's namespace"
                ),
            },
            Self::Other(words) => write!(f, "a dry run came to nothing: {words}"),
        }
    }
}
