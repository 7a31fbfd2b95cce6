//! What claims cost: writes, reconciles, memory, the time from a ready pod to `Bound`, and that from a
//! Secret's deletion to the end of the pod that had it. On a control plane of its own, whose fake node makes
//! pods ready at once. Does I/O.

mod counters;
mod revocation;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use sandgate_e2e::installation::{self, Controller};
use sandgate_e2e::own_binaries::OwnBinaries;
use sandgate_e2e::pair::GRACE;
use sandgate_e2e::{Namespace, Options, OwnCluster};
use sandgate_shared::api::SandboxClaim;
use sandgate_shared::names;
use sandgate_shared::render::Installation as Names;

use self::counters::{counters, quiet};
use super::audit::{AuditLog, Tally};
use super::figure::Figure;
use super::latency::Latencies;
use super::manifests::{claim, class, runtime};
use super::process;
use super::sightings::{self, Sightings, is_bound, is_ready};
use super::{number, said};

/// Claims before those that are measured: with them everything that happens once has happened, and
/// the buffers that any number of claims shares have grown.
const WARM_UP: u32 = 50;

/// Claims that are measured, one after the other at [`PACE`].
const CLAIMS: u32 = 200;

/// Ten a second.
const PACE: Duration = Duration::from_millis(100);

/// How long all of them may take to be `Bound` after the last was created.
const PATIENCE: Duration = Duration::from_mins(1);

/// How often it is looked at meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Measures everything about the controller in `own`.
pub async fn measure(own: &OwnBinaries) -> anyhow::Result<Vec<Figure>> {
    let options = Options {
        installation: installation::Options {
            own: Some(own.clone()),
            // Claims with Connections would wait a minute; no figure contains that.
            controller_arguments: vec![format!("--claim-policy-grace={}s", GRACE.as_secs())],
            ..installation::Options::default()
        },
        ..Options::default()
    };
    let mut cluster = Box::pin(OwnCluster::start(options)).await.map_err(said)?;
    let user = Names::default().identity().username;
    let mut log = AuditLog::new(&cluster.access().audit_log, user);
    let namespace = cluster.namespace("bench").await.map_err(said)?;

    quiet(controller(&mut cluster)?).await?;
    let idle = process::resident(id(&mut cluster)?)?;
    let mut figures = vec![Figure::within(
        "controller_memory_idle",
        idle / 1024.0,
        "MiB",
        20.0,
    )];

    namespace.accepts(&class()).await.map_err(said)?;
    namespace.accepts(&runtime()).await.map_err(said)?;
    create(&namespace, "warm-up", WARM_UP).await?;
    quiet(controller(&mut cluster)?).await?;
    log.writes()?;
    let warm = process::resident(id(&mut cluster)?)?;
    let before = counters(controller(&mut cluster)?).await?;
    let seen = create(&namespace, "claim", CLAIMS).await?;
    quiet(controller(&mut cluster)?).await?;
    let after = counters(controller(&mut cluster)?).await?;
    let full = process::resident(id(&mut cluster)?)?;
    let tally: Tally = log.writes()?.into_iter().collect();
    figures.extend(of_writes(&tally));
    figures.push(Figure::counted(
        "controller_reconciles_per_claim",
        (after.reconciles - before.reconciles) / f64::from(CLAIMS),
        "reconciles",
        6.0,
    ));
    figures.push(Figure::within(
        "controller_memory_per_claim",
        (full - warm) / f64::from(CLAIMS),
        "KiB",
        12.0,
    ));
    figures.extend(seen.figures()?);

    restart(controller(&mut cluster)?).await?;
    let again: Tally = log.writes()?.into_iter().collect();
    for write in &again.moved {
        eprintln!("  written on resync: {write}");
    }
    figures.extend(of_resync(&again));
    drop(namespace);
    figures.extend(revocation::measure(&cluster).await?);
    cluster.check().map_err(said)?;
    Ok(figures)
}

