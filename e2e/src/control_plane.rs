//! A real etcd, API server, controller manager and scheduler, and by itself a fake node. Does I/O.

mod credentials;
mod parts;
mod restart;

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kube::{Api, Client};
use serde_json::Value;

use crate::binaries::{Binaries, Version};
use crate::fake_node::{self, FakeNodeError};
use crate::folders::{FolderError, RunFolder};
use crate::kubeconfig::{self, KubeconfigError};
use crate::manifests::{self, ManifestError};
use crate::pki::Authority;
use crate::ports::{Port, PortError};
use crate::process::{self, Process, ProcessError, Program};
use crate::progress::PATIENCE;
use crate::room::Room;

/// Readiness is asked for this often: the parts have no event to wait for.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Why the control plane did not come up.
#[derive(Debug, thiserror::Error)]
pub enum ControlPlaneError {
    /// No port.
    #[error(transparent)]
    Port(#[from] PortError),
    /// No folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// No thread to start processes from.
    #[error("failed to start a thread")]
    Room(#[from] io::Error),
    /// A part did not start, or ended.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// Nobody waits any more for a part to end.
    #[error("failed to wait until a part has ended")]
    Stop(#[source] tokio::task::JoinError),
    /// Certificates could not be made.
    #[error("failed to make the certificates of the control plane")]
    Certificates(#[from] rcgen::Error),
    /// A client could not be made.
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    /// A kind was refused.
    #[error(transparent)]
    Kinds(#[from] ManifestError),
    /// The fake node did not become ready.
    #[error(transparent)]
    FakeNode(#[from] FakeNodeError),
    /// A part was never ready.
    #[error("{part} was not ready after {} s: {last}; the end of its log:\n{tail}", PATIENCE.as_secs())]
    NotReady {
        /// Which part.
        part: &'static str,
        /// The last answer it gave.
        last: String,
        /// The end of its log; the log itself goes with the run.
        tail: String,
    },
}

/// What differs between control planes.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether the API server serves `ValidatingAdmissionPolicy`.
    pub policy_api: bool,
    /// Of which version it is, for a cluster that finds its own binaries.
    pub version: Version,
    /// The API server's port; a free one if `None`.
    pub port: Option<u16>,
    /// `CustomResourceDefinition`s to put in place before the controllers start: the garbage collector
    /// looks for further kinds only every 30 s, and until then deletes nothing they own.
    pub kinds: Vec<Value>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            policy_api: true,
            version: Version::default(),
            port: None,
            kinds: Vec::new(),
        }
    }
}

/// Where the parts run, and how they are reached.
#[derive(Debug)]
pub(crate) struct Site {
    /// Where they are born.
    pub room: Arc<Room>,
    /// Where the API server listens, as those beside it reach it.
    pub listens: SocketAddrV4,
    /// Where it is reached from the machine's own network.
    pub reached: Port,
}

/// A running control plane: dropped, nothing of it is left.
///
/// Fields are dropped in order: first the processes, then the folder they write to.
#[derive(Debug)]
pub struct ControlPlane {
    running: BTreeMap<&'static str, Process>,
    /// How to start the API server, once it was started.
    api_server: Option<Program>,
    /// Held so that nobody else takes them.
    ports: Vec<Port>,
    site: Site,
    server: String,
    authority: Authority,
    binaries: Binaries,
    policy_api: bool,
    folder: RunFolder,
}

impl ControlPlane {
    /// Starts everything and waits until a pod could run on the fake node.
    pub async fn start(binaries: Binaries, options: &Options) -> Result<Self, ControlPlaneError> {
        let reached = Self::port(options)?;
        let site = Site {
            room: Room::here()?,
            listens: SocketAddrV4::new(Ipv4Addr::LOCALHOST, reached.number()),
            reached,
        };
        let mut plane = Self::prepare(binaries, site, RunFolder::create()?, options)?;
        plane.serve(options).await?;
        plane.start_fake_kubelet()?;
        let client = plane.administrator().await?;
        let node = fake_node::join(client.clone());
        tokio::try_join!(
            async { Ok::<_, ControlPlaneError>(node.await?) },
            plane.default_service_account(client)
        )?;
        Ok(plane)
    }

    /// The port clients on this machine use.
    pub(crate) fn port(options: &Options) -> Result<Port, PortError> {
        options.port.map_or_else(Port::free, Port::exactly)
    }

    /// Credentials and folder of one that is not started yet.
    pub(crate) fn prepare(
        binaries: Binaries,
        site: Site,
        folder: RunFolder,
        options: &Options,
    ) -> Result<Self, ControlPlaneError> {
        let plane = Self {
            running: BTreeMap::new(),
            api_server: None,
            ports: Vec::new(),
            server: format!("https://{}", site.reached.address()),
            site,
            authority: Authority::new()?,
            binaries,
            policy_api: options.policy_api,
            folder,
        };
        plane.write_credentials()?;
        Ok(plane)
    }

    /// Starts etcd and the API server, and once that is ready the controllers and the scheduler.
    pub(crate) async fn serve(&mut self, options: &Options) -> Result<(), ControlPlaneError> {
        let etcd = self.start_etcd()?;
        self.start_api_server(&etcd).await?;
        let client = self.administrator().await?;
        manifests::apply(&client, &options.kinds).await?;
        self.start_companions()
    }

    /// The folder of this run; logs are `<part>.log` in it.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder().join("kubeconfig")
    }

    /// What was asked of the API server: one JSON audit event a line.
    pub fn audit_log(&self) -> PathBuf {
        self.folder().join("audit.log")
    }

    /// `https://127.0.0.1:<port>`
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Who signed the API server's certificate, PEM.
    pub fn authority(&self) -> &str {
        self.authority.certificate()
    }

    /// Whether it serves `ValidatingAdmissionPolicy`.
    pub fn serves_policies(&self) -> bool {
        self.policy_api
    }

    /// The binaries it runs, and `kubectl`.
    pub fn binaries(&self) -> &Binaries {
        &self.binaries
    }

    /// A client with every right.
    pub async fn administrator(&self) -> Result<Client, KubeconfigError> {
        kubeconfig::client(&self.kubeconfig()).await
    }

    /// An error if any part has ended.
    pub fn check(&mut self) -> Result<(), ProcessError> {
        self.running.values_mut().try_for_each(Process::check)
    }

    fn path(&self, name: &str) -> String {
        self.folder().join(name).display().to_string()
    }

    fn log(&self, part: &str) -> PathBuf {
        self.folder().join(format!("{part}.log"))
    }

    /// Until it exists, no pod is admitted: the controller manager makes it.
    pub(crate) async fn default_service_account(
        &self,
        client: Client,
    ) -> Result<(), ControlPlaneError> {
        let accounts: Api<ServiceAccount> = Api::namespaced(client, "default");
        let exists = kube::runtime::wait::await_condition(
            accounts,
            "default",
            |account: Option<&ServiceAccount>| account.is_some(),
        );
        let last = match tokio::time::timeout(PATIENCE, exists).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "there is no ServiceAccount `default`".to_owned(),
        };
        let part = "kube-controller-manager";
        Err(ControlPlaneError::NotReady {
            part,
            last,
            tail: process::tail(&self.log(part), 15),
        })
    }

    async fn until_ready<F, A>(
        &mut self,
        part: &'static str,
        ask: F,
    ) -> Result<(), ControlPlaneError>
    where
        F: Fn() -> A,
        A: Future<Output = Result<(), String>>,
    {
        let deadline = Instant::now() + PATIENCE;
        let mut turn = tokio::time::interval(ASK_EVERY);
        loop {
            turn.tick().await;
            self.check()?;
            match tokio::time::timeout(Duration::from_secs(5), ask()).await {
                Ok(Ok(())) => return Ok(()),
                answer if Instant::now() >= deadline => {
                    let last = match answer {
                        Ok(Err(last)) => last,
                        _ => "no answer".to_owned(),
                    };
                    return Err(ControlPlaneError::NotReady {
                        part,
                        last,
                        tail: process::tail(&self.log(part), 15),
                    });
                }
                _ => {}
            }
        }
    }
}

/// Whether a node says that pods may come.
pub(crate) fn is_ready(node: Option<&Node>) -> bool {
    let status = node.and_then(|node| node.status.as_ref());
    let conditions = status.and_then(|status| status.conditions.as_deref());
    conditions
        .unwrap_or_default()
        .iter()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True")
}
