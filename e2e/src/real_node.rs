//! A real node on this machine: kubelet, containerd, kube-proxy, DNS and a NetworkPolicy enforcer in
//! namespaces of their own, with a second network as the world outside. Does I/O.
//!
//! Nothing of it outlives its owner. The control plane's processes are ours; everything else, pods too,
//! runs in one process namespace and ends with its first process, which the kernel kills when we die;
//! mounts and networks go with the last process in them. What stays after a crash, a folder and control
//! groups, the next run removes.

mod cgroups;
mod containerd;
mod cri;
mod disturb;
mod door;
mod error;
mod images;
pub mod internet;
mod kubelet;
mod machine;
mod namespaces;
mod network;
mod outside;
mod probe;
mod seclusion;
mod support;
mod tools;

use std::future::Future;
use std::io;
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::runtime::wait::{await_condition, conditions};

pub use containerd::RuntimeError;
pub use error::RealNodeError;
pub use images::{EVERYDAY, ImagesError, STRANGER, archive_of};
pub use kubelet::NODE;
pub use machine::MachineError;
pub use network::{GATEWAY, METADATA, NODE_ADDRESS, NetworkError, OUTSIDE};
pub use outside::{Outside, TCP_PORTS, UDP_PORTS};
pub use probe::{IMAGE_VARIABLE, ProbeError, image};
pub use seclusion::Leak;
pub use support::{Unsupported, supported};
pub use tools::ToolError;

use crate::binaries::{Binaries, NodeBinaries};
use crate::control_plane::{self, ControlPlane, Site};
use crate::folders::RunFolder;
use crate::manifests;
use crate::process::Program;
use crate::progress::PATIENCE;
use door::Door;
use machine::Machine;
use network::Network;

/// Where the API server listens on the node.
const API_SERVER_PORT: u16 = 6443;

/// What has no event is asked for this often.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// What the parts of the machine are called; their logs, too.
const KUBELET: &str = "kubelet";
const PROXY: &str = "kube-proxy";

/// What differs between real nodes.
#[derive(Clone, Debug)]
pub struct Options {
    /// Of the control plane.
    pub control_plane: control_plane::Options,
    /// Whether the enforcer also judges what pods send to the node itself. Kubernetes leaves that open.
    pub guard_node: bool,
    /// Whether the enforcer judges what pods send before a Service's address is translated to a pod's, as
    /// some network plugins do; then what they send to the node is judged, too.
    pub judges_before_translation: bool,
    /// The archive of our image, brought onto the node as it starts; the one [`IMAGE_VARIABLE`] names if
    /// `None`. The program that stands in for workloads is taken out of it.
    pub image: Option<PathBuf>,
    /// From where pods get addresses: a few only, and they are used again soon.
    pub pods: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            control_plane: control_plane::Options::default(),
            guard_node: true,
            judges_before_translation: false,
            image: None,
            pods: "10.244.0.0/24".to_owned(),
        }
    }
}

/// A running node with its control plane. Dropped, nothing of it is left.
///
/// Fields are dropped in order: the machine before the control plane, whose folder is its disk.
#[derive(Debug)]
pub struct RealNode {
    machine: Machine,
    outside: Outside,
    _door: Door,
    plane: ControlPlane,
    network: Network,
    binaries: NodeBinaries,
    programs: Programs,
    options: Options,
}

/// How to start what can be started again.
#[derive(Debug)]
struct Programs {
    first: Program,
    containerd: Program,
    kubelet: Program,
    proxy: Program,
}

impl RealNode {
    /// Starts one and waits until pods run on it, find each other by name and are judged. Binaries that
    /// are missing are built, which is told on standard error.
    pub async fn start(options: Options) -> Result<Self, RealNodeError> {
        let given = options.image.clone();
        let (archive, probe, binaries, node_binaries) = in_background(|| {
            supported()?;
            let archive = given.map_or_else(image, Ok)?;
            let probe = probe::within(&archive)?;
            Ok((archive, probe, Binaries::ensure()?, NodeBinaries::ensure()?))
        })
        .await?;
        let network = Network::make()?;
        let reached = ControlPlane::port(&options.control_plane)?;
        let listens = SocketAddrV4::new(NODE_ADDRESS, API_SERVER_PORT);
        let door = Door::open(&reached.address(), Arc::clone(&network.node), listens);
        let door = door.map_err(RealNodeError::Door)?;
        let site = Site {
            room: Arc::clone(&network.node),
            listens,
            reached,
        };
        let folder = RunFolder::create()?;
        let plane = ControlPlane::prepare(binaries, site, folder, &options.control_plane)?;
        let folder = plane.folder();
        let first = Program::new(&probe, ["pause"]);
        let machine = Machine::boot(&network.node, folder, &first)?;
        let outside = Outside::open(&network.outside, &probe, folder)?;
        let programs = Programs {
            first,
            containerd: containerd::program(&node_binaries, folder, &options.pods)?,
            kubelet: kubelet::kubelet(&node_binaries, &plane, machine.group())?,
            proxy: kubelet::proxy(&node_binaries, &plane, &options.pods)?,
        };
        let mut node = Self {
            machine,
            outside,
            _door: door,
            plane,
            network,
            binaries: node_binaries,
            programs,
            options,
        };
        Box::pin(node.come_up(probe, archive)).await?;
        Ok(node)
    }

