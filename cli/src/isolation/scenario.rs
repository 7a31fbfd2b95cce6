//! What is tried: each scenario, and what should be open in it. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::destination::{Destination, Opening};
use super::disturb::Action;

/// One thing that is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Name on the command line and in the report.
    pub id: &'static str,
    /// Short, above a column.
    pub title: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// What is done.
    pub kind: Kind,
}

/// What is done in a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A sandbox of a class that opens this dials everything.
    Egress(Option<Opening>),
    /// Others dial a sandbox.
    Ingress,
    /// Many sandboxes start at once and dial the tripwires.
    Parallel,
    /// The sandbox's pod is deleted, and the next one dials.
    Restart,
    /// A sandbox's end, while its workload ignores SIGTERM and dials on.
    Ending(Ending),
    /// The node is disturbed while a sandbox runs and another starts.
    Disturbed(Action),
    /// Sandboxes start on addresses that finished pods had.
    AddressReuse,
}

/// How a sandbox ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The claim is deleted in the background.
    Background,
    /// The claim is deleted in the foreground.
    Foreground,
    /// The claim's own policy is deleted; the claim lives on.
    Policy,
    /// The claim fails.
    Failed,
    /// The pod is deleted by force.
    Force,
    /// The namespace is deleted.
    Namespace,
}

/// What a cell should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Expected {
    /// It must be reachable.
    Open,
    /// It must not be reachable, from the first moment on.
    Shut,
    /// Kubernetes leaves it to the network plugin.
    ImplementationDefined,
}

/// All scenarios, in the order they run in and the report's columns stand in.
pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        id: "deny-all",
        title: "deny all",
        about: "a class without egress",
        kind: Kind::Egress(None),
    },
    Scenario {
        id: "dns",
        title: "egress.dns",
        about: "a class that opens the cluster's DNS",
        kind: Kind::Egress(Some(Opening::Dns)),
    },
    Scenario {
        id: "numbered-port",
        title: "numeric port",
        about: "a class that opens a Service whose target port is a number",
        kind: Kind::Egress(Some(Opening::Numbered)),
    },
    Scenario {
        id: "named-port",
        title: "named port",
        about: "a class that opens a Service whose target port is a name",
        kind: Kind::Egress(Some(Opening::Named)),
    },
    Scenario {
        id: "other-namespace",
        title: "other namespace",
        about: "a class that opens a Service of another namespace",
        kind: Kind::Egress(Some(Opening::Elsewhere)),
    },
    Scenario {
        id: "parallel",
        title: "started at once",
        about: "many sandboxes start at once, each dialling from its first millisecond",
        kind: Kind::Parallel,
    },
    Scenario {
        id: "restart",
        title: "pod restarted",
        about: "the sandbox's pod is deleted and the next one dials from its first millisecond",
        kind: Kind::Restart,
    },
    Scenario {
        id: "ingress",
        title: "ingress",
        about: "pods of the claim's runtime, of others and of none dial a sandbox",
        kind: Kind::Ingress,
    },
    Scenario {
        id: "claim-deleted-background",
        title: "claim deleted, background",
        about: "the claim is deleted in the background while its workload ignores SIGTERM",
        kind: Kind::Ending(Ending::Background),
    },
    Scenario {
        id: "claim-deleted-foreground",
        title: "claim deleted, foreground",
        about: "the claim is deleted in the foreground while its workload ignores SIGTERM",
        kind: Kind::Ending(Ending::Foreground),
    },
    Scenario {
        id: "policy-deleted",
        title: "policy deleted",
        about: "the claim's own policy is deleted and comes back",
        kind: Kind::Ending(Ending::Policy),
    },
    Scenario {
        id: "claim-failed",
        title: "claim failed",
        about: "the claim fails while its workload ignores SIGTERM",
        kind: Kind::Ending(Ending::Failed),
    },
    Scenario {
        id: "pod-deleted-by-force",
        title: "pod deleted by force",
        about: "the pod is deleted without grace, while its workload ignores SIGTERM",
        kind: Kind::Ending(Ending::Force),
    },
    Scenario {
        id: "namespace-deleted",
        title: "namespace deleted",
        about: "the namespace is deleted, policies and all, while a workload ignores SIGTERM",
        kind: Kind::Ending(Ending::Namespace),
    },
    Scenario {
        id: "enforcer-restarted",
        title: "enforcer restarted",
        about: "the network plugin restarts while a sandbox runs and another starts",
        kind: Kind::Disturbed(Action::RestartEnforcer),
    },
    Scenario {
        id: "kubelet-restarted",
        title: "kubelet restarted",
        about: "the kubelet restarts while a sandbox runs and another starts",
        kind: Kind::Disturbed(Action::RestartKubelet),
    },
    Scenario {
        id: "address-reuse",
        title: "address reused",
        about: "sandboxes start on addresses that pods which have finished still claim",
        kind: Kind::AddressReuse,
    },
    // Last: there are plugins that are never the same again.
    Scenario {
        id: "containerd-restarted",
        title: "containerd restarted",
        about: "the container runtime restarts while a sandbox runs and another starts",
        kind: Kind::Disturbed(Action::RestartContainerd),
    },
];

/// The scenario called `id`.
pub fn scenario(id: &str) -> Option<&'static Scenario> {
    SCENARIOS.iter().find(|scenario| scenario.id == id)
}

impl Scenario {
    /// Whether only a node's owner can carry it out.
    pub fn needs_the_node(&self) -> bool {
        matches!(self.kind, Kind::Disturbed(_) | Kind::AddressReuse)
    }

    /// Whether the root filesystem of its sandboxes is read-only.
    pub fn read_only_root(&self) -> bool {
        self.kind == Kind::Egress(None)
    }

    /// Whether its sandbox tells what its container sees of itself: one with a read-only root, one
    /// with a writable one.
    pub fn looks_at_itself(&self) -> bool {
        matches!(self.kind, Kind::Egress(None | Some(Opening::Dns)))
    }

    /// What its class opens.
    pub fn opening(&self) -> Option<Opening> {
        match self.kind {
            Kind::Egress(opening) => opening,
            // Their workloads show by it that they dial on.
            Kind::Ending(_) | Kind::Disturbed(_) => Some(Opening::Numbered),
            _ => None,
        }
    }

    /// Whether its sandboxes dial this destination and report what they saw.
    pub fn dials(&self, destination: &Destination) -> bool {
        match self.kind {
            Kind::Egress(_) => true,
            Kind::Parallel | Kind::Restart | Kind::AddressReuse => destination.tripwire,
            Kind::Disturbed(_) => destination.tripwire || self.opens(destination),
            Kind::Ending(_) | Kind::Ingress => false,
        }
    }

    /// Whether a sandbox of it dials this destination for ever. It says nothing; what arrives at the
    /// receivers tells.
    pub fn dials_for_ever(&self, destination: &Destination) -> bool {
        let endless = matches!(self.kind, Kind::Ending(_) | Kind::Disturbed(_));
        let telling = destination.tripwire || self.opens(destination);
        endless && destination.logged && telling
    }

    /// Whether its class opens this destination.
    fn opens(&self, destination: &Destination) -> bool {
        destination.opened_by.is_some() && destination.opened_by == self.opening()
    }

    /// What the destination should be for its sandboxes.
    pub fn expects(&self, destination: &Destination) -> Expected {
        if self.opens(destination) {
            Expected::Open
        } else if destination.undefined.is_some() {
            Expected::ImplementationDefined
        } else {
            Expected::Shut
        }
    }
}

#[cfg(test)]
mod tests;
