//! A cluster as a test sees it: shared with other tests, or its own. Does I/O.

mod kubectl;

use std::ops::Deref;
use std::path::{Path, PathBuf};

use kube::config::AuthInfo;
use kube::{Client, Config};
use sandgate_shared::render::Installation as Names;
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

pub use kubectl::Said;

use crate::binaries::Binaries;
use crate::control_plane::{self, ControlPlane};
use crate::failure::{Failure, Outcome};
use crate::folders;
use crate::identity::{self, EDITORS, Identity};
use crate::installation::{self, Installation};
use crate::kubeconfig;
use crate::namespace::Namespace;
use crate::node_cluster::{self, NodeCluster};
use crate::progress::Step;
use crate::rights::Watch;

/// Names the file that says where the cluster is that `cargo xtask test` started for all tests.
pub const VARIABLE: &str = "SANDGATE_CLUSTER";

/// The same for the cluster with a real node.
pub const NODE_VARIABLE: &str = "SANDGATE_NODE_CLUSTER";

/// How to reach a running cluster; the content of the file [`VARIABLE`] names.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Access {
    /// The administrator's kubeconfig.
    pub kubeconfig: PathBuf,
    /// The folder of the run, with a log per process.
    pub folder: PathBuf,
    /// The API server's audit log, one JSON event a line.
    pub audit_log: PathBuf,
    /// The `kubectl` of the pinned module.
    pub kubectl: PathBuf,
    /// Where the webhook listens, if there is one.
    pub webhook_url: Option<String>,
}

/// What a private cluster is made of.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Of the control plane.
    pub control_plane: control_plane::Options,
    /// Of Sandgate on it.
    pub installation: installation::Options,
}

/// A running cluster with Sandgate on it.
#[derive(Clone)]
pub struct Cluster {
    access: Access,
    config: Config,
    client: Client,
}

/// A cluster nobody else uses: dropped, nothing of it is left.
///
/// Fields are dropped in order: the audit log is read while it is there, and our processes end before the
/// API server they talk to.
pub struct OwnCluster {
    rights: Watch,
    /// Our processes, to kill and start again.
    pub installation: Installation,
    /// The control plane.
    pub control_plane: ControlPlane,
    cluster: Cluster,
}

impl Deref for OwnCluster {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.cluster
    }
}

impl OwnCluster {
    /// Starts one with these options; binaries that are missing are built, which is told on standard
    /// error.
    pub async fn start(mut options: Options) -> Outcome<Self> {
        let version = options.control_plane.version;
        let binaries = tokio::task::spawn_blocking(move || Binaries::of(version)).await??;
        let step = Step::begin("starting etcd, API server, controllers, scheduler and a fake node");
        let kinds = options.installation.layers.kinds();
        options.control_plane.kinds.extend(kinds);
        let control_plane = Box::pin(ControlPlane::start(binaries, &options.control_plane)).await?;
        step.done();
        let step = Step::begin("installing Sandgate");
        let installation =
            Box::pin(Installation::install(&control_plane, options.installation)).await?;
        step.done();
        let access = Access {
            kubeconfig: control_plane.kubeconfig(),
            folder: control_plane.folder().to_owned(),
            audit_log: control_plane.audit_log(),
            kubectl: control_plane.binaries().kubectl.clone(),
            webhook_url: installation
                .webhook
                .as_ref()
                .map(|_| installation.webhook_url()),
        };
        let rights = Watch::over(access.audit_log.clone());
        let cluster = Cluster::reach(access).await?;
        Ok(Self {
            rights,
            installation,
            control_plane,
            cluster,
        })
    }

    /// Starts a second controller, as another pod.
    pub async fn second_controller(&self) -> Outcome<installation::Controller> {
        let pod = "sandgate-controller-1";
        Ok(self
            .installation
            .another_controller(&self.control_plane, pod)
            .await?)
    }

    /// An error if any process has ended that nobody ended on purpose.
    pub fn check(&mut self) -> Outcome {
        self.control_plane.check()?;
        Ok(self.installation.check()?)
    }

    /// Writes the file for [`VARIABLE`] and returns its path.
    pub fn announce(&self) -> Outcome<PathBuf> {
        self.cluster.announce()
    }
}

impl Cluster {
    /// The cluster all tests share: the one [`VARIABLE`] names, or one started for this process.
    /// Tests that edit cluster-wide things take [`Cluster::own`].
    pub async fn shared() -> Outcome<Self> {
        // Never dropped; the kernel ends its processes with ours, and the next run removes its folder.
        static STARTED: OnceCell<OwnCluster> = OnceCell::const_new();
        let access = if let Some(file) = std::env::var_os(VARIABLE) {
            read(VARIABLE, Path::new(&file))?
        } else {
            let start = || OwnCluster::start(Options::default());
            Box::pin(STARTED.get_or_try_init(start))
                .await?
                .access
                .clone()
        };
        // A client of its own: connections end with the runtime of the test that made them.
        Self::reach(access).await
    }