fn of_writes(tally: &Tally) -> [Figure; 4] {
    let each = |count: usize| number(count) / f64::from(CLAIMS);
    let most = tally.per_claim.values().copied().max().unwrap_or_default();
    [
        Figure::counted(
            "controller_writes_per_claim",
            each(tally.moved.len()),
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
            each(tally.events),
            "events",
            2.0,
        ),
        Figure::shown(
            "controller_dry_runs_per_claim",
            each(tally.dry_runs),
            "requests",
        ),
    ]
}

fn of_resync(tally: &Tally) -> [Figure; 3] {
    [
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
    ]
}

/// When things happened to the claims.
struct Seen {
    created: HashMap<String, Instant>,
    ready: HashMap<String, Instant>,
    bound: HashMap<String, Instant>,
}

impl Seen {
    fn figures(&self) -> anyhow::Result<[Figure; 5]> {
        let millis = |latencies: &Latencies, percent| {
            latencies
                .millis(percent)
                .context("no claim was seen to be Bound")
        };
        let bound = sightings::between(&self.ready, &self.bound);
        let whole = sightings::between(&self.created, &self.bound);
        Ok([
            Figure::within(
                "pod_ready_to_claim_bound_p50",
                millis(&bound, 50)?,
                "ms",
                15.0,
            ),
            Figure::within(
                "pod_ready_to_claim_bound_p99",
                millis(&bound, 99)?,
                "ms",
                60.0,
            ),
            Figure::shown("claim_created_to_bound_p50", millis(&whole, 50)?, "ms"),
            Figure::shown("claim_created_to_bound_p99", millis(&whole, 99)?, "ms"),
            Figure::shown("claims_measured", number(bound.len()), "claims"),
        ])
    }
}

/// Creates `count` claims at their pace and waits until all are `Bound`.
async fn create(namespace: &Namespace, prefix: &'static str, count: u32) -> anyhow::Result<Seen> {
    let ready = Sightings::follow(namespace.api::<Pod>(), move |pod| {
        let claim = pod.labels().get(names::LABEL_CLAIM);
        claim
            .filter(|claim| claim.starts_with(prefix) && is_ready(pod))
            .cloned()
    })
    .await?;
    let mut bound = Sightings::follow(namespace.api::<SandboxClaim>(), move |claim| {
        let name = claim.name_any();
        (name.starts_with(prefix) && is_bound(claim)).then_some(name)
    })
    .await?;
    let mut pace = tokio::time::interval(PACE);
    let mut created = HashMap::new();
    for index in 0..count {
        pace.tick().await;
        let name = format!("{prefix}-{index}");
        created.insert(name.clone(), Instant::now());
        namespace.accepts(&claim(&name)).await.map_err(said)?;
    }
    bound.reach(usize::try_from(count)?, PATIENCE).await?;
    Ok(Seen {
        created,
        ready: ready.moments(),
        bound: bound.moments(),
    })
}

/// Starts the controller again and waits until it has looked at every claim and has nothing left to
/// do.
async fn restart(controller: &mut Controller) -> anyhow::Result<()> {
    controller.service.stop()?;
    controller.service.start()?;
    controller.service.answers("/readyz", PATIENCE).await?;
    let deadline = Instant::now() + PATIENCE;
    let mut turn = tokio::time::interval(LOOK_EVERY);
    while counters(controller).await?.reconciles < f64::from(WARM_UP + CLAIMS) {
        turn.tick().await;
        if Instant::now() >= deadline {
            return Err(anyhow!(
                "the controller did not look at all claims within {} s of its start",
                PATIENCE.as_secs()
            ));
        }
    }
    quiet(controller).await
}

fn controller(cluster: &mut OwnCluster) -> anyhow::Result<&mut Controller> {
    cluster
        .installation
        .controller
        .as_mut()
        .context("the cluster has no controller")
}

fn id(cluster: &mut OwnCluster) -> anyhow::Result<u32> {
    controller(cluster)?
        .service
        .id()
        .context("the controller does not run")
}
