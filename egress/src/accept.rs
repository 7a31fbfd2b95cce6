//! Accepting clients, with a bound on how many there are. Does network I/O.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::dial::Connect;
use crate::refusal::Reason;
use crate::session::{self, Proxy};

/// Clients that are told at once why they have no place; more than these are only closed.
const TURNED_AWAY: usize = 128;
/// How long nothing is accepted while there is no descriptor to accept with.
const PAUSE: Duration = Duration::from_millis(50);
/// How long a trouble is not told again: with few descriptors, failures and successes take turns.
const SILENCE: Duration = Duration::from_mins(1);

/// Accepts until `stopping` is cancelled; what was accepted goes on in `sessions`.
pub async fn accept<C: Connect<Stream = TcpStream>>(
    listener: TcpListener,
    proxy: Arc<Proxy<C>>,
    sessions: TaskTracker,
    stopping: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(proxy.limits.tunnels));
    let farewells = Arc::new(Semaphore::new(TURNED_AWAY));
    let mut told: Option<Instant> = None;
    let mut id = 0_u64;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopping.cancelled() => return,
        };
        let (client, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) if is_about_this_connection(&error) => continue,
            Err(error) => {
                proxy.metrics.accept_failures.inc();
                if told.is_none_or(|told| told.elapsed() > SILENCE) {
                    tracing::warn!(%error, "failed to accept connections; trying on");
                    told = Some(Instant::now());
                }
                // Out of descriptors or memory: there is no event to wait for, and trying again at once
                // would only burn the CPU that could free some.
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        id += 1;
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            let proxy = Arc::clone(&proxy);
            sessions.spawn(async move {
                let _place = place;
                let metrics = Arc::clone(&proxy.metrics);
                metrics.connections.inc();
                session::serve(proxy, client, peer, id).await;
                metrics.connections.dec();
            });
        } else if let Ok(place) = Arc::clone(&farewells).try_acquire_owned() {
            let proxy = Arc::clone(&proxy);
            sessions.spawn(async move {
                let _place = place;
                session::turn_away(proxy, client, peer, id).await;
            });
        } else {
            proxy.metrics.refused(Reason::Busy);
        }
    }
}

fn is_about_this_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    )
}
