//! `cargo xtask isolation`: who reaches whom on a real node of this machine, also while the node is
//! disturbed, and once without the rule that guards the node. Does I/O.

mod known;

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use sandgate_cli::isolation::disturb::{Action, Disturb, Done};
use sandgate_cli::isolation::facts::{Outside, Protocol};
use sandgate_cli::isolation::report::Report;
use sandgate_cli::isolation::scenario::{SCENARIOS, Scenario, scenario};
use sandgate_cli::isolation::verdict::Outcome;
use sandgate_cli::isolation::{self, Order};
use sandgate_cli::output::{self, Files};
use sandgate_cli::stops;
use sandgate_e2e::node_cluster::{self, NodeCluster};
use sandgate_e2e::real_node::{self, TCP_PORTS, UDP_PORTS};
use sandgate_probe::line::Contact;
use tokio::sync::Mutex;

use crate::image;

/// Where reports and pictures are written, in the folder cargo builds into.
const FOLDER: &str = "target/isolation";
/// So few addresses that those of finished pods are soon used again.
const PODS: &str = "10.244.0.0/26";
/// How many that are.
const ADDRESSES: usize = 62;
/// Enough to see what a pod and its own node make of each other.
const UNGUARDED: &str = "deny-all";

/// Flags of `cargo xtask isolation`.
#[derive(Clone, Debug, Args)]
pub struct Flags {
    /// Try this scenario only; may be given more than once.
    #[arg(long, value_name = "SCENARIO")]
    only: Vec<String>,
    /// Leave out the run without the rule that guards the node.
    #[arg(long)]
    guarded_only: bool,
}

/// Measures, and fails unless everything is as it should be or known of the enforcer.
pub async fn run(flags: &Flags) -> anyhow::Result<()> {
    let scenarios = wanted(&flags.only)?;
    real_node::supported().map_err(|why| anyhow!("isolation is measured on a real node: {why}"))?;
    let archive = image::ensure(image::Make::Tried).await?;
    fs::create_dir_all(FOLDER).with_context(|| format!("failed to make {FOLDER}"))?;

    let report = measure(&archive, true, scenarios, None).await?;
    put(&report, "report.json", "isolation.svg")?;
    if !flags.guarded_only {
        let scenarios = wanted(&[UNGUARDED.to_owned()])?;
        let variant = "the node is not guarded".to_owned();
        let report = measure(&archive, false, scenarios, Some(variant)).await?;
        put(&report, "unguarded.json", "unguarded.svg")?;
        if !report.passed {
            bail!("without the rule that guards the node: {}", report.sentence);
        }
    }
    for sentence in known::told(&report) {
        eprintln!("  {sentence}");
    }
    if !known::nothing_else(&report) {
        bail!("{}", report.sentence);
    }
    Ok(())
}

fn wanted(only: &[String]) -> anyhow::Result<Vec<&'static Scenario>> {
    for id in only {
        if scenario(id).is_none() {
            let known: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.id).collect();
            bail!("{id} is no scenario; there are {}", known.join(", "));
        }
    }
    let all = SCENARIOS.iter();
    let wanted = all.filter(|known| only.is_empty() || only.iter().any(|id| id == known.id));
    Ok(wanted.collect())
}

/// One node, one run.
async fn measure(
    archive: &Path,
    guard_node: bool,
    scenarios: Vec<&'static Scenario>,
    variant: Option<String>,
) -> anyhow::Result<Report> {
    let mut options = node_cluster::Options::default();
    options.node.image = Some(archive.to_owned());
    options.node.guard_node = guard_node;
    PODS.clone_into(&mut options.node.pods);
    let cluster = Box::pin(NodeCluster::start(options)).await;
    let cluster = cluster.map_err(|failure| anyhow!("{failure}"))?;
    let order = Order {
        namespace_prefix: "sandgate-isolation".to_owned(),
        image: None,
        pull_secret: None,
        node: None,
        outside: outside(&cluster),
        scenarios,
        parallel: 15,
        period: Duration::from_secs(4),
        // The whole cluster goes.
        keep: true,
        allow_unmeasured: false,
        variant,
    };
    let client = cluster.client();
    let owner = Owner(Mutex::new(cluster));
    let stops = stops::stops().context("failed to hear Ctrl-C")?;
    let tell = |line: &str| eprintln!("  {line}");
    let report = Box::pin(isolation::run(client, &order, &owner, stops, &tell)).await;
    let report = report?;
    // Here is everything that may be elsewhere or not, but for a node's own cache of DNS: what is
    // missing was not measured.
    let missing = report.cells.iter().find(|cell| {
        let cache = cell.destination.starts_with("resolver-");
        cell.outcome == Outcome::Absent && cell.target.is_some() && !cache
    });
    if let Some(cell) = missing {
        bail!("{} was not reached even by the unpoliced pod", cell.to);
    }
    Ok(report)
}

/// Hosts outside by every protocol, and where a cloud would keep the machine's credentials (which is
/// dialled anyway).
fn outside(cluster: &NodeCluster) -> Vec<Outside> {
    let hosts = cluster.node.outside().hosts();
    let at = |protocol, port| {
        hosts.first().map(|host| Outside {
            protocol,
            address: IpAddr::V4(*host),
            port,
            question: None,
        })
    };
    let dialled = [
        at(Protocol::Tcp, TCP_PORTS[1]),
        at(Protocol::Udp, UDP_PORTS[0]),
        at(Protocol::Icmp, 0),
    ];
    dialled.into_iter().flatten().collect()
}

fn put(report: &Report, json: &str, picture: &str) -> anyhow::Result<()> {
    let folder = PathBuf::from(FOLDER);
    let (in_json, drawn) = (folder.join(json), folder.join(picture));
    Files::open(Some(&in_json), Some(&drawn))?.write(report)?;
    output::print(report)?;
    eprintln!("  {FOLDER}/{json}, {FOLDER}/{picture}");
    Ok(())
}

/// Whoever owns the node can disturb it.
struct Owner(Mutex<NodeCluster>);

impl Disturb for Owner {
    fn act(&self, action: Action) -> Done<'_> {
        Box::pin(async move {
            let node = &mut self.0.lock().await.node;
            let done = match action {
                Action::RestartEnforcer => node.restart_enforcer().await,
                Action::RestartContainerd => node.restart_containerd().await,
                Action::RestartKubelet => node.restart_kubelet().await,
            };
            done.map_err(|error| error.to_string())
        })
    }

    fn addresses(&self) -> Option<usize> {
        Some(ADDRESSES)
    }

    fn heard_outside(&self) -> Done<'_, Option<Vec<Contact>>> {
        Box::pin(async {
            let contacts = self.0.lock().await.node.outside().contacts();
            contacts.map(Some).map_err(|error| error.to_string())
        })
    }
}
