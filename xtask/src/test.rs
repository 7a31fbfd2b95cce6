//! `cargo xtask test`: every tier of tests from a fresh machine, the time each took, and one line at
//! the end. Does I/O.

mod rights;
mod tier;

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, anyhow, bail};
use sandgate_e2e::binaries::{Binaries, BinariesError, Version};
use sandgate_e2e::helm::Helm;
use sandgate_e2e::own_binaries::{self, OwnBinaries};
use sandgate_e2e::progress::seconds;
use sandgate_e2e::{NodeCluster, Options, OwnCluster, clients, cluster, node_cluster, real_node};

use crate::{image, tools};
use rights::Sightings;
use tier::{CONTROL_PLANE, NODE, Outcome, QUICK, SLOW, SLOW_NODE, Tier};

/// Where the logs of a failed run are kept.
const KEPT_LOGS: &str = "target/e2e-logs";

/// Runs the quick and control-plane tiers, with `long` also the slow one; an error if any test fails.
pub async fn run(long: bool) -> anyhow::Result<()> {
    let began = Instant::now();
    tier::forget_reports()?;
    tools::ensure_nextest().await?;
    tools::run_cargo(&["build", "--workspace", "--all-targets"]).await?;
    heading("built", began);

    if long {
        // Built here: within a test it would take longer than a test may.
        tokio::task::spawn_blocking(older_control_planes).await??;
    }

    let mut sightings = Sightings::begin()?;
    let mut outcomes = vec![QUICK.run(&[]).await?];
    let tiers: &[Tier] = if long {
        &[CONTROL_PLANE, SLOW]
    } else {
        &[CONTROL_PLANE]
    };
    outcomes.extend(on_a_cluster(tiers, &mut sightings).await?);
    let tiers: &[Tier] = if long { &[NODE, SLOW_NODE] } else { &[NODE] };
    outcomes.extend(on_a_node(tiers, &mut sightings).await?);
    let rights = sightings.end()?;
    println!("{rights}");

    let words: Vec<String> = outcomes.iter().map(Outcome::to_string).collect();
    println!(
        "\n{} · total {}",
        words.join(" · "),
        seconds(began.elapsed())
    );
    if !outcomes.iter().all(Outcome::passed) {
        bail!("tests failed");
    }
    if !rights.hold() {
        bail!("the operator's roles are not what it needs");
    }
    Ok(())
}

/// Builds what the slow tests start of older versions, where it is not there yet.
fn older_control_planes() -> Result<(), BinariesError> {
    let mut all = Version::OLDER.into_iter();
    all.try_for_each(|version| Binaries::of(version).map(drop))
}

/// Runs tiers one after the other on one cluster, which ends with them.
async fn on_a_cluster(tiers: &[Tier], sightings: &mut Sightings) -> anyhow::Result<Vec<Outcome>> {
    let began = Instant::now();
    // Built here: within a test it would take longer than a test may.
    drop(tokio::task::spawn_blocking(Helm::ensure).await??);
    let folder = tools::binaries()?;
    let mut options = Options::default();
    options.installation.own = Some(OwnBinaries::within(&folder)?);
    let own = Box::pin(OwnCluster::start(options))
        .await
        .map_err(|failure| anyhow!("{failure}"))?;
    let announced = own.announce().map_err(|failure| anyhow!("{failure}"))?;
    heading("control plane and Sandgate started", began);
    let variables = [
        (cluster::VARIABLE, announced.as_os_str()),
        (own_binaries::VARIABLE, folder.as_os_str()),
        sightings.variable(),
    ];
    let mut outcomes = Vec::new();
    for tier in tiers {
        outcomes.push(tier.run(&variables).await?);
    }
    sightings.add(&own.control_plane.audit_log())?;
    if !outcomes.iter().all(Outcome::passed) {
        keep_logs(own.control_plane.folder())?;
        println!("the logs of the shared cluster are in {KEPT_LOGS}");
    }
    Ok(outcomes)
}

/// Runs the tests that need pods to run and packets to flow, or says why they cannot.
async fn on_a_node(tiers: &[Tier], sightings: &mut Sightings) -> anyhow::Result<Vec<Outcome>> {
    let began = Instant::now();
    if let Err(why) = real_node::supported() {
        if std::env::var_os("CI").is_some() {
            bail!("the node tests must run here, and cannot: {why}");
        }
        let mut outcomes = Vec::new();
        for tier in tiers {
            outcomes.push(tier.skip(why.to_string()).await?);
        }
        return Ok(outcomes);
    }
    let archive = image::ensure(image::Make::Tried).await?;
    heading("image built", began);
    let began = Instant::now();
    // Packed here for the same reason. Where it cannot be had, the test that wants it says why.
    drop(tokio::task::spawn_blocking(clients::archive).await?);
    heading("image of clients packed", began);
    let began = Instant::now();
    let mut options = node_cluster::Options::default();
    options.node.image = Some(archive.clone());
    let cluster = Box::pin(NodeCluster::start(options))
        .await
        .map_err(|failure| anyhow!("{failure}"))?;
    let announced = cluster.announce().map_err(|failure| anyhow!("{failure}"))?;
    heading("real node and Sandgate started", began);
    let folder = tools::binaries()?;
    let variables = [
        (cluster::NODE_VARIABLE, announced.as_os_str()),
        (real_node::IMAGE_VARIABLE, archive.as_os_str()),
        (own_binaries::VARIABLE, folder.as_os_str()),
        sightings.variable(),
    ];
    let mut outcomes = Vec::new();
    for tier in tiers {
        outcomes.push(tier.run(&variables).await?);
    }
    sightings.add(&cluster.access().audit_log)?;
    if !outcomes.iter().all(Outcome::passed) {
        keep_logs(&cluster.access().folder)?;
        println!("the logs of the shared node are in {KEPT_LOGS}");
    }
    Ok(outcomes)
}

fn heading(what: &str, since: Instant) {
    println!("── {what} in {}", seconds(since.elapsed()));
}

/// Copies the logs, and nothing that holds a credential, out of a folder that is about to go.
fn keep_logs(run: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(KEPT_LOGS).with_context(|| format!("failed to make {KEPT_LOGS}"))?;
    for entry in run.read_dir().context("failed to list the logs")? {
        let path = entry.context("failed to list the logs")?.path();
        if let Some(name) = path
            .file_name()
            .filter(|_| path.extension().is_some_and(|it| it == "log"))
        {
            fs::copy(&path, Path::new(KEPT_LOGS).join(name))
                .with_context(|| format!("failed to keep {}", path.display()))?;
        }
    }
    Ok(())
}
