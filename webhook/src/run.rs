//! Starting, draining and stopping the whole. Does I/O.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::server::NoServerSessionStorage;
use sandgate_certs::directory::TlsDirectory;
use sandgate_shared::rules::{Attempt, CompileError, OperatorIdentity, Rulebook, Verdict};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::handler::Admission;
use crate::health::Health;
use crate::metrics::Metrics;
use crate::options::Options;
use crate::reload::Reloader;
use crate::review::Judge;
use crate::server::{self, Lifecycle, Limits, Transport};

/// How long requests in flight may still take once the drain is over: as long as the API server waits
/// at the most.
const LAST_REQUESTS: Duration = Duration::from_secs(30);

/// Why the webhook does not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The rules of this build, or the operator's name, are not usable.
    #[error("failed to compile the rules")]
    Rules(#[from] CompileError),
    /// A port could not be had.
    #[error(transparent)]
    Bind(#[from] sandgate_listener::BindError),
    /// No TLS version can be served.
    #[error("failed to configure TLS")]
    Tls(#[source] rustls::Error),
    /// The process cannot be told to stop.
    #[error("failed to listen for signals")]
    Signals(#[source] std::io::Error),
    /// A port could not be read back.
    #[error("failed to read the address listened on")]
    Address(#[source] std::io::Error),
}

/// A webhook that serves until [`Running::stop`].
#[derive(Debug)]
pub struct Running {
    /// Where reviews are answered.
    pub address: SocketAddr,
    /// Where health is told.
    pub health_address: SocketAddr,
    admission: Lifecycle,
    health: Lifecycle,
    tasks: Vec<JoinHandle<()>>,
    drain: Duration,
}

/// Compiles the rules and serves until SIGTERM or an interrupt.
pub async fn run(options: Options) -> Result<(), RunError> {
    // The default prints what was panicked with, and that may hold a piece of somebody's object.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        tracing::error!(place, "panic");
    }));
    let rules = Rulebook::compile(&OperatorIdentity {
        username: options.operator_username.clone(),
        require_pod_bound_token: options.require_pod_bound_token,
    })?;
    let mut signals = Signals::new().map_err(RunError::Signals)?;
    let judge = InForce {
        rules,
        since: format!("{:.0}", Timestamp::now()),
    };
    let running = start(&options, Arc::new(judge), Limits::default())?;
    tracing::info!(address = %running.address, health = %running.health_address, "serving");
    signals.next().await;
    tracing::info!(drain = ?options.drain, "stopping: no longer ready, still serving");
    tokio::select! {
        () = running.stop() => {}
        () = signals.next() => tracing::warn!("told twice: stopping at once"),
    }
    Ok(())
}

/// The rules, and since when this process has held writes to them.
struct InForce {
    rules: Rulebook,
    since: String,
}

impl Judge for InForce {
    fn judge(&self, attempt: &Attempt<'_>) -> Verdict {
        self.rules.judge(attempt)
    }

    fn enforced_since(&self) -> Option<&str> {
        Some(&self.since)
    }
}

/// Starts serving with `judge`. Must be called in a tokio runtime.
pub fn start(
    options: &Options,
    judge: Arc<dyn Judge>,
    limits: Limits,
) -> Result<Running, RunError> {
    let metrics = Arc::new(Metrics::new());
    let directory = TlsDirectory::new(&options.tls_dir);
    let reloader = Arc::new(Reloader::new(directory, Arc::clone(&metrics)));
    let (admission, health) = (Lifecycle::default(), Lifecycle::default());

    let listening = sandgate_listener::bind(options.listen)?;
    let health_listening = sandgate_listener::bind(options.health_listen)?;
    let address = listening.local_addr().map_err(RunError::Address)?;
    let health_address = health_listening.local_addr().map_err(RunError::Address)?;
    let config = tls(&reloader).map_err(RunError::Tls)?;
    let acceptor = TlsAcceptor::from(Arc::new(config));

    let pages = Health::new(
        Arc::clone(&metrics),
        Arc::clone(&reloader),
        admission.draining.clone(),
    );
    let tasks = vec![
        tokio::spawn(watch(reloader, options.tls_interval, admission.clone())),
        tokio::spawn(server::serve(
            listening,
            Transport::Tls(acceptor, Arc::clone(&metrics)),
            Admission::new(judge, metrics),
            limits,
            admission.clone(),
        )),
        tokio::spawn(server::serve(
            health_listening,
            Transport::Plain,
            pages,
            Limits {
                connections: 64,
                ..limits
            },
            health.clone(),
        )),
    ];
    Ok(Running {
        address,
        health_address,
        admission,
        health,
        tasks,
        drain: options.drain,
    })
}

impl Running {
    /// Fails readiness at once, answers on for the drain time with `Connection: close`, then stops
    /// accepting and returns when the requests in flight have been answered.
    pub async fn stop(self) {
        self.admission.draining.cancel();
        // Endpoints and API servers give no sign when they have let go of this address.
        tokio::time::sleep(self.drain).await;
        self.admission.stopping.cancel();
        self.admission.connections.close();
        if tokio::time::timeout(LAST_REQUESTS, self.admission.connections.wait())
            .await
            .is_err()
        {
            tracing::warn!("requests were still in flight at the end");
        }
        self.health.stopping.cancel();
        for task in self.tasks {
            task.abort();
        }
    }
}

fn tls(reloader: &Reloader) -> Result<ServerConfig, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(reloader.resolver());
    // API servers call webhooks over HTTP/1.1 only; HTTP/2 would only add its attacks.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // A resumed session would go on trusting the leaf it began with.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

async fn watch(reloader: Arc<Reloader>, interval: Duration, lifecycle: Lifecycle) {
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut seen = None;
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = lifecycle.stopping.cancelled() => return,
        }
        let looking = Arc::clone(&reloader);
        // A look that panicked has seen nothing.
        seen = tokio::task::spawn_blocking(move || looking.look(seen))
            .await
            .unwrap_or(None);
    }
}

struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
