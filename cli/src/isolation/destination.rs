//! Everything that sandboxes dial. Pure.

mod rows;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::facts::{Family, Protocol};

pub use rows::destinations;

/// Ports of the receivers.
pub mod port {
    /// TCP and UDP of a receiver; what the Service with a numeric target port leads to.
    pub const RECEIVER: u16 = 8080;
    /// TCP of a receiver that nothing leads to.
    pub const OTHER: u16 = 9090;
    /// TCP of a receiver behind a named target port.
    pub const NAMED: u16 = 8081;
    /// TCP port of each receiver's Service.
    pub const SERVICE: u16 = 80;
    /// UDP port of each receiver's Service; no class lists it.
    pub const SERVICE_UDP: u16 = 5300;
    /// The port of the test classes, which sandboxes serve.
    pub const CLASS: u16 = 8080;
    /// A port that sandboxes serve too and that is not in their class.
    pub const NOT_CLASS: u16 = 9090;
    /// The kubelet's.
    pub const KUBELET: u16 = 10250;
}

/// What a class can open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Opening {
    /// The Service with a numeric target port.
    Numbered,
    /// The Service with a named target port.
    Named,
    /// The Service in another namespace.
    Elsewhere,
    /// The cluster's DNS.
    Dns,
}

/// By which kind of address a destination is dialled.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// The pod's own.
    PodIp,
    /// The Service's.
    ClusterIp,
    /// The node's.
    NodeIp,
    /// Any other.
    Address,
}

impl Via {
    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::PodIp => "pod IP",
            Self::ClusterIp => "cluster IP",
            Self::NodeIp => "node IP",
            Self::Address => "address",
        }
    }
}

/// Why it matters whether somebody answers there at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is there on every cluster: a witness that gets no answer is a fault of the measurement.
    Always,
    /// Clusters without it are as good: nothing answers, so there is nothing to shut.
    Perhaps,
}

/// One thing dialled in one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Unique in the run; the probe's label.
    pub label: String,
    /// What it is, for people.
    pub to: String,
    /// By which kind of address.
    pub via: Via,
    /// How.
    pub protocol: Protocol,
    /// Of which family.
    pub family: Family,
    /// What the probe is told to dial, or why there is nothing to dial.
    pub target: Result<String, String>,
    /// What opens it; `None` if no class of ours does.
    pub opened_by: Option<Opening>,
    /// Why Kubernetes leaves open whether it is reachable.
    pub undefined: Option<&'static str>,
    /// Whether it must answer the witness.
    pub presence: Presence,
    /// A receiver of ours logs what arrives there.
    pub logged: bool,
    /// Among the few that every sandbox dials, also where fifteen start at once.
    pub tripwire: bool,
}

impl Destination {
    pub(super) fn new(
        name: &str,
        to: &str,
        via: Via,
        protocol: Protocol,
        family: Family,
        target: Result<String, String>,
    ) -> Self {
        let six = if family == Family::IPv6 { "-v6" } else { "" };
        Self {
            label: format!("{name}-{}{six}", protocol.name().to_lowercase()),
            to: to.to_owned(),
            via,
            protocol,
            family,
            target,
            opened_by: None,
            undefined: None,
            presence: Presence::Always,
            logged: false,
            tripwire: false,
        }
    }

    fn opened_by(mut self, opening: Opening) -> Self {
        self.opened_by = Some(opening);
        self
    }

    fn undefined(mut self, why: Option<&'static str>) -> Self {
        self.undefined = why;
        self
    }

    fn perhaps(mut self) -> Self {
        self.presence = Presence::Perhaps;
        self
    }

    fn logged(mut self) -> Self {
        self.logged = true;
        self
    }

    fn tripwire(mut self) -> Self {
        self.tripwire = true;
        self
    }
}

#[cfg(test)]
pub(super) mod tests;
