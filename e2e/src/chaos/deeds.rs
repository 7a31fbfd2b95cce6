//! What people, agents and accidents do, drawn from a seed. Pure.

mod draw;

use std::time::Duration;

use sandgate_shared::names::{self, COMPONENT_EGRESS, COMPONENT_SANDBOX};

use super::history::Kind;
use crate::fake_node::Stage;
use crate::scene::manifests::RUNTIME;

pub use draw::script;

/// Runtimes of each namespace.
pub const RUNTIMES: [&str; 2] = [RUNTIME, "second"];
/// Classes of each namespace, and what becomes of their pods.
pub const CLASSES: [(&str, Stage); 5] = [
    ("quick", Stage::Ready),
    ("slow", Stage::Late),
    ("stuck", Stage::NeverReady),
    (KEPT, Stage::Ready),
    (WIRED, Stage::Ready),
];
/// The class whose sandboxes mount a directory of the workspace.
pub const KEPT: &str = "kept";
/// The class whose claims bind both Connections there are, which only the operator may.
pub const WIRED: &str = "wired";
/// Hosts that Connections name.
pub const HOSTS: [&str; 4] = [
    "github.com",
    "api.github.com",
    "*.example.com",
    "www.example.com",
];
/// A class that nobody makes.
pub const MISSING_CLASS: &str = "missing";
/// Namespaces.
pub const SCENES: usize = 3;
/// The one that is deleted, with all that is in it.
pub const DOOMED: usize = 2;
/// Controllers.
pub const CONTROLLERS: usize = 2;

/// A claim and all that its manifest says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Which namespace.
    pub scene: usize,
    /// Name of the claim.
    pub name: String,
    /// Name of the runtime.
    pub runtime: &'static str,
    /// Name of the class.
    pub class: &'static str,
    /// The session it is for.
    pub session: String,
    /// How many of its sandbox its session may have.
    pub most: Option<u32>,
    /// An object of somebody else's that stands where one of the claim's is to be.
    pub in_the_way: Option<(Part, Kind)>,
}

/// A part of what is built for a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Sandbox,
    Proxy,
}

impl Part {
    /// Of which kinds its objects are.
    pub fn kinds(self) -> &'static [Kind] {
        match self {
            Self::Sandbox => &[Kind::Policy, Kind::Service, Kind::Deployment],
            Self::Proxy => &[
                Kind::Policy,
                Kind::Allowlist,
                Kind::Service,
                Kind::Deployment,
            ],
        }
    }

    /// How they are called.
    pub fn name(self, claim: &str) -> String {
        match self {
            Self::Sandbox => names::sandbox(claim),
            Self::Proxy => names::egress(claim),
        }
    }

    /// What is written on them.
    pub fn component(self) -> &'static str {
        match self {
            Self::Sandbox => COMPONENT_SANDBOX,
            Self::Proxy => COMPONENT_EGRESS,
        }
    }
}

/// How an object that is not the doer's is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// Another spec.
    Edit,
    /// Gone.
    Delete,
}

/// What the hosts and the credential of a claim come from; of each there is one in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A Connection with a credential.
    Forge,
    /// The Secret of that.
    Token,
    /// A Connection that names hosts and no more.
    Site,
}

/// How a controller is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    /// SIGKILL, and started again.
    Kill,
    /// SIGTERM, and started again.
    End,
    /// SIGSTOP, and SIGCONT after this time.
    Hold(Duration),
}

/// One deed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// A user makes a claim.
    Claim(Wanted),
    /// Somebody deletes a claim, by number, if it is still there.
    Unclaim(usize),
    /// A runtime gets other ceilings.
    Ceilings {
        scene: usize,
        runtime: &'static str,
        concurrent: Option<u32>,
        per_session: Option<u32>,
    },
    /// A class changes what a template says; no running sandbox may be rolled.
    Class {
        scene: usize,
        class: &'static str,
        value: u32,
    },
    /// A Connection or a Secret goes, or comes back.
    Source {
        scene: usize,
        what: Source,
        gone: bool,
    },
    /// A Connection names other hosts.
    Hosts {
        scene: usize,
        what: Source,
        hosts: Vec<&'static str>,
    },
    /// Somebody lays hands on an object of a claim, by number.
    Stray {
        claim: usize,
        part: Part,
        kind: Kind,
        harm: Harm,
    },
    /// The same of a namespace's baseline policy.
    Baseline { scene: usize, harm: Harm },
    /// A claim's pods are no longer ready, or are again.
    Pods { claim: usize, stage: Stage },
    /// Somebody deletes the pods of a claim's sandbox or proxy.
    PodsGo { claim: usize, part: Part },
    /// A controller is hit.
    Controller { which: usize, blow: Blow },
    /// Nobody reaches the API server for this time.
    Away(Duration),
    /// A namespace is deleted; nobody does anything in it any more.
    Leave { scene: usize },
}