    /// The cluster with a real node that all tests share: the one [`NODE_VARIABLE`] names, or one
    /// started for this process. Tests that disturb the node start one of their own.
    pub async fn node() -> Outcome<Self> {
        static STARTED: OnceCell<NodeCluster> = OnceCell::const_new();
        let access = if let Some(file) = std::env::var_os(NODE_VARIABLE) {
            read(NODE_VARIABLE, Path::new(&file))?
        } else {
            let start = || NodeCluster::start(node_cluster::Options::default());
            let started = Box::pin(STARTED.get_or_try_init(start)).await?;
            started.access().clone()
        };
        Self::reach(access).await
    }

    /// A cluster for this test alone, which fails if the operator is refused what it needs there.
    pub async fn own(options: Options) -> Outcome<OwnCluster> {
        let mut own = Box::pin(OwnCluster::start(options)).await?;
        own.rights.for_a_test();
        Ok(own)
    }

    /// Writes the file by which other processes find it and returns its path.
    pub(crate) fn announce(&self) -> Outcome<PathBuf> {
        let path = self.access.folder.join("cluster.json");
        folders::write_private(&path, &serde_json::to_string_pretty(&self.access)?)?;
        Ok(path)
    }

    pub(crate) async fn reach(access: Access) -> Outcome<Self> {
        let config = kubeconfig::config(&access.kubeconfig).await?;
        let client = Client::try_from(config.clone())?;
        Ok(Self {
            access,
            config,
            client,
        })
    }

    /// How it is reached.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// The administrator's client.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// A namespace nobody else uses, whose name begins with `prefix`; deleted when dropped.
    pub async fn namespace(&self, prefix: &str) -> Outcome<Namespace> {
        Namespace::create(self.clone(), prefix).await
    }

    /// A client that asks as `identity`.
    pub async fn client_as(&self, identity: &Identity) -> Outcome<Client> {
        if *identity == Identity::Administrator {
            return Ok(self.client());
        }
        Ok(Client::try_from(self.config_as(identity).await?)?)
    }

    /// What such a client is made from.
    pub async fn config_as(&self, identity: &Identity) -> Outcome<Config> {
        let names = Names::default();
        let (namespace, operator) = (&names.namespace, &names.service_account);
        let auth_info = match identity {
            Identity::Administrator => self.config.auth_info.clone(),
            Identity::User(name) => AuthInfo {
                impersonate: Some(name.clone()),
                impersonate_groups: Some(vec![
                    EDITORS.to_owned(),
                    "system:authenticated".to_owned(),
                ]),
                ..self.config.auth_info.clone()
            },
            Identity::Operator => {
                let pod = "operator-of-a-test";
                let pod = identity::placeholder(&self.client, namespace, operator, pod).await?;
                bearer(identity::token(&self.client, namespace, operator, Some(&pod)).await?)
            }
            Identity::OperatorWithoutPod => {
                bearer(identity::token(&self.client, namespace, operator, None).await?)
            }
            Identity::ImpersonatedOperator => {
                let pod = "operator-of-a-test".to_owned();
                let extra = (
                    "authentication.kubernetes.io/pod-name".to_owned(),
                    vec![pod],
                );
                AuthInfo {
                    impersonate: Some(format!("system:serviceaccount:{namespace}:{operator}")),
                    impersonate_uid: Some("of-a-test".to_owned()),
                    impersonate_groups: Some(vec![
                        "system:serviceaccounts".to_owned(),
                        format!("system:serviceaccounts:{namespace}"),
                        "system:authenticated".to_owned(),
                    ]),
                    impersonate_user_extra: Some([extra].into()),
                    ..self.config.auth_info.clone()
                }
            }
            Identity::ServiceAccount(account) => {
                bearer(identity::token(&self.client, namespace, account, None).await?)
            }
        };
        let mut config = self.config.clone();
        config.auth_info = auth_info;
        Ok(config)
    }

    /// The last `lines` lines of our processes' logs that name `word`, for a failure's text.
    pub(crate) fn what_we_said(&self, word: &str, lines: usize) -> String {
        let logs = ["sandgate-controller-0.log", "sandgate-webhook.log"];
        let mut all = String::new();
        for log in logs {
            let text = std::fs::read_to_string(self.access.folder.join(log)).unwrap_or_default();
            let named: Vec<&str> = text.lines().filter(|line| line.contains(word)).collect();
            for line in named
                .get(named.len().saturating_sub(lines)..)
                .unwrap_or_default()
            {
                all.push_str(line);
                all.push('\n');
            }
        }
        all
    }
}

fn bearer(token: String) -> AuthInfo {
    AuthInfo {
        token: Some(token.into()),
        ..AuthInfo::default()
    }
}

fn read(variable: &str, file: &Path) -> Outcome<Access> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        Failure::saying(format!(
            "{variable} names {}, which cannot be read: {error}",
            file.display()
        ))
    })?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::saying(format!(
            "{variable} names {}, which says nothing: {error}",
            file.display()
        ))
    })
}