    async fn come_up(&mut self, probe: PathBuf, ours: PathBuf) -> Result<(), RealNodeError> {
        self.network.judge(&self.options)?;
        let binaries = self.binaries.clone();
        let archives = in_background(move || Ok(images::archives(&binaries, &probe)?));
        let plane = &mut self.plane;
        let options = &self.options.control_plane;
        let serving = async {
            plane.serve(options).await?;
            let client = plane.administrator().await?;
            for addon in [
                include_str!("real_node/enforcer.yaml"),
                include_str!("real_node/dns.yaml"),
            ] {
                manifests::apply(&client, &manifests::parse(addon)?).await?;
            }
            Ok::<_, RealNodeError>(client)
        };
        let (machine, ctr) = (&mut self.machine, &self.binaries.ctr);
        machine.start(containerd::PART, &self.programs.containerd)?;
        let running = async {
            let archives = archives.await?;
            containerd::answers(machine).await?;
            let machine = &*machine;
            let imports = archives
                .iter()
                .chain([&ours])
                .map(|archive| containerd::import(machine, ctr, archive));
            Ok(futures::future::try_join_all(imports).await.map(drop)?)
        };
        let (client, ()) = tokio::try_join!(serving, running)?;
        self.machine.start(KUBELET, &self.programs.kubelet)?;
        self.machine.start(PROXY, &self.programs.proxy)?;
        let nodes: Api<Node> = Api::all(client.clone());
        let ready = await_condition(nodes, NODE, control_plane::is_ready);
        Box::pin(self.patiently("the node was not ready", ready)).await?;
        self.until_judged().await?;
        let deployments: Api<Deployment> = Api::namespaced(client.clone(), "kube-system");
        let answers = await_condition(
            deployments,
            "coredns",
            conditions::is_deployment_completed(),
        );
        Box::pin(self.patiently("CoreDNS was not ready", answers)).await?;
        Ok(self.plane.default_service_account(client).await?)
    }

    /// Its control plane: client, kubeconfig, folder, audit log, binaries.
    pub fn plane(&self) -> &ControlPlane {
        &self.plane
    }

    /// The world outside.
    pub fn outside(&self) -> &Outside {
        &self.outside
    }

    /// Puts the images of an OCI archive where pods find them.
    pub async fn import(&self, archive: &Path) -> Result<(), RealNodeError> {
        Ok(containerd::import(&self.machine, &self.binaries.ctr, archive).await?)
    }

    /// Does `job` in the node's network, from where it reaches what a process on the node would.
    pub fn on_the_node<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        self.network.node.run(job)
    }

    /// Does `job` in the network of the world outside.
    pub fn in_the_outside<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        self.network.outside.run(job)
    }

    /// An error if any part has ended.
    pub fn check(&mut self) -> Result<(), RealNodeError> {
        self.plane.check()?;
        self.machine.check()?;
        Ok(self.outside.check()?)
    }

    /// Waits until the enforcer takes packets from its queue.
    async fn until_judged(&mut self) -> Result<(), RealNodeError> {
        let node = Arc::clone(&self.network.node);
        let judged = async {
            let mut turn = tokio::time::interval(ASK_EVERY);
            loop {
                turn.tick().await;
                if node.run(network::is_judged)?? {
                    return Ok::<_, RealNodeError>(());
                }
            }
        };
        self.patiently("nobody judged packets", judged).await
    }

    /// What `future` gives, unless a part ends or it takes too long.
    async fn patiently<T, E: Into<RealNodeError>>(
        &mut self,
        what: &'static str,
        future: impl Future<Output = Result<T, E>>,
    ) -> Result<T, RealNodeError> {
        let mut turn = tokio::time::interval(Duration::from_secs(1));
        let mut waited = Box::pin(tokio::time::timeout(PATIENCE, future));
        loop {
            tokio::select! {
                done = &mut waited => {
                    let folder = self.plane.folder();
                    return done
                        .map_err(|_| RealNodeError::NotReady { what, folder: folder.to_owned() })?
                        .map_err(Into::into);
                }
                _ = turn.tick() => self.check()?,
            }
        }
    }
}

/// What blocks for long must not do so where others wait for answers.
async fn in_background<T: Send + 'static>(
    job: impl FnOnce() -> Result<T, RealNodeError> + Send + 'static,
) -> Result<T, RealNodeError> {
    let done = tokio::task::spawn_blocking(job).await;
    done.map_err(|gone| RealNodeError::Background(io::Error::other(gone)))?
}
