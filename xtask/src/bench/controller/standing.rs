//! What many sandboxes that stand cost: memory, the time of a reconcile, a resync and a change of leaders; of
//! claims and, as far as it can be compared, of agent-sandbox's Sandboxes. Does I/O.

use std::time::Instant;

use anyhow::{Context, bail};
use sandgate_shared::render::Installation as Names;

use super::super::audit::{AuditLog, Tally};
use super::super::figure::{Figure, Table};
use super::super::number;
use super::contender::Contender;
use super::counters::{Counters, quiet};
use super::lane::Lane;
use super::paced::until_silent;
use super::ring::Ring;
use super::{LOOK_EVERY, PATIENCE, Scale, leaders};

/// What a claim may take in KiB, and as many as this in MiB.
const EACH: f64 = 12.0;
const ALL: f64 = 150.0;
const MANY: u32 = 10_000;

/// How much longer a reconcile may take where all claims stand.
const SLOWER: f64 = 1.5;

/// Measures both with nothing to do.
pub async fn idle(ring: &mut Ring) -> anyhow::Result<Vec<Figure>> {
    let mut memory = async |whose| {
        ring.turn(whose).await?;
        anyhow::Ok(ring.memory(whose).await? / 1024.0)
    };
    let ours = memory(Contender::Claims).await?;
    let peer = memory(Contender::Sandboxes).await?;
    Ok(vec![
        Figure::within("controller_memory_idle", ours, "MiB", 20.0),
        Figure::shown("agent_sandbox_memory_idle", peer, "MiB"),
        Figure::within(
            "controller_memory_idle_against_agent_sandbox",
            ours,
            "MiB",
            peer,
        ),
    ])
}

/// Measures both with as many as `scale` says.
pub async fn measure(ring: &mut Ring, scale: &Scale, table: &mut Table) -> anyhow::Result<()> {
    let theirs = of_peer(ring, scale.compared).await?;
    ring.turn(Contender::Claims).await?;
    let mut lane = Lane::open(&ring.cluster, Contender::Claims).await?;
    let empty = Memory::of(ring, &lane).await?;
    lane.fill(scale.few).await?;
    let with_few = reconcile(ring, &mut lane, scale.probes).await?;
    lane.fill(scale.compared).await?;
    let compared = Memory::of(ring, &lane).await?;
    table.extend([
        Figure::shown("agent_sandbox_memory_per_sandbox", theirs, "KiB"),
        Figure::within(
            "controller_memory_per_claim_against_agent_sandbox",
            compared.each_since(&empty),
            "KiB",
            theirs,
        ),
    ])?;
    lane.fill(scale.claims).await?;
    let full = Memory::of(ring, &lane).await?;
    table.extend([
        full.whole("controller_memory_with"),
        Figure::within(
            "controller_memory_per_claim",
            full.each_since(&empty),
            "KiB",
            EACH,
        ),
    ])?;
    let with_all = reconcile(ring, &mut lane, scale.probes).await?;
    table.extend(of_reconciles(scale, with_few, with_all))?;
    table.extend(resync(ring, lane.stand()).await?)?;
    // One that starts reads all of them at once.
    let restarted = Memory::of(ring, &lane).await?;
    table.add(restarted.whole("controller_memory_started_with"))?;
    table.add(leaders::with_many(ring, lane.stand()).await?)
}

/// KiB a Sandbox.
async fn of_peer(ring: &mut Ring, count: u32) -> anyhow::Result<f64> {
    ring.turn(Contender::Sandboxes).await?;
    let mut lane = Lane::open(&ring.cluster, Contender::Sandboxes).await?;
    let empty = Memory::of(ring, &lane).await?;
    lane.fill(count).await?;
    let full = Memory::of(ring, &lane).await?;
    lane.close().await?;
    Ok(full.each_since(&empty))
}

/// What a controller took while so many stood.
struct Memory {
    kib: f64,
    stand: u32,
}

impl Memory {
    /// Measures it in the contender's turn, once nothing is left to do.
    async fn of(ring: &mut Ring, lane: &Lane) -> anyhow::Result<Self> {
        if lane.contender() == Contender::Claims {
            quiet(&ring.ours()?.service).await?;
        }
        Ok(Self {
            kib: ring.memory(lane.contender()).await?,
            stand: lane.stand(),
        })
    }

    /// KiB of each that came since.
    fn each_since(&self, before: &Self) -> f64 {
        (self.kib - before.kib) / f64::from(self.stand - before.stand)
    }

    /// All of it.
    fn whole(&self, name: &str) -> Figure {
        let name = format!("{name}_{}_claims", self.stand);
        let mib = self.kib / 1024.0;
        // The budget is that of so many.
        if self.stand < MANY {
            Figure::shown(name, mib, "MiB")
        } else {
            Figure::within(name, mib, "MiB", ALL)
        }
    }
}

/// The median of the reconciles in ms while more claims are made at a pace.
async fn reconcile(ring: &mut Ring, lane: &mut Lane, probes: u32) -> anyhow::Result<f64> {
    let controller = &ring.ours()?.service;
    quiet(controller).await?;
    let before = Counters::of(controller).await?.durations;
    lane.paced(&format!("probe-{}", lane.stand()), probes)
        .await?;
    quiet(controller).await?;
    let took = Counters::of(controller).await?.durations.since(&before);
    let median = took.quantile(0.5);
    let median = median.context("the controller told of no reconcile that it timed")?;
    Ok(median * 1e3)
}

fn of_reconciles(scale: &Scale, with_few: f64, with_all: f64) -> [Figure; 2] {
    let name = |claims: u32| format!("controller_reconcile_p50_with_{claims}_claims");
    [
        Figure::shown(name(scale.few), with_few, "ms"),
        Figure::within(name(scale.claims), with_all, "ms", with_few * SLOWER),
    ]
}

/// Starts the controller again and sees what it writes where nothing has changed.
async fn resync(ring: &mut Ring, claims: u32) -> anyhow::Result<Vec<Figure>> {
    let user = Names::default().identity().username;
    let mut log = AuditLog::new(&ring.cluster.access().audit_log, user);
    until_silent(&mut log).await?;
    let controller = &mut ring.ours()?.service;
    tokio::task::block_in_place(|| controller.stop())?;
    controller.start()?;
    controller.answers("/readyz", PATIENCE).await?;
    let deadline = Instant::now() + PATIENCE;
    let mut turn = tokio::time::interval(LOOK_EVERY);
    while Counters::of(controller).await?.reconciles < f64::from(claims) {
        turn.tick().await;
        if Instant::now() >= deadline {
            bail!(
                "the controller did not look at {claims} claims within {} s of its start",
                PATIENCE.as_secs()
            );
        }
    }
    quiet(controller).await?;
    let tally: Tally = until_silent(&mut log).await?.into_iter().collect();
    for write in &tally.moved {
        eprintln!("  written on resync: {write}");
    }
    Ok(vec![
        Figure::shown("controller_resynced", f64::from(claims), "claims"),
        Figure::counted(
            "controller_writes_on_resync",
            number(tally.moved.len() + tally.baseline),
            "writes",
            0.0,
        ),
        Figure::counted(
            "controller_events_on_resync",
            number(tally.events),
            "events",
            0.0,
        ),
        Figure::shown(
            "controller_dry_runs_on_resync",
            number(tally.dry_runs + tally.unchanged),
            "requests",
        ),
    ])
}
