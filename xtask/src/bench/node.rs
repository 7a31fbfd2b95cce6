//! From a claim to a sandbox that can be dialled, on a real node with the image and chart as they are
//! shipped, and what of that time is waited for whom. Does I/O.
//!
//! Every moment is when we saw it, through a watch that stood before: on a busy machine that is a
//! little later than it was.

mod picture;
mod timeline;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use sandgate_e2e::Namespace;
use sandgate_e2e::node_cluster::{self, NodeCluster};
use sandgate_e2e::progress::Step;
use sandgate_shared::api::SandboxClaim;
use sandgate_shared::names;

use self::timeline::{Part, Timeline, median};
use super::figure::Figure;
use super::latency::Latencies;
use super::manifests::{claim, class_on_node, runtime};
use super::sightings::{Sightings, is_bound, is_ready};
use super::{number, said};

/// Claims before those that are measured: the namespace gets its baseline, and programs are read from
/// the disk for the first time.
const WARM_UP: usize = 3;

/// Claims that are measured, one after the other.
const CLAIMS: usize = 30;

/// Claims that are created at once.
const CROWD: usize = 15;

/// How long one, or all of a crowd, may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// The kubelet looks at its containers once a second. A claim that is created as soon as the one
/// before it is Bound would always meet it at the same moment of that second.
const KUBELET_LOOKS_EVERY: Duration = Duration::from_secs(1);

/// The budgets, in milliseconds.
const BOUND_WITHIN: f64 = 2000.0;
const OURS_WITHIN: f64 = 300.0;

/// What is drawn, besides the figures.
pub struct Picture<'a> {
    /// Into this file.
    pub file: &'a Path,
    /// On what it was measured.
    pub machine: &'a str,
}

/// Measures on a node of its own with the image in `archive`.
pub async fn measure(archive: PathBuf, picture: &Picture<'_>) -> anyhow::Result<Vec<Figure>> {
    let mut options = node_cluster::Options::default();
    options.node.image = Some(archive);
    let mut cluster = Box::pin(NodeCluster::start(options)).await.map_err(said)?;
    let step = Step::begin("measuring claims on the node");
    let namespace = cluster.namespace("bench").await.map_err(said)?;
    let class = class_on_node(&node_cluster::image_name());
    namespace.accepts(&class).await.map_err(said)?;
    namespace.accepts(&runtime()).await.map_err(said)?;
    let mut watches = Watches::open(&namespace).await?;

    for index in 0..WARM_UP {
        watches
            .follow(&namespace, &format!("warm-up-{index}"))
            .await?;
    }
    let mut timelines = Vec::new();
    for index in 0..CLAIMS {
        tokio::time::sleep(pause(index)).await;
        timelines.push(
            watches
                .follow(&namespace, &format!("claim-{index}"))
                .await?,
        );
    }
    let crowd = watches.crowd(&namespace).await?;
    drop(watches);
    drop(namespace);
    cluster.check().map_err(said)?;
    step.done();

    let median = median(&timelines).context("no claim was measured")?;
    draw(median, timelines.len(), picture)?;
    let mut figures = figures(&timelines)?;
    figures.push(Figure::shown(
        format!("node_{CROWD}_claims_at_once_all_bound"),
        crowd.as_secs_f64() * 1e3,
        "ms",
    ));
    Ok(figures)
}

/// How long to wait before a claim: after few claims, every part of the second has had some.
fn pause(index: usize) -> Duration {
    /// The golden section: its multiples never come close to each other.
    const SECTION: f64 = 0.618_034;
    KUBELET_LOOKS_EVERY.mul_f64((number(index) * SECTION).fract())
}

fn figures(timelines: &[Timeline]) -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let mut add = |name: &str, budget: Option<f64>, of: &dyn Fn(&Timeline) -> Duration| {
        let all: Latencies = timelines.iter().map(of).collect();
        let none = "no claim was measured";
        let (middle, most) = (
            all.millis(50).context(none)?,
            all.millis(100).context(none)?,
        );
        let name = format!("node_{name}");
        figures.push(match budget {
            Some(budget) => Figure::within(format!("{name}_p50"), middle, "ms", budget),
            None => Figure::shown(format!("{name}_p50"), middle, "ms"),
        });
        figures.push(Figure::shown(format!("{name}_max"), most, "ms"));
        anyhow::Ok(())
    };
    add("claim_to_bound", Some(BOUND_WITHIN), &Timeline::whole)?;
    add("own_parts", Some(OURS_WITHIN), &Timeline::ours)?;
    for part in Part::ALL {
        add(&format!("part_{}", part.name()), None, &|timeline| {
            timeline.of(part)
        })?;
    }
    figures.push(Figure::shown(
        "node_claims_measured",
        number(timelines.len()),
        "claims",
    ));
    Ok(figures)
}

