//! One connection of a client: its request read, decided and answered, then its tunnel. Does network I/O.

mod establish;
mod hello;
mod socket;

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::carrier::Pipes;
use crate::dial::Connect;
use crate::limits::Limits;
use crate::log::{self, Story};
use crate::metrics::Metrics;
use crate::pins::Pins;
use crate::policy::Policies;
use crate::refusal::{Reason, Refusal};
use crate::resolve::Resolver;
use crate::screen::Screen;
use crate::tunnel::{self, Ended, Patience};
use crate::tunnels::{Open, Tunnels};
use establish::{Denied, establish};
use socket::farewell;

/// Everything that sessions share.
#[derive(Debug)]
pub struct Proxy<C> {
    /// The allowlist in force.
    pub policies: Arc<Policies>,
    /// Test hosts.
    pub pins: Pins,
    /// What addresses are judged by.
    pub screen: Screen,
    /// Asks DNS.
    pub resolver: Resolver,
    /// Connects.
    pub connector: C,
    /// What a client may hold.
    pub limits: Limits,
    /// Whether a ClientHello must name the host.
    pub require_sni_match: bool,
    /// What bytes are carried in.
    pub pipes: Pipes,
    /// The tunnels that are open.
    pub tunnels: Arc<Tunnels>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// Cancelled when nothing new is to begin.
    pub draining: CancellationToken,
}

/// A tunnel about to begin.
struct Opened {
    upstream: TcpStream,
    early: Vec<u8>,
    open: Open,
}

/// Serves one connection to its end.
pub async fn serve<C: Connect<Stream = TcpStream>>(
    proxy: Arc<Proxy<C>>,
    client: TcpStream,
    peer: SocketAddr,
    id: u64,
) {
    if let Err(error) = client.set_nodelay(true) {
        tracing::debug!(%error, "failed to set TCP_NODELAY");
    }
    // On the heap, and gone when there is a tunnel: what a task may hold it holds all the time.
    let Some(opened) = Box::pin(open(&proxy, &client, peer, id)).await else {
        return;
    };
    let began = Instant::now();
    proxy.metrics.tunnels.inc();
    let ended = through(&proxy, &client, opened).await;
    proxy.metrics.tunnels.dec();
    proxy.metrics.closed(ended.cause, began.elapsed());
    log::closed(id, &ended, began.elapsed());
}

async fn open<C: Connect<Stream = TcpStream>>(
    proxy: &Proxy<C>,
    client: &TcpStream,
    peer: SocketAddr,
    id: u64,
) -> Option<Opened> {
    let mut story = Story::new(id, peer);
    let established = tokio::select! {
        // In this order, so that nothing that comes later than the end gets a tunnel.
        biased;
        () = proxy.draining.cancelled() => Err(draining().into()),
        established = establish(proxy, client, &mut story) => established,
    };
    match established {
        Ok((opened, address)) => {
            proxy.metrics.allowed();
            story.allowed(address);
            Some(opened)
        }
        Err(Denied::Refused(refusal)) => {
            proxy.metrics.refused(refusal.reason);
            story.refused(&refusal);
            farewell(client, &refusal, &proxy.limits).await;
            None
        }
        Err(Denied::Gone) => {
            tracing::debug!(id, "the client went");
            None
        }
    }
}

/// The refusal while there are as many connections as there may be.
fn busy() -> Refusal {
    let detail = "there are as many connections as this sandbox may have; close some or wait";
    Refusal::new(Reason::Busy, detail)
}

/// The refusal while the proxy ends.
fn draining() -> Refusal {
    Refusal::new(Reason::Draining, "the proxy of this sandbox is ending")
}

/// Carries bytes until the tunnel ends.
async fn through<C>(proxy: &Proxy<C>, client: &TcpStream, opened: Opened) -> Ended {
    let Opened {
        upstream,
        mut early,
        open,
    } = opened;
    if proxy.require_sni_match {
        let judged = Box::pin(hello::judge(client, &mut early, &open, &proxy.limits)).await;
        if let Some(cause) = judged {
            if let Err(error) = client.set_zero_linger() {
                tracing::debug!(%error, "failed to reset a client");
            }
            return Ended {
                cause,
                up: 0,
                down: 0,
            };
        }
    }
    let patience = Patience {
        idle: proxy.limits.idle,
        half_closed: proxy.limits.half_closed,
    };
    tunnel::run(
        client,
        &upstream,
        early,
        patience,
        &open,
        &proxy.pipes,
        &proxy.metrics,
    )
    .await
}

/// Refuses a client that came when all places were taken.
pub async fn turn_away<C>(proxy: Arc<Proxy<C>>, client: TcpStream, peer: SocketAddr, id: u64) {
    let refusal = if proxy.draining.is_cancelled() {
        draining()
    } else {
        busy()
    };
    proxy.metrics.refused(refusal.reason);
    Story::new(id, peer).refused(&refusal);
    farewell(&client, &refusal, &proxy.limits).await;
}
