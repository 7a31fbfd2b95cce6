//! Puts the parts together and runs them until told to stop. Does I/O.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use prometheus_client::registry::Registry;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api_server::{self, ApiServer};
use crate::cause::Chain;
use crate::certificates::Certificates;
use crate::claim::Reconciler;
use crate::flags::{Flags, TestHostsError};
use crate::health;
use crate::leader::{Elector, Leadership, Timing};
use crate::metrics::Metrics;
use crate::provenance::{Provenance, Prover};
use crate::watch::{Watches, follow_all};
use crate::webhook_config::WebhookConfig;
use crate::{identity, workers};

/// How long giving up the Lease may hold up the exit.
const RELEASE_WITHIN: Duration = Duration::from_secs(5);

/// The controller could not start, or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// No kubeconfig could be read.
    #[error(
        "failed to read the kubeconfig; name one by --kubeconfig or KUBECONFIG, or run in a pod"
    )]
    Kubeconfig(#[source] kube::config::KubeconfigError),
    /// Test hosts without their acknowledgement, or odd ones.
    #[error(transparent)]
    TestHosts(#[from] TestHostsError),
    /// There is neither a kubeconfig nor a pod's ServiceAccount.
    #[error("failed to find out how to reach the API server; use --kubeconfig or run in a pod")]
    Infer(#[source] kube::config::InferConfigError),
    /// The configuration is of no use.
    #[error("failed to set up the connection to the API server")]
    Client(#[source] kube::Error),
    /// The health port.
    #[error("failed to open the health port (--health-listen)")]
    Health(#[source] sandgate_listener::BindError),
    /// A part that runs for ever ended.
    #[error("a part of the controller stopped unexpectedly")]
    Part(#[source] Option<JoinError>),
}

/// Runs the controller until `shutdown`.
pub async fn run(flags: Flags, shutdown: CancellationToken) -> Result<(), RunError> {
    for role in flags.sandbox_mount_roles.iter() {
        tracing::info!(name = role.name, path = %role.path, "a mount role is configured");
    }
    flags.egress.check()?;
    if let Some(hosts) = flags.egress.told() {
        tracing::error!(%hosts, "sandboxes reach private addresses under these names; this is for test clusters only");
    }
    let mut registry = Registry::default();
    let metrics = Metrics::register(&mut registry);
    // First: a port that is taken is found out before anything else starts.
    let listener = sandgate_listener::bind(flags.health_listen).map_err(RunError::Health)?;
    let config = config(flags.kubeconfig.as_deref()).await?;
    let (client, clock) = api_server::client(config.clone()).map_err(RunError::Client)?;
    let api = ApiServer::new(client, metrics.clone()).with_clock(clock);

    let watches = Arc::new(Watches::default());
    let mut elector = Elector::new(
        &api,
        metrics.clone(),
        &flags.namespace,
        &flags.lease(),
        &flags.identity,
        Timing::of(flags.lease_duration),
    );
    let mut parts = JoinSet::new();
    parts.spawn(health::serve(
        listener,
        Arc::clone(&watches),
        Arc::new(registry),
    ));
    follow_all(&watches, &api, &metrics, &mut parts);
    let certificates = Certificates::new(
        &api,
        metrics.clone(),
        &flags.release,
        &flags.namespace,
        flags.tls_dir.clone(),
        &flags.identity,
    );
    parts.spawn(certificates.run(elector.leadership()));
    let installation = flags.installation();
    let provenance = Provenance::new(&installation);
    let prover = Prover::new(
        &api,
        &metrics,
        &provenance,
        &watches,
        &config,
        (&flags.release, &flags.namespace),
    );
    parts.spawn(prover.run(elector.leadership()));
    let configurations = WebhookConfig::new(&api, metrics.clone(), &installation, &flags.identity);
    parts.spawn(configurations.run(elector.leadership()));
    identity::check(
        &api,
        &flags.operator_username(),
        flags.require_pod_bound_token,
    )
    .await;

    let (leadership, fence) = (elector.leadership(), elector.fence());
    let under_way = TaskTracker::new();
    let reconciler = || {
        let parts = (&watches, &provenance);
        let leading = (&fence, &under_way);
        let settings = (flags.settings(), flags.content.root());
        Reconciler::new(&api, parts, leading, settings, &metrics, &flags.identity)
    };
    let ended = tokio::select! {
        // Returns when told to stop, its last term over.
        () = elector.run(&shutdown) => Ok(()),
        Err(error) = lead(leadership, &watches, (reconciler, &under_way), &metrics) => Err(RunError::Part(Some(error))),
        Some(part) = parts.join_next() => Err(RunError::Part(part.err())),
    };
    // An admission whose answer is still to come may yet be carried out, and who leads next has to see it. Each
    // is over before the term would have been.
    under_way.close();
    under_way.wait().await;
    if let Ok(Err(error)) = tokio::time::timeout(RELEASE_WITHIN, elector.release()).await {
        let error = Chain(&error);
        tracing::warn!(%error,
            "the Lease was not given up; others wait until it runs out"
        );
    }
    ended
}

/// Works while this replica leads, each term with a reconciler of its own. Ends only if a worker dies.
async fn lead(
    mut leadership: watch::Receiver<Leadership>,
    watches: &Arc<Watches>,
    (reconciler, under_way): (impl Fn() -> Reconciler, &TaskTracker),
    metrics: &Metrics,
) -> Result<std::convert::Infallible, JoinError> {
    loop {
        let standing = leadership.borrow_and_update().clone();
        if let Leadership::Leading(term) = standing {
            workers::work(watches, Arc::new(reconciler()), metrics, &term).await?;
            // The next term reads whom this one admitted.
            under_way.close();
            under_way.wait().await;
            under_way.reopen();
        }
        if leadership.changed().await.is_err() {
            // The elector is gone, and with it the process.
            std::future::pending::<()>().await;
        }
    }
}

async fn config(kubeconfig: Option<&Path>) -> Result<Config, RunError> {
    let Some(path) = kubeconfig else {
        return Config::infer().await.map_err(RunError::Infer);
    };
    let kubeconfig = Kubeconfig::read_from(path).map_err(RunError::Kubeconfig)?;
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .map_err(RunError::Kubeconfig)
}
