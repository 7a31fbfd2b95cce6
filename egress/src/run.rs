//! Starting, draining and stopping the whole. Does I/O.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing_appender::non_blocking::ErrorCounter;

use crate::accept::accept;
use crate::admin;
use crate::carrier::Pipes;
use crate::dial::{Connect, Tcp};
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::options::Options;
use crate::pins::{ACKNOWLEDGEMENT, FLAG, Pins, PinsError};
use crate::reload::{ReloadError, Reloader, follow};
use crate::resolve::{Resolver, ResolverError};
use crate::screen::Screen;
use crate::session::Proxy;
use crate::tunnels::{Cause, Tunnels};

/// Why the proxy does not run.
#[derive(Debug, Error)]
pub enum RunError {
    /// Test hosts without their acknowledgement.
    #[error(transparent)]
    Pins(#[from] PinsError),
    /// There is no allowlist to begin with.
    #[error("failed to load the allowlist")]
    Allowlist(#[from] ReloadError),
    /// There is no DNS server to ask.
    #[error(transparent)]
    Resolver(#[from] ResolverError),
    /// A port could not be had.
    #[error(transparent)]
    Bind(#[from] sandgate_listener::BindError),
    /// A port could not be read back.
    #[error("failed to read the address listened on")]
    Address(#[source] std::io::Error),
    /// The process cannot be told to stop.
    #[error("failed to listen for signals")]
    Signals(#[source] std::io::Error),
}

/// A proxy that serves until [`Running::stop`].
#[derive(Debug)]
pub struct Running {
    /// Where CONNECT is served.
    pub address: SocketAddr,
    /// Where health is told.
    pub admin_address: SocketAddr,
    tunnels: Arc<Tunnels>,
    draining: CancellationToken,
    stopping: CancellationToken,
    sessions: TaskTracker,
    tasks: Vec<JoinHandle<()>>,
    drain: Duration,
    farewell: Duration,
}

/// Serves until SIGTERM or an interrupt, then drains.
///
/// # Errors
/// Why it could not start.
pub async fn run(options: Options, dropped: ErrorCounter) -> Result<(), RunError> {
    let mut terminate = signal(SignalKind::terminate()).map_err(RunError::Signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(RunError::Signals)?;
    raise_descriptors();
    let limits = options.limits();
    let running = start(options, limits, Tcp, Some(dropped))?;
    told(&mut terminate, &mut interrupt).await;
    tracing::info!(tunnels = running.tunnels.len(), "draining");
    tokio::select! {
        () = running.stop() => {}
        // Whoever asks twice does not want to wait.
        () = told(&mut terminate, &mut interrupt) => tracing::warn!("stopped without waiting"),
    }
    Ok(())
}

async fn told(terminate: &mut Signal, interrupt: &mut Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// A busy tunnel has six descriptors, and many runtimes begin with a thousand.
fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "failed to raise the limit of open files");
    }
}

/// Starts serving, and connects by `connector`. Must be called in a tokio runtime.
///
/// # Errors
/// Why it could not.
pub fn start<C: Connect<Stream = TcpStream>>(
    options: Options,
    limits: Limits,
    connector: C,
    dropped: Option<ErrorCounter>,
) -> Result<Running, RunError> {
    let pins = Pins::new(
        &options.insecure_test_hosts,
        options.acknowledge_insecure_test_only,
    )?;
    if !pins.is_empty() {
        tracing::error!(
            hosts = pins.told().join(" "),
            "INSECURE, FOR TESTS ONLY: --{FLAG} with --{ACKNOWLEDGEMENT} lets a sandbox reach these hosts at private addresses"
        );
    }
    let metrics = Arc::new(Metrics::new(dropped));
    let tunnels = Arc::new(Tunnels::default());
    let reloader = Reloader::new(
        options.allowlist,
        Arc::clone(&tunnels),
        Arc::clone(&metrics),
    )?;
    let draining = CancellationToken::new();
    let proxy = Arc::new(Proxy {
        policies: reloader.policies(),
        pins,
        screen: Screen {
            denied: options.deny_cidr,
            nat64: options.nat64_prefix,
        },
        resolver: Resolver::new(&options.dns_server, &limits)?,
        connector,
        limits,
        require_sni_match: options.require_sni_match,
        pipes: Pipes::default(),
        tunnels: Arc::clone(&tunnels),
        metrics: Arc::clone(&metrics),
        draining: draining.clone(),
    });
    let listener = sandgate_listener::bind(options.listen)?;
    let admin_listener = sandgate_listener::bind(options.admin_listen)?;
    let address = listener.local_addr().map_err(RunError::Address)?;
    let admin_address = admin_listener.local_addr().map_err(RunError::Address)?;
    let stopping = CancellationToken::new();
    let sessions = TaskTracker::new();
    let tasks = vec![
        tokio::spawn(follow(
            reloader,
            options.allowlist_interval,
            stopping.clone(),
        )),
        tokio::spawn(accept(listener, proxy, sessions.clone(), stopping.clone())),
        tokio::spawn(admin::serve(admin_listener, metrics, draining.clone())),
    ];
    tracing::info!(%address, %admin_address, "serving");
    Ok(Running {
        address,
        admin_address,
        tunnels,
        draining,
        stopping,
        sessions,
        tasks,
        drain: options.drain,
        farewell: limits.farewell,
    })
}

impl Running {
    /// Fails readiness and refuses what is new at once, lets open tunnels go on for the drain time, then
    /// cuts those that are left.
    pub async fn stop(self) {
        self.draining.cancel();
        if timeout(self.drain, self.tunnels.empty()).await.is_err() {
            let cut = self.tunnels.cut(Cause::Drain, |_| true);
            tracing::warn!(cut, "tunnels were still open at the end");
        }
        self.stopping.cancel();
        self.sessions.close();
        // What is left has been cut, or is reading why it was refused.
        if timeout(self.farewell, self.sessions.wait()).await.is_err() {
            tracing::debug!("clients were still reading why they were refused");
        }
        for task in self.tasks {
            task.abort();
        }
    }
}
