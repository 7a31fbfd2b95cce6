//! How long nobody looks after claims when the leader ends or dies. Does I/O.

use std::time::{Duration, Instant};

use anyhow::Context;
use sandgate_e2e::service::Service;

use super::super::figure::Figure;
use super::super::latency::Latencies;
use super::super::said;
use super::PATIENCE;
use super::counters::{Counters, quiet};
use super::ring::Ring;

/// How often a leader is told to end, and how often one is killed.
const ENDS: usize = 5;
const DEATHS: usize = 2;

/// How long a Lease lasts that its holder does not renew: the controller's default.
const LEASE: Duration = Duration::from_secs(15);

/// From a leader's death, beyond [`LEASE`]: it may die right after a renewal, and the one that waits counts
/// from when it saw that; then it has to take the Lease and to read all claims.
const TAKING: Duration = Duration::from_secs(1);

/// From a leader's being told to end.
const HANDOVER: Duration = Duration::from_secs(2);

/// Nothing tells of another process' first reconcile but its metrics, which are asked for this often.
const ASK_EVERY: Duration = Duration::from_millis(10);

/// What becomes of a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// SIGTERM.
    Told,
    /// SIGKILL.
    Killed,
}

/// Measures it where claims stand; the installation's first controller leads before and after.
pub async fn measure(ring: &mut Ring) -> anyhow::Result<Vec<Figure>> {
    let told = rounds(ring, End::Told, ENDS).await?;
    let killed = rounds(ring, End::Killed, DEATHS).await?;
    let millis = |latencies: &Latencies, percent| {
        let none = "no change of leaders was measured";
        latencies.millis(percent).context(none)
    };
    Ok(vec![
        Figure::shown("leader_told_to_end_p50", millis(&told, 50)?, "ms"),
        Figure::within(
            "leader_told_to_end_longest",
            millis(&told, 100)?,
            "ms",
            HANDOVER.as_secs_f64() * 1e3,
        ),
        Figure::within(
            "leader_killed_longest",
            millis(&killed, 100)?,
            "ms",
            (LEASE + TAKING).as_secs_f64() * 1e3,
        ),
    ])
}

/// Measures one orderly change where `claims` stand.
pub async fn with_many(ring: &mut Ring, claims: u32) -> anyhow::Result<Figure> {
    let took = rounds(ring, End::Told, 1).await?;
    let longest = took.millis(100).context("the leader did not change")?;
    let name = format!("leader_told_to_end_with_{claims}_claims");
    let budget = HANDOVER.as_secs_f64() * 1e3;
    Ok(Figure::within(name, longest, "ms", budget))
}

async fn rounds(ring: &mut Ring, end: End, count: usize) -> anyhow::Result<Latencies> {
    let mut second = ring.cluster.second_controller().await.map_err(said)?;
    let standby = &mut second.service;
    let first = &mut ring.ours()?.service;
    let mut took = Vec::new();
    for round in 0..count {
        let (leads, waits): (&mut Service, &mut Service) = if round % 2 == 0 {
            (&mut *first, &mut *standby)
        } else {
            (&mut *standby, &mut *first)
        };
        waits.start()?;
        waits.answers("/readyz", PATIENCE).await?;
        quiet(leads).await?;
        took.push(change(leads, waits, end).await?);
    }
    first.start()?;
    first.answers("/readyz", PATIENCE).await?;
    tokio::task::block_in_place(|| standby.stop())?;
    quiet(first).await?;
    Ok(took.into_iter().collect())
}

/// From the signal to the first reconcile of the one that waits.
async fn change(leads: &mut Service, waits: &Service, end: End) -> anyhow::Result<Duration> {
    let address = waits.health_address();
    let before = Counters::at(&address).await?.reconciles;
    let began = Instant::now();
    let reconciles = tokio::spawn(async move {
        let mut turn = tokio::time::interval(ASK_EVERY);
        loop {
            turn.tick().await;
            if Counters::at(&address).await?.reconciles > before {
                return anyhow::Ok(began.elapsed());
            }
        }
    });
    tokio::task::block_in_place(|| match end {
        End::Told => leads.stop(),
        End::Killed => {
            leads.kill();
            Ok(())
        }
    })?;
    tokio::time::timeout(PATIENCE, reconciles)
        .await
        .context("nobody looks after claims any more")??
}
