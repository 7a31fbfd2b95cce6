//! `cargo xtask up`: from a fresh machine to a cluster that shows what Sandgate does, told as a
//! story. Does I/O.

mod story;
mod tree;

use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use sandgate_e2e::own_binaries::OwnBinaries;
use sandgate_e2e::progress::{Step, seconds};
use sandgate_e2e::{Options, OwnCluster};
use tokio::signal::unix::{SignalKind, signal};

use crate::tools;

/// How often a cluster that stays up is looked after.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Starts everything and tells the story; stays until Ctrl-C unless `once`. Whatever happens,
/// nothing is left behind.
pub async fn run(once: bool, port: Option<u16>) -> anyhow::Result<()> {
    // From the first moment on: also a build that is interrupted ends in order.
    let mut interrupt = signal(SignalKind::interrupt()).context("failed to hear Ctrl-C")?;
    let mut terminate = signal(SignalKind::terminate()).context("failed to hear SIGTERM")?;
    let mut hang_up = signal(SignalKind::hangup()).context("failed to hear SIGHUP")?;
    tokio::select! {
        done = start_and_tell(once, port) => return done,
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hang_up.recv() => {}
    }
    if once {
        bail!("stopped before the story was told; nothing is left behind");
    }
    eprintln!("\nstopped; nothing is left behind");
    Ok(())
}

async fn start_and_tell(once: bool, port: Option<u16>) -> anyhow::Result<()> {
    let began = Instant::now();
    let step = Step::begin("building sandgate-webhook and sandgate-controller");
    tools::run_cargo(&[
        "build",
        "--quiet",
        "-p",
        "sandgate-webhook",
        "-p",
        "sandgate-controller",
    ])
    .await?;
    step.done();
    let mut options = Options::default();
    options.control_plane.port = port;
    options.installation.own = Some(OwnBinaries::within(&tools::binaries()?)?);
    let mut cluster = Box::pin(OwnCluster::start(options))
        .await
        .map_err(|failure| anyhow!("{failure}"))?;
    eprintln!("  up in {}", seconds(began.elapsed()));

    Box::pin(story::tell(&cluster))
        .await
        .map_err(|failure| anyhow!("{failure}"))?;
    if once {
        let end = format!("\nThe story holds. ({})", seconds(began.elapsed()));
        return story::say(end).map_err(|failure| anyhow!("{failure}"));
    }
    story::what_next(&cluster).map_err(|failure| anyhow!("{failure}"))?;
    let mut turn = tokio::time::interval(LOOK_EVERY);
    loop {
        turn.tick().await;
        cluster.check().map_err(|failure| anyhow!("{failure}"))?;
    }
}
