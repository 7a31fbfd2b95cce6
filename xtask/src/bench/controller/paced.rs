//! What each sandbox costs at ten a second: writes, reconciles, and the time from a ready pod to where a
//! user reads it; of claims and of agent-sandbox's Sandboxes in turns. Does I/O.

use anyhow::Context;
use sandgate_shared::render::Installation as Names;

use super::super::audit::{AuditLog, Tally, Write};
use super::super::figure::Figure;
use super::super::latency::Latencies;
use super::super::number;
use super::contender::Contender;
use super::counters::{Counters, quiet};
use super::lane::{Lane, Seen};
use super::ring::{PEER, Ring};
use super::still::until_still;

/// Each contender is measured this often, in turns: what disturbs the machine meanwhile disturbs both.
const ROUNDS: u32 = 2;

/// What came of one contender's rounds.
#[derive(Debug)]
struct Side {
    log: AuditLog,
    made: u32,
    writes: Vec<Write>,
    reconciles: f64,
    after_ready_pod: Latencies,
    whole: Latencies,
}

impl Side {
    fn of(ring: &Ring, user: String) -> Self {
        Self {
            log: AuditLog::new(&ring.cluster.access().audit_log, user),
            made: 0,
            writes: Vec::new(),
            reconciles: 0.0,
            after_ready_pod: Latencies::default(),
            whole: Latencies::default(),
        }
    }

    fn each(&self, count: f64) -> f64 {
        count / f64::from(self.made)
    }

    fn after_ready_pod(&self, percent: usize) -> anyhow::Result<f64> {
        millis(&self.after_ready_pod, percent)
    }

    fn whole(&self, percent: usize) -> anyhow::Result<f64> {
        millis(&self.whole, percent)
    }

    fn add(&mut self, made: u32, seen: &Seen) {
        self.made += made;
        self.after_ready_pod =
            std::mem::take(&mut self.after_ready_pod).and(seen.after_ready_pod());
        self.whole = std::mem::take(&mut self.whole).and(seen.whole());
    }
}

/// Measures `count` of each in each round.
pub async fn measure(ring: &mut Ring, count: u32) -> anyhow::Result<Vec<Figure>> {
    let mut ours = Side::of(ring, Names::default().identity().username);
    let mut peer = Side::of(ring, PEER.to_owned());
    for round in 0..ROUNDS {
        for contender in [Contender::Claims, Contender::Sandboxes] {
            ring.turn(contender).await?;
            let mut lane = Lane::open(&ring.cluster, contender).await?;
            let before = reconciles(ring, contender).await?;
            let result = match contender {
                Contender::Claims => &mut ours,
                _ => &mut peer,
            };
            until_silent(&mut result.log).await?;
            let seen = lane.paced(&format!("paced-{round}"), count).await?;
            let after = reconciles(ring, contender).await?;
            result.writes.extend(until_silent(&mut result.log).await?);
            result.reconciles += after - before;
            result.add(count, &seen);
            lane.close().await?;
        }
    }
    let mut figures = of_ours(&ours)?;
    figures.extend(of_peer(&peer, &ours)?);
    Ok(figures)
}

/// How often our controller has looked at claims once it is quiet; nobody asks agent-sandbox.
async fn reconciles(ring: &mut Ring, contender: Contender) -> anyhow::Result<f64> {
    if contender != Contender::Claims {
        return Ok(0.0);
    }
    let controller = &ring.ours()?.service;
    quiet(controller).await?;
    Ok(Counters::of(controller).await?.reconciles)
}

/// What its user wrote since the last call, once they write nothing more but Leases.
pub async fn until_silent(log: &mut AuditLog) -> anyhow::Result<Vec<Write>> {
    let mut all = Vec::new();
    until_still("a controller writes", async || {
        let more = log.writes()?;
        let changed = more.iter().any(|write| write.resource != "leases");
        all.extend(more);
        Ok(changed)
    })
    .await?;
    Ok(all)
}

fn millis(latencies: &Latencies, percent: usize) -> anyhow::Result<f64> {
    let none = "nothing was seen to become ready";
    latencies.millis(percent).context(none)
}

fn of_ours(ours: &Side) -> anyhow::Result<Vec<Figure>> {
    let tally: Tally = ours.writes.iter().cloned().collect();
    let most = tally.per_claim.values().copied().max().unwrap_or_default();
    Ok(vec![
        Figure::counted(
            "controller_writes_per_claim",
            ours.each(number(tally.moved.len())),
            "writes",
            5.0,
        ),
        Figure::shown(
            "controller_writes_of_the_costliest_claim",
            number(most),
            "writes",
        ),
        Figure::counted(
            "controller_events_per_claim",
            ours.each(number(tally.events)),
            "events",
            2.0,
        ),
        Figure::shown(
            "controller_dry_runs_per_claim",
            ours.each(number(tally.dry_runs)),
            "requests",
        ),
        Figure::counted(
            "controller_reconciles_per_claim",
            ours.each(ours.reconciles),
            "reconciles",
            6.0,
        ),
        Figure::within(
            "pod_ready_to_claim_bound_p50",
            ours.after_ready_pod(50)?,
            "ms",
            15.0,
        ),
        Figure::within(
            "pod_ready_to_claim_bound_p99",
            ours.after_ready_pod(99)?,
            "ms",
            60.0,
        ),
        Figure::shown("claim_created_to_bound_p50", ours.whole(50)?, "ms"),
        Figure::shown("claim_created_to_bound_p99", ours.whole(99)?, "ms"),
        Figure::shown(
            "claims_measured",
            number(ours.after_ready_pod.len()),
            "claims",
        ),
    ])
}

/// That of agent-sandbox, and where ours must be ahead of it. Not in writes: a claim owes a policy and a
/// status more than a Sandbox has.
fn of_peer(peer: &Side, ours: &Side) -> anyhow::Result<Vec<Figure>> {
    let tally: Tally = peer.writes.iter().cloned().collect();
    let mut figures = vec![
        Figure::shown(
            "agent_sandbox_writes_per_sandbox",
            peer.each(number(tally.moved.len())),
            "writes",
        ),
        Figure::shown(
            "agent_sandbox_events_per_sandbox",
            peer.each(number(tally.events)),
            "events",
        ),
        Figure::shown("agent_sandbox_created_to_ready_p50", peer.whole(50)?, "ms"),
        Figure::shown(
            "agent_sandbox_measured",
            number(peer.after_ready_pod.len()),
            "sandboxes",
        ),
    ];
    for percent in [50, 99] {
        let theirs = peer.after_ready_pod(percent)?;
        figures.push(Figure::shown(
            format!("agent_sandbox_pod_ready_to_ready_p{percent}"),
            theirs,
            "ms",
        ));
        figures.push(Figure::within(
            format!("pod_ready_to_claim_bound_p{percent}_against_agent_sandbox"),
            ours.after_ready_pod(percent)?,
            "ms",
            theirs,
        ));
    }
    Ok(figures)
}
