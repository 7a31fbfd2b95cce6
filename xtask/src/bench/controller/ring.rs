//! One control plane, and the controllers that take turns on it: while one is measured, the others do not
//! run, for each follows the Services and pods of all. Does I/O.

use std::fs;

use anyhow::{Context, bail};
use sandgate_e2e::binaries::AgentSandbox;
use sandgate_e2e::installation::{self, Controller};
use sandgate_e2e::own_binaries::OwnBinaries;
use sandgate_e2e::pair::GRACE;
use sandgate_e2e::ports::Port;
use sandgate_e2e::process::Program;
use sandgate_e2e::service::Service;
use sandgate_e2e::{Options, OwnCluster, control_plane, manifests};
use serde_json::Value;

use super::super::{process, said};
use super::PATIENCE;
use super::contender::Contender;
use super::counters::quiet;
use super::still::until_still;

/// As whom agent-sandbox asks the API server; the audit policy names it, too.
pub const PEER: &str = "agent-sandbox-controller";

/// The control plane with those who take turns.
pub struct Ring {
    /// The control plane, with our controller on it.
    pub cluster: OwnCluster,
    binaries: AgentSandbox,
    /// Once it was started.
    peer: Option<Service>,
}

impl Ring {
    /// Starts the control plane and `own` on it.
    pub async fn open(own: &OwnBinaries, peer: &AgentSandbox) -> anyhow::Result<Self> {
        let options = Options {
            control_plane: control_plane::Options {
                kinds: kinds(peer)?,
                ..control_plane::Options::default()
            },
            installation: installation::Options {
                own: Some(own.clone()),
                // Claims with Connections would wait a minute; no figure contains that.
                controller_arguments: vec![format!("--claim-policy-grace={}s", GRACE.as_secs())],
                ..installation::Options::default()
            },
        };
        Ok(Self {
            cluster: Box::pin(OwnCluster::start(options)).await.map_err(said)?,
            binaries: peer.clone(),
            peer: None,
        })
    }

    /// Gives the turn to `whose`: when this returns, they alone run, and have nothing left to do.
    pub async fn turn(&mut self, whose: Contender) -> anyhow::Result<()> {
        // A process that ends takes its time; others run on meanwhile.
        tokio::task::block_in_place(|| {
            if whose != Contender::Claims {
                self.ours()?.service.stop()?;
            }
            match &mut self.peer {
                Some(peer) if whose != Contender::Sandboxes => Ok(peer.stop()?),
                _ => anyhow::Ok(()),
            }
        })?;
        match whose {
            Contender::Bare => Ok(()),
            Contender::Claims => self.start_ours().await,
            Contender::Sandboxes => self.start_peer().await,
        }
    }

    async fn start_ours(&mut self) -> anyhow::Result<()> {
        let service = &mut self.ours()?.service;
        service.start()?;
        service.answers("/readyz", PATIENCE).await?;
        quiet(service).await
    }

    async fn start_peer(&mut self) -> anyhow::Result<()> {
        if self.peer.is_none() {
            self.peer = Some(self.new_peer()?);
        }
        let peer = self
            .peer
            .as_mut()
            .context("agent-sandbox was never started")?;
        peer.start()?;
        peer.answers("/readyz", PATIENCE).await?;
        // It does not tell when its caches are filled; its memory does.
        settled(peer.id().context("agent-sandbox does not run")?).await?;
        Ok(())
    }

    fn new_peer(&self) -> anyhow::Result<Service> {
        let plane = &self.cluster.control_plane;
        // With every right: asking RBAC costs it nothing.
        let kubeconfig = plane.kubeconfig_of(PEER, PEER, Some("system:masters"))?;
        let health = Port::free()?;
        let arguments = [
            format!("--kubeconfig={}", kubeconfig.display()),
            "--extensions".to_owned(),
            "--enable-webhook=false".to_owned(),
            "--leader-elect=false".to_owned(),
            "--metrics-bind-address=0".to_owned(),
            format!("--health-probe-bind-address={}", health.address()),
        ];
        let log = plane.folder().join(format!("{PEER}.log"));
        let program = Program::new(&self.binaries.controller, arguments);
        Ok(Service::start_new(PEER, program, &log, health)?)
    }

    /// Our controller, the one the installation has.
    pub fn ours(&mut self) -> anyhow::Result<&mut Controller> {
        let controller = self.cluster.installation.controller.as_mut();
        controller.context("the cluster has no controller")
    }

    /// Resident memory in KiB of the process whose turn it is, once it stands still.
    pub async fn memory(&mut self, whose: Contender) -> anyhow::Result<f64> {
        let id = match whose {
            Contender::Bare => None,
            Contender::Claims => self.ours()?.service.id(),
            Contender::Sandboxes => self.peer.as_ref().and_then(Service::id),
        };
        settled(id.with_context(|| format!("nobody makes {} now", whose.name()))?).await
    }

    /// An error if any process has ended that nobody ended on purpose.
    pub fn check(&mut self) -> anyhow::Result<()> {
        if let Some(peer) = &mut self.peer {
            peer.check()?;
        }
        self.cluster.check().map_err(said)
    }
}

/// Resident memory in KiB once it is much the same.
async fn settled(id: u32) -> anyhow::Result<f64> {
    let mut last = process::resident(id)?;
    until_still("the memory of a process grows or shrinks", async || {
        let now = process::resident(id)?;
        let changed = (now - last).abs() > last / 100.0;
        if changed {
            last = now;
        }
        Ok(changed)
    })
    .await?;
    process::resident(id)
}

/// The kinds of agent-sandbox, each served in the version it is stored in without a webhook's help.
fn kinds(peer: &AgentSandbox) -> anyhow::Result<Vec<Value>> {
    let folder = peer.kinds.display();
    let unread = || format!("failed to read the kinds of agent-sandbox in {folder}");
    let mut kinds = Vec::new();
    for entry in fs::read_dir(&peer.kinds).with_context(unread)? {
        let text = fs::read_to_string(entry?.path()).with_context(unread)?;
        for mut kind in manifests::parse(&text)? {
            if let Some(spec) = kind.get_mut("spec").and_then(Value::as_object_mut) {
                spec.remove("conversion");
            }
            kinds.push(kind);
        }
    }
    if kinds.is_empty() {
        bail!("{folder} has no kinds of agent-sandbox");
    }
    Ok(kinds)
}
