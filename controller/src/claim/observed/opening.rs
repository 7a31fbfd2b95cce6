//! What a `NetworkPolicy` opens, and for which pods, read as the API server and the network read it. Pure.
//!
//! Policies add up: one that selects a sandbox's pod and has a rule opens what the claim's own keeps
//! shut. What cannot be understood counts as open: it is said rather than passed over.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::{Selector, SelectorExt as _};
use sandgate_shared::names;
use serde_json::Value;

/// What a `NetworkPolicy` opens for the pods it selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    pods: Pods,
    ways: Ways,
    /// UID of the only claim whose pods it can select, if it is so narrow.
    pub only_of: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pods {
    Selected(Selector),
    /// What is wrong with the selector.
    Unknown(String),
}

/// The directions in which something is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ways {
    Ingress,
    Egress,
    Both,
}

impl Ways {
    fn of(ingress: bool, egress: bool) -> Option<Self> {
        match (ingress, egress) {
            (true, true) => Some(Self::Both),
            (true, false) => Some(Self::Ingress),
            (false, true) => Some(Self::Egress),
            (false, false) => None,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Ingress => "ingress",
            Self::Egress => "egress",
            Self::Both => "ingress and egress",
        }
    }
}

/// A policy that opens a pod of the claim, and is not the claim's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Widening {
    /// Name of the policy.
    pub policy: String,
    /// What it opens, in words; and what is wrong with its selector, if that cannot be understood.
    pub opens: String,
}

impl Opening {
    /// Reads the policy of this name as the API server sent it. `None` if it opens nothing, for without a
    /// rule it only shuts; or nothing but the pods of the claim whose own policy has this name.
    pub fn read(name: &str, policy: &Value) -> Option<Self> {
        let spec = policy.get("spec").filter(|spec| !spec.is_null())?;
        let egress = has_rules(spec.get("egress"));
        let types = PolicyTypes::read(spec.get("policyTypes"), egress);
        let ways = Ways::of(
            types.ingress && has_rules(spec.get("ingress")),
            types.egress && egress,
        )?;
        let selected = spec.get("podSelector");
        let wants = |label: &str| {
            let labels = selected.and_then(|selector| selector.get("matchLabels"));
            labels.and_then(|labels| labels.get(label)?.as_str())
        };
        let only_of = wants(names::LABEL_CLAIM_UID);
        let claim = wants(names::LABEL_CLAIM).filter(|_| only_of.is_some());
        let of_proxy = wants(names::LABEL_COMPONENT) == Some(names::COMPONENT_EGRESS);
        match selector(selected) {
            Ok(_) if claim.is_some_and(|claim| names::sandbox(claim) == name) => None,
            // That of the claim's egress proxy, whose pods it selects, and none of a sandbox.
            Ok(_) if of_proxy && claim.is_some_and(|claim| names::egress(claim) == name) => None,
            Ok(selector) => Some(Self {
                pods: Pods::Selected(selector),
                ways,
                only_of: only_of.map(str::to_owned),
            }),
            Err(fault) => Some(Self {
                pods: Pods::Unknown(fault),
                ways,
                only_of: None,
            }),
        }
    }

    /// Whether pods with these labels are opened.
    pub fn selects(&self, labels: &[(String, String)]) -> bool {
        match &self.pods {
            Pods::Selected(selector) => selector.matches(&labels.iter().cloned().collect()),
            Pods::Unknown(_) => true,
        }
    }

    /// What it is to a pod that it selects.
    pub fn widening(&self, policy: &str) -> Widening {
        let ways = self.ways.as_str();
        Widening {
            policy: policy.to_owned(),
            opens: match &self.pods {
                Pods::Selected(_) => ways.to_owned(),
                Pods::Unknown(fault) => {
                    format!("{ways}, perhaps: its podSelector cannot be understood, {fault}")
                }
            },
        }
    }
}

/// The directions that a policy speaks of. The rules of another are passed over.
struct PolicyTypes {
    ingress: bool,
    egress: bool,
}

impl PolicyTypes {
    /// Where it names none, it speaks of ingress, and of egress if it has such rules.
    fn read(types: Option<&Value>, has_egress: bool) -> Self {
        match types {
            Some(Value::Array(all)) if !all.is_empty() => Self {
                ingress: all.iter().any(|name| name == "Ingress"),
                egress: all.iter().any(|name| name == "Egress"),
            },
            _ => Self {
                ingress: true,
                egress: has_egress,
            },
        }
    }
}

fn has_rules(rules: Option<&Value>) -> bool {
    match rules {
        None | Some(Value::Null) => false,
        Some(Value::Array(rules)) => !rules.is_empty(),
        Some(_) => true,
    }
}

/// Reads a selector; none selects every pod.
fn selector(selector: Option<&Value>) -> Result<Selector, String> {
    let Some(selector) = selector.filter(|selector| !selector.is_null()) else {
        return Ok(Selector::default());
    };
    let read: LabelSelector =
        serde_json::from_value(selector.clone()).map_err(|error| error.to_string())?;
    for requirement in read.match_expressions.iter().flatten() {
        let lists = matches!(requirement.operator.as_str(), "In" | "NotIn");
        if lists && requirement.values.as_ref().is_none_or(Vec::is_empty) {
            let (operator, key) = (&requirement.operator, &requirement.key);
            return Err(format!("{operator} of {key} lists no value"));
        }
    }
    Selector::try_from(read).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
