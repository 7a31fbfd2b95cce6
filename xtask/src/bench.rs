//! `cargo xtask bench`: what Sandgate costs, measured on this machine with release binaries and held
//! to the budgets. Does I/O.
//!
//! The webhook is measured alone, so that nothing else of ours takes its core; the controller on a
//! control plane of its own with a fake node.

mod audit;
mod claims;
mod connection;
mod figure;
mod latency;
mod load;
mod machine;
mod process;
mod reviews;
mod sightings;
mod webhook;

use anyhow::{Context, bail};
use sandgate_e2e::own_binaries::OwnBinaries;
use sandgate_e2e::progress::Step;

use self::figure::{Figure, Table};
use crate::tools;

/// Builds, measures and prints every figure; as JSON one object a line.
///
/// # Errors
/// Something could not be measured, or a figure that comes out the same on every machine misses its
/// budget. Times and memory that miss theirs are told, but fail nothing: a busy machine is slow.
pub fn run(json: bool) -> anyhow::Result<()> {
    if !cfg!(target_os = "linux") {
        bail!("bench reads /proc, which only Linux has");
    }
    let runtime = tokio::runtime::Runtime::new().context("failed to start the async runtime")?;
    let own = runtime.block_on(build())?;
    let machine = machine::describe()?;
    let mut table = Table::new(json);
    table.add(Figure::text("machine", machine))?;

    let step = Step::begin("measuring the webhook");
    for figure in webhook::measure(&own)? {
        table.add(figure)?;
    }
    step.done();
    let step = Step::begin("measuring the controller");
    for figure in runtime.block_on(claims::measure(&own))? {
        table.add(figure)?;
    }
    step.done();
    table.finish()
}

async fn build() -> anyhow::Result<OwnBinaries> {
    // Cargo itself tells how far it is.
    eprintln!("  building release binaries");
    tools::run_cargo(&[
        "build",
        "--release",
        "-p",
        "sandgate-webhook",
        "-p",
        "sandgate-controller",
    ])
    .await?;
    let ours = tools::binaries()?;
    let target = ours
        .parent()
        .context("the folder of the running program has no parent")?;
    Ok(OwnBinaries::within(&target.join("release"))?)
}
