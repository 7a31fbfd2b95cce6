//! `cargo xtask bench`: what Sandgate costs, measured on this machine with release binaries and held
//! to the budgets. Does I/O.
//!
//! The webhook is measured alone, so that nothing else of ours takes its core; the controller on a
//! control plane of its own with a fake node; and all of it, as it is shipped, on a real node. The egress
//! proxy is measured in a network of its own, beside the proxies of others.

mod audit;
mod connection;
mod controller;
mod egress;
mod figure;
mod latency;
mod load;
mod machine;
mod manifests;
mod node;
mod process;
mod reviews;
mod sightings;
mod webhook;
mod writes;

use std::path::PathBuf;

use anyhow::{Context, anyhow, bail};
use clap::{Args, ValueEnum};
use sandgate_e2e::binaries::AgentSandbox;
use sandgate_e2e::own_binaries::OwnBinaries;
use sandgate_e2e::progress::Step;
use sandgate_e2e::{Failure, real_node};
use tokio::runtime::Runtime;

use self::figure::{Figure, Table};
use crate::{image, tools};

/// Flags of `cargo xtask bench`.
#[derive(Clone, Debug, Args)]
pub struct Flags {
    /// Measure this alone, instead of everything.
    #[arg(value_enum)]
    only: Option<Only>,
    /// How many claims stand in the end where the controller is measured. Ten thousand take about half an
    /// hour.
    #[arg(
        long,
        value_name = "N",
        default_value_t = CLAIMS,
        value_parser = clap::value_parser!(u32).range(100..=50_000)
    )]
    claims: u32,
    /// One JSON object a line for each figure.
    #[arg(long)]
    json: bool,
    /// Where to draw what the median claim on a real node waited for.
    #[arg(long, value_name = "FILE", default_value = PICTURE)]
    svg: PathBuf,
}

/// In the folder cargo builds into.
const PICTURE: &str = "target/bench/bound-timeline.svg";

/// The budget of the controller's memory is that of so many.
const CLAIMS: u32 = 10_000;

/// What can be measured alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Only {
    /// What a review costs the webhook, in time, CPU and memory.
    Webhook,
    /// What claims cost the controller and the API server, beside sandboxes made by hand and by agent-sandbox.
    Controller,
    /// From a claim to a sandbox that can be dialled, on a real node.
    Node,
    /// What admission adds to a write, beside a webhook in Go.
    Writes,
    /// What the egress proxy carries, beside squid, tinyproxy and smokescreen.
    Egress,
}

impl Flags {
    /// Everything, for people.
    pub fn everything() -> Self {
        Self {
            only: None,
            claims: CLAIMS,
            json: false,
            svg: PathBuf::from(PICTURE),
        }
    }
}

/// Builds, measures and prints every figure; as JSON one object a line.
///
/// # Errors
/// Something could not be measured, or a figure that comes out the same on every machine misses its
/// budget. Times and memory that miss theirs are told, but fail nothing: a busy machine is slow.
pub fn run(flags: &Flags) -> anyhow::Result<()> {
    if !cfg!(target_os = "linux") {
        bail!("bench reads /proc, which only Linux has");
    }
    let runtime = Runtime::new().context("failed to start the async runtime")?;
    let asked = |what| flags.only.is_none_or(|only| only == what);
    let node = match real_node::supported() {
        _ if !asked(Only::Node) => None,
        Ok(()) => Some(Ok(runtime.block_on(image::ensure(image::Make::Shipped))?)),
        Err(why) if flags.only.is_none() => Some(Err(why)),
        Err(why) => bail!("bench node measures on a real node: {why}"),
    };
    // The network that proxies are measured in is made as that of a real node is.
    let proxies = match real_node::supported() {
        _ if !asked(Only::Egress) => None,
        Ok(()) => {
            runtime.block_on(build(&["sandgate-egress"]))?;
            Some(Ok(egress::Peers::ensure()))
        }
        Err(why) if flags.only.is_none() => Some(Err(why)),
        Err(why) => bail!("bench egress measures in a network of its own: {why}"),
    };
    let peer = asked(Only::Controller)
        .then(AgentSandbox::ensure)
        .transpose()?;
    let own = if let Some(Only::Node | Only::Egress) = flags.only {
        None
    } else {
        runtime.block_on(build(&["sandgate-webhook", "sandgate-controller"]))?;
        Some(OwnBinaries::within(&release()?)?)
    };
    // Only now: building is what makes a machine busy.
    let machine = machine::describe()?;
    let mut table = Table::new(flags.json);
    table.add(Figure::text("machine", machine.clone()))?;

    if let Some(own) = own {
        if asked(Only::Webhook) {
            let step = Step::begin("measuring the webhook");
            table.extend(webhook::measure(&own)?)?;
            step.done();
        }
        if let Some(peer) = peer {
            let scale = controller::Scale::of(flags.claims);
            runtime.block_on(Box::pin(controller::measure(
                &own, &peer, scale, &mut table,
            )))?;
        }
        if asked(Only::Writes) {
            let step = Step::begin("measuring what admission adds to a write");
            table.extend(runtime.block_on(Box::pin(writes::measure(&own)))?)?;
            step.done();
        }
    }
    match proxies {
        Some(Ok(peers)) => {
            let binary = release()?.join("sandgate-egress");
            table.extend(egress::measure(&binary, peers)?)?;
        }
        Some(Err(why)) => table.add(Figure::text("egress", format!("left out: {why}")))?,
        None => {}
    }
    match node {
        Some(Ok(archive)) => {
            let picture = node::Picture {
                file: &flags.svg,
                machine: &machine,
            };
            table.extend(runtime.block_on(Box::pin(node::measure(archive, &picture)))?)?;
        }
        Some(Err(why)) => table.add(Figure::text("node", format!("left out: {why}")))?,
        None => {}
    }
    table.finish()
}

async fn build(packages: &[&str]) -> anyhow::Result<()> {
    // Cargo itself tells how far it is.
    eprintln!("  building release binaries");
    let packages = packages.iter().flat_map(|package| ["-p", package]);
    let words: Vec<&str> = ["build", "--release"].into_iter().chain(packages).collect();
    tools::run_cargo(&words).await
}

/// The folder of release binaries.
fn release() -> anyhow::Result<PathBuf> {
    let ours = tools::binaries()?;
    let target = ours
        .parent()
        .context("the folder of the running program has no parent")?;
    Ok(target.join("release"))
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that `map_err` wants"
)]
fn said(failure: Failure) -> anyhow::Error {
    anyhow!("{failure}")
}

/// Counts here are far below where a double loses whole numbers.
fn number(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}
