//! `cargo xtask up`: from a fresh machine to a cluster that shows what Sandgate does, told as a
//! story. Does I/O.

mod packets;
mod story;
mod tree;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use sandgate_e2e::own_binaries::OwnBinaries;
use sandgate_e2e::progress::{Step, seconds};
use sandgate_e2e::{Cluster, NodeCluster, OwnCluster, node_cluster, real_node};
use tokio::signal::unix::{SignalKind, signal};

use crate::{image, tools};

/// How often a cluster that stays up is looked after.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Starts everything and tells the story; stays until Ctrl-C unless `once`. Whatever happens,
/// nothing is left behind.
pub async fn run(once: bool, port: Option<u16>, fake_node: bool) -> anyhow::Result<()> {
    // From the first moment on: also a build that is interrupted ends in order.
    let mut interrupt = signal(SignalKind::interrupt()).context("failed to hear Ctrl-C")?;
    let mut terminate = signal(SignalKind::terminate()).context("failed to hear SIGTERM")?;
    let mut hang_up = signal(SignalKind::hangup()).context("failed to hear SIGHUP")?;
    tokio::select! {
        done = start_and_tell(once, port, fake_node) => return done,
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

async fn start_and_tell(once: bool, port: Option<u16>, fake_node: bool) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut stage = if fake_node {
        eprintln!("  a fake node plays the kubelet, as asked: pods get ready and run nothing");
        Stage::fake(port).await?
    } else if let Err(why) = real_node::supported() {
        eprintln!("  a fake node plays the kubelet, pods get ready and run nothing: {why}");
        Stage::fake(port).await?
    } else {
        eprintln!("  a real node: what is shown below are processes and packets");
        Stage::real(port).await?
    };
    eprintln!("  up in {}", seconds(began.elapsed()));

    let told = match &stage {
        Stage::Fake(cluster) => Box::pin(story::tell(cluster, None)).await,
        Stage::Real(cluster) => {
            let node = story::OnNode {
                image: node_cluster::image_name(),
                outside: SocketAddr::from((real_node::OUTSIDE[0], real_node::TCP_PORTS[0]))
                    .to_string(),
            };
            Box::pin(story::tell(cluster, Some(&node))).await
        }
    };
    told.map_err(|failure| anyhow!("{failure}"))?;
    if once {
        let end = format!("\nThe story holds. ({})", seconds(began.elapsed()));
        return story::say(end).map_err(|failure| anyhow!("{failure}"));
    }
    story::what_next(stage.cluster()).map_err(|failure| anyhow!("{failure}"))?;
    let mut turn = tokio::time::interval(LOOK_EVERY);
    loop {
        turn.tick().await;
        stage.check()?;
    }
}

/// What the story is told on.
enum Stage {
    /// Our binaries as processes of this machine; pods are only said to run.
    Fake(Box<OwnCluster>),
    /// Our image, installed by our chart.
    Real(Box<NodeCluster>),
}

impl Stage {
    async fn fake(port: Option<u16>) -> anyhow::Result<Self> {
        let step = Step::begin("building sandgate-webhook and sandgate-controller");
        let parts = ["-p", "sandgate-webhook", "-p", "sandgate-controller"];
        tools::run_cargo(&[&["build", "--quiet"], &parts[..]].concat()).await?;
        step.done();
        let mut options = sandgate_e2e::Options::default();
        options.control_plane.port = port;
        options.installation.own = Some(OwnBinaries::within(&tools::binaries()?)?);
        let cluster = Box::pin(OwnCluster::start(options)).await;
        Ok(Self::Fake(Box::new(
            cluster.map_err(|failure| anyhow!("{failure}"))?,
        )))
    }

    async fn real(port: Option<u16>) -> anyhow::Result<Self> {
        let mut options = node_cluster::Options::default();
        options.node.image = Some(image::ensure(image::Make::Tried).await?);
        options.node.control_plane.port = port;
        let cluster = Box::pin(NodeCluster::start(options)).await;
        Ok(Self::Real(Box::new(
            cluster.map_err(|failure| anyhow!("{failure}"))?,
        )))
    }

    fn cluster(&self) -> &Cluster {
        match self {
            Self::Fake(cluster) => cluster,
            Self::Real(cluster) => cluster,
        }
    }

    fn check(&mut self) -> anyhow::Result<()> {
        let checked = match self {
            Self::Fake(cluster) => cluster.check(),
            Self::Real(cluster) => cluster.check(),
        };
        checked.map_err(|failure| anyhow!("{failure}"))
    }
}
