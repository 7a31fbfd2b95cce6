//! Rights that matter, as somebody holds them. Data only.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::powers::Effect;
use super::rbac::Subject;

/// Whether somebody is expected to hold such rights.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum Standing {
    /// Nobody said so.
    Finding,
    /// Whoever asked says so.
    Accepted,
    /// May do everything on the cluster.
    Administrator,
    /// Kubernetes itself, by the bindings that every cluster has.
    BuiltIn,
    /// Sandgate itself, by the bindings of its chart.
    Sandgate,
}

/// Somebody and their rights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Holder {
    /// Who.
    pub subject: Subject,
    /// Whether they are expected to.
    pub standing: Standing,
    /// What they hold, in the order of the table.
    pub held: Vec<Held>,
}

/// Some rights that come to the same, as somebody holds them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Held {
    /// Their name, such as `operator-token`; `everything` for an administrator's.
    pub power: String,
    /// What they are good for.
    pub effect: Effect,
    /// What the holder may ask for.
    pub rights: Vec<Right>,
    /// The only objects on which they may, if the rules are limited to some.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub names: Vec<String>,
    /// The bindings and roles that give them.
    pub paths: Vec<String>,
    /// What that allows; reads after "may".
    pub allows: String,
}

/// One verb on one resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Right {
    /// API group; empty for the core one.
    pub group: String,
    /// `pods` or `pods/exec`.
    pub resource: String,
    /// `create`, `get`, …
    pub verb: String,
}

impl Right {
    /// `pods/exec`, `deployments.apps` or `userextras.authentication.k8s.io/some-key`.
    pub fn on(&self) -> String {
        if self.group.is_empty() {
            return self.resource.clone();
        }
        match self.resource.split_once('/') {
            Some((resource, subresource)) => format!("{resource}.{}/{subresource}", self.group),
            None => format!("{}.{}", self.resource, self.group),
        }
    }
}

impl fmt::Display for Right {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.verb, self.on())
    }
}