fn draw(median: &Timeline, measured: usize, picture: &Picture<'_>) -> anyhow::Result<()> {
    let svg = picture::render(median, measured, picture.machine);
    let file = picture.file;
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)
            .with_context(|| format!("failed to make {}", folder.display()))?;
    }
    fs::write(file, svg).with_context(|| format!("failed to write {}", file.display()))?;
    eprintln!("  the median claim: {}", file.display());
    Ok(())
}

/// A claim, and what it no longer waits for.
type Seen = (String, Part);

/// Everything that is seen of claims and their objects.
struct Watches {
    deployments: Sightings<Seen>,
    pods: Sightings<Seen>,
    bound: Sightings<Seen>,
    /// How many claims must have been seen Bound.
    created: usize,
}

impl Watches {
    async fn open(namespace: &Namespace) -> anyhow::Result<Self> {
        let deployments = Sightings::follow(namespace.api::<Deployment>(), |deployment| {
            let claim = deployment.labels().get(names::LABEL_CLAIM)?;
            Some((claim.clone(), Part::Reconcile))
        });
        let pods = Sightings::follow(namespace.api::<Pod>(), |pod| {
            let claim = pod.labels().get(names::LABEL_CLAIM);
            let of = |claim: &String| {
                let parts = parts_of(pod).into_iter();
                parts.map(|part| (claim.clone(), part)).collect()
            };
            claim.map_or_else(Vec::new, of)
        });
        let bound = Sightings::follow(namespace.api::<SandboxClaim>(), |claim| {
            let answers = is_bound(claim) && has_addresses(claim);
            answers.then(|| (claim.name_any(), Part::Publish))
        });
        let (deployments, pods, bound) = tokio::try_join!(deployments, pods, bound)?;
        Ok(Self {
            deployments,
            pods,
            bound,
            created: 0,
        })
    }

    /// Creates a claim and follows it until it is Bound.
    async fn follow(&mut self, namespace: &Namespace, name: &str) -> anyhow::Result<Timeline> {
        let sent = Instant::now();
        namespace.accepts(&claim(name)).await.map_err(said)?;
        let answered = Instant::now();
        self.created += 1;
        self.bound.reach(self.created, PATIENCE).await?;
        let mut moments: HashMap<Seen, Instant> = self.bound.moments();
        moments.extend(self.deployments.moments());
        moments.extend(self.pods.moments());
        let seen = |part| match part {
            Part::Admission => Some(answered),
            seen => moments.get(&(name.to_owned(), seen)).copied(),
        };
        Timeline::split(sent, seen).with_context(|| format!("not all was seen of {name}"))
    }

    /// How long it takes until all of many claims that are created at once are Bound.
    async fn crowd(&mut self, namespace: &Namespace) -> anyhow::Result<Duration> {
        let claims: Vec<_> = (0..CROWD)
            .map(|index| claim(&format!("crowd-{index}")))
            .collect();
        let sent = Instant::now();
        let created = claims.iter().map(|claim| namespace.accepts(claim));
        futures::future::try_join_all(created).await.map_err(said)?;
        self.created += CROWD;
        self.bound.reach(self.created, PATIENCE).await?;
        Ok(sent.elapsed())
    }
}

/// What a claim with this pod no longer waits for.
fn parts_of(pod: &Pod) -> Vec<Part> {
    let scheduled = pod
        .spec
        .as_ref()
        .is_some_and(|spec| spec.node_name.is_some());
    let containers = pod
        .status
        .as_ref()
        .and_then(|status| status.container_statuses.as_ref());
    let runs = containers.into_iter().flatten().any(|container| {
        let state = container.state.as_ref();
        state.is_some_and(|state| state.running.is_some())
    });
    [
        (Part::Replica, true),
        (Part::Schedule, scheduled),
        (Part::Kubelet, runs),
        (Part::Probe, is_ready(pod)),
    ]
    .into_iter()
    .filter_map(|(part, done)| done.then_some(part))
    .collect()
}

fn has_addresses(claim: &SandboxClaim) -> bool {
    let addresses = claim
        .status
        .as_ref()
        .and_then(|status| status.addresses.as_ref());
    addresses.is_some_and(|addresses| !addresses.is_empty())
}

#[cfg(test)]
mod tests;
