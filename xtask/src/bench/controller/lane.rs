//! A namespace in which one contender makes sandboxes, at a pace or as fast as can be. Does I/O.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use anyhow::Context;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Namespace as NamespaceObject;
use kube::api::DeleteParams;
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, ResourceExt};
use sandgate_e2e::progress::Step;
use sandgate_e2e::{Cluster, Namespace};

use super::super::latency::Latencies;
use super::super::said;
use super::super::sightings;
use super::PATIENCE;
use super::contender::Contender;

/// Made before those that are measured: with them everything that happens once has happened.
const WARM_UP: u32 = 20;

/// Ten a second.
const PACE: Duration = Duration::from_millis(100);

/// Requests of one client that wait for their answer at the same time.
const IN_FLIGHT: usize = 32;

/// As many are made at once; then all must be ready before there are more, so that it is the controllers'
/// number that grows, and not the queues of the control plane.
const AT_ONCE: u32 = 500;

/// How much longer than [`PATIENCE`] each further object may take: many times what they do.
const EACH: Duration = Duration::from_millis(500);

/// The namespace.
pub struct Lane {
    namespace: Namespace,
    contender: Contender,
    stand: u32,
}

/// When things happened to what was made at a pace.
pub struct Seen {
    created: HashMap<String, Instant>,
    pod_ready: HashMap<String, Instant>,
    finished: HashMap<String, Instant>,
}

impl Seen {
    /// From a pod that is ready to what says so.
    pub fn after_ready_pod(&self) -> Latencies {
        sightings::between(&self.pod_ready, &self.finished)
    }

    /// From the start of the create to what says that it is ready.
    pub fn whole(&self) -> Latencies {
        sightings::between(&self.created, &self.finished)
    }
}

impl Lane {
    /// A namespace in which the first few stand.
    pub async fn open(cluster: &Cluster, contender: Contender) -> anyhow::Result<Self> {
        let namespace = cluster.namespace(contender.name()).await.map_err(said)?;
        contender.prepare(&namespace).await?;
        let mut lane = Self {
            namespace,
            contender,
            stand: 0,
        };
        lane.burst("warm-up", WARM_UP).await?;
        Ok(lane)
    }

    /// Makes `count` of them, ten a second, and waits until all are ready.
    pub async fn paced(&mut self, prefix: &str, count: u32) -> anyhow::Result<Seen> {
        let pods = self.contender.ready_pods(&self.namespace).await?;
        let mut finished = self.contender.finished(&self.namespace).await?;
        let mut pace = tokio::time::interval(PACE);
        let mut created = HashMap::new();
        for index in 0..count {
            pace.tick().await;
            let name = format!("{prefix}-{index}");
            created.insert(name.clone(), Instant::now());
            self.contender.create(&self.namespace, &name).await?;
        }
        finished.reach(usize::try_from(count)?, PATIENCE).await?;
        self.stand += count;
        Ok(Seen {
            created,
            pod_ready: pods.moments(),
            finished: finished.moments(),
        })
    }

    /// Makes `count` by one client with [`IN_FLIGHT`] requests in flight, and waits until all are
    /// ready; how long that was from the first create to the last that was.
    pub async fn burst(&mut self, prefix: &str, count: u32) -> anyhow::Result<Duration> {
        self.some(prefix, 0..count).await
    }

    async fn some(&mut self, prefix: &str, which: Range<u32>) -> anyhow::Result<Duration> {
        let count = which.len();
        let mut finished = self.contender.finished(&self.namespace).await?;
        let began = Instant::now();
        futures::stream::iter(which)
            .map(|index| self.create(prefix, index))
            .buffer_unordered(IN_FLIGHT)
            .try_collect::<()>()
            .await?;
        finished
            .reach(count, PATIENCE + EACH * u32::try_from(count)?)
            .await?;
        self.stand += u32::try_from(count)?;
        let last = finished.moments().into_values().max();
        let last = last.context("nothing was made")?;
        Ok(last.saturating_duration_since(began))
    }

    async fn create(&self, prefix: &str, index: u32) -> anyhow::Result<()> {
        let name = format!("{prefix}-{index}");
        self.contender.create(&self.namespace, &name).await
    }

    /// Who makes them.
    pub fn contender(&self) -> Contender {
        self.contender
    }

    /// How many stand.
    pub fn stand(&self) -> u32 {
        self.stand
    }

    /// Makes more until `count` stand.
    pub async fn fill(&mut self, count: u32) -> anyhow::Result<()> {
        let name = self.contender.name();
        let mut step = Step::begin(&format!("making {name} until {count} stand"));
        while self.stand < count {
            let to = count.min(self.stand + AT_ONCE);
            self.some("one", self.stand..to).await?;
            step.advance(&format!("{to} stand"));
        }
        step.done();
        Ok(())
    }

    /// Deletes all of it and waits until it is gone: what is measured next has the control plane for itself.
    pub async fn close(self) -> anyhow::Result<()> {
        let namespaces: Api<NamespaceObject> = Api::all(self.namespace.cluster().client());
        let name = self.namespace.name();
        let uid = namespaces.get(name).await?.uid().unwrap_or_default();
        namespaces.delete(name, &DeleteParams::default()).await?;
        let gone = await_condition(namespaces, name, conditions::is_deleted(&uid));
        tokio::time::timeout(PATIENCE + EACH * self.stand, gone)
            .await
            .with_context(|| format!("the namespace {name} took too long to go"))??;
        Ok(())
    }
}
