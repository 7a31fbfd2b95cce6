//! What others wrote and ours is measured beside, from its pinned Go modules. Does I/O: runs `go`.

use std::path::PathBuf;

use super::{BinariesError, PLAIN, Recipe};

/// A webhook as most operators write one, to be measured beside ours.
const GO_WEBHOOK: Recipe = Recipe {
    name: "go-webhook",
    module: "bench/go-webhook",
    package: ".",
    linker_flags: PLAIN,
    is_static: true,
};

/// The webhook in Go that ours is measured beside, built as [`Binaries::ensure`](super::Binaries::ensure) builds.
pub fn go_webhook() -> Result<PathBuf, BinariesError> {
    GO_WEBHOOK.ensure()
}

/// An operator of sandboxes that others wrote, to be measured beside ours.
const AGENT_SANDBOX: Recipe = Recipe {
    name: "agent-sandbox-controller",
    module: "bench/agent-sandbox",
    package: "sigs.k8s.io/agent-sandbox/cmd/agent-sandbox-controller",
    linker_flags: PLAIN,
    is_static: false,
};

/// The operator that ours is measured beside.
#[derive(Clone, Debug)]
pub struct AgentSandbox {
    /// `agent-sandbox-controller`
    pub controller: PathBuf,
    /// The folder of its module's `CustomResourceDefinition`s.
    pub kinds: PathBuf,
}

impl AgentSandbox {
    /// As [`Binaries::ensure`](super::Binaries::ensure).
    pub fn ensure() -> Result<Self, BinariesError> {
        let module = AGENT_SANDBOX.source("sigs.k8s.io/agent-sandbox")?;
        Ok(Self {
            controller: AGENT_SANDBOX.ensure()?,
            kinds: module.join("k8s/crds"),
        })
    }
}

/// An egress proxy that others wrote, to be measured beside ours.
const SMOKESCREEN: Recipe = Recipe {
    name: "smokescreen",
    module: "bench/smokescreen",
    package: "github.com/stripe/smokescreen",
    linker_flags: PLAIN,
    is_static: true,
};

/// The egress proxy in Go that ours is measured beside.
#[derive(Clone, Debug)]
pub struct Smokescreen {
    /// `smokescreen`
    pub program: PathBuf,
    /// As its module has it, such as `v0.1.0`.
    pub version: String,
}

impl Smokescreen {
    /// As [`Binaries::ensure`](super::Binaries::ensure).
    pub fn ensure() -> Result<Self, BinariesError> {
        // Go keeps a module in a folder called `name@version`.
        let module = SMOKESCREEN.source(SMOKESCREEN.package)?;
        let folder = module.file_name().unwrap_or_default().to_string_lossy();
        let version = folder.rsplit('@').next().unwrap_or_default().to_owned();
        Ok(Self {
            program: SMOKESCREEN.ensure()?,
            version,
        })
    }
}
