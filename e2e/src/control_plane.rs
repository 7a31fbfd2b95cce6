//! A real etcd, API server, controller manager, scheduler and fake node on this machine. Does I/O.

mod parts;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ServiceAccount;
use kube::{Api, Client};
use serde_json::Value;

use crate::binaries::Binaries;
use crate::fake_node::{self, FakeNodeError};
use crate::folders::{self, FolderError, RunFolder};
use crate::kubeconfig::{self, Credential, KubeconfigError};
use crate::manifests::{self, ManifestError};
use crate::pki::{self, Authority};
use crate::ports::{Port, PortError};
use crate::process::{self, Process, ProcessError};
use crate::progress::PATIENCE;

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
    /// A part did not start, or ended.
    #[error(transparent)]
    Process(#[from] ProcessError),
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
            port: None,
            kinds: Vec::new(),
        }
    }
}

/// A running control plane: dropped, nothing of it is left.
///
/// Fields are dropped in order: first the processes, then the folder they write to.
#[derive(Debug)]
pub struct ControlPlane {
    processes: Vec<Process>,
    /// Held so that nobody else takes them.
    ports: Vec<Port>,
    server: String,
    authority: Authority,
    binaries: Binaries,
    policy_api: bool,
    folder: RunFolder,
}

impl ControlPlane {
    /// Starts everything and waits until a pod could run.
    pub async fn start(binaries: Binaries, options: &Options) -> Result<Self, ControlPlaneError> {
        let port = match options.port {
            Some(number) => Port::exactly(number)?,
            None => Port::free()?,
        };
        let folder = RunFolder::create()?;
        let server = format!("https://{}", port.address());
        let authority = Authority::new()?;
        let mut plane = Self {
            processes: Vec::new(),
            ports: Vec::new(),
            server,
            authority,
            binaries,
            policy_api: options.policy_api,
            folder,
        };
        plane.write_credentials()?;
        let etcd = plane.start_etcd().await?;
        plane
            .start_api_server(&etcd, port.number(), options)
            .await?;
        plane.ports.extend([port]);
        let client = plane.administrator().await?;
        manifests::apply(&client, &options.kinds).await?;
        plane.start_companions()?;
        let node = fake_node::join(client.clone());
        tokio::try_join!(
            async { Ok::<_, ControlPlaneError>(node.await?) },
            plane.default_service_account(client)
        )?;
        Ok(plane)
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
        self.processes.iter_mut().try_for_each(Process::check)
    }

    fn path(&self, name: &str) -> String {
        self.folder().join(name).display().to_string()
    }

    fn log(&self, part: &str) -> PathBuf {
        self.folder().join(format!("{part}.log"))
    }

    fn write_credentials(&self) -> Result<(), ControlPlaneError> {
        let write =
            |name: &str, text: &str| folders::write_private(&self.folder().join(name), text);
        write("ca.crt", self.authority.certificate())?;
        let hosts = [
            "127.0.0.1",
            "localhost",
            "kubernetes.default.svc",
            "10.96.0.1",
        ];
        let server = self.authority.server(&hosts)?;
        write("server.crt", &server.certificate)?;
        write("server.key", &server.key)?;
        let (public, private) = pki::token_keys()?;
        write("tokens.pub", &public)?;
        write("tokens.key", &private)?;
        write(
            "audit-policy.yaml",
            include_str!("control_plane/audit-policy.yaml"),
        )?;
        let masters = Some("system:masters");
        for (name, user, group) in [
            ("kubeconfig", "administrator", masters),
            (
                "controllers.kubeconfig",
                "system:kube-controller-manager",
                None,
            ),
            ("scheduler.kubeconfig", "system:kube-scheduler", None),
            // The fake kubelet of all nodes at once; no kubelet's own identity would do.
            ("kwok.kubeconfig", "kwok", masters),
        ] {
            let pair = self.authority.client(user, group)?;
            let path = self.folder().join(name);
            let credential = Credential::Certificate(&pair);
            kubeconfig::write(
                &path,
                &self.server,
                self.authority.certificate(),
                &credential,
            )?;
        }
        Ok(())
    }

    /// Until it exists, no pod is admitted: the controller manager makes it.
    async fn default_service_account(&self, client: Client) -> Result<(), ControlPlaneError> {
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
