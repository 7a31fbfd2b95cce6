//! Accepting connections, with a bound on everything a client can hold. Does network I/O.
//!
//! One task accepts; each connection has a task of its own, and the TLS handshake happens there, under
//! a time limit, so a silent client holds up nobody. Beyond [`Limits::connections`] nothing more is
//! accepted: further clients wait in the kernel's queue and are served as others leave, since a
//! refused connection would be a failed admission call.

mod connection;
mod pace;

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::metrics::Metrics;

/// What answers requests.
pub trait Handler: Clone + Send + Sync + 'static {
    /// The answer to one request.
    fn handle(
        &self,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<Full<Bytes>>> + Send;
}

/// What a client may hold, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections served at once; more wait in the kernel's queue.
    pub connections: usize,
    /// Time for a TLS handshake.
    pub handshake: Duration,
    /// Time for a request's head, from its first byte.
    pub head: Duration,
    /// Time a connection may wait for its next request. API servers close theirs after 90 s; if we were
    /// first, one could just be sending a request and the user would see an EOF.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(10),
            idle: Duration::from_secs(150),
        }
    }
}

/// How a server ends: first `draining` (every answer says `Connection: close`), then `stopping` (nothing
/// is accepted, idle connections are closed, requests in flight finish).
#[derive(Clone, Debug, Default)]
pub struct Lifecycle {
    /// Cancelled when a stop was asked for.
    pub draining: CancellationToken,
    /// Cancelled when the server is to stop.
    pub stopping: CancellationToken,
    /// All connections; empty when everything has finished.
    pub connections: TaskTracker,
}

/// How a TCP connection becomes one that HTTP is spoken on.
#[derive(Clone)]
pub enum Transport {
    /// As it is.
    Plain,
    /// TLS. Failed handshakes are counted.
    Tls(TlsAcceptor, Arc<Metrics>),
}

/// Serves `listener` until [`Lifecycle::stopping`]; connections may outlive this call.
pub async fn serve<H: Handler>(
    listener: TcpListener,
    transport: Transport,
    handler: H,
    limits: Limits,
    lifecycle: Lifecycle,
) {
    let places = Arc::new(Semaphore::new(limits.connections));
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            next = next => next,
            () = lifecycle.stopping.cancelled() => return,
        };
        // The semaphore is never closed.
        let Ok(place) = place else { return };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "failed to accept a connection");
                if is_about_this_connection(&error) {
                    continue;
                }
                // Out of file descriptors or memory: there is no event to wait for, and trying again
                // at once would only burn the CPU that could free some.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let (transport, handler) = (transport.clone(), handler.clone());
        let cycle = lifecycle.clone();
        lifecycle.connections.spawn(async move {
            let _place = place;
            serve_stream(stream, transport, handler, limits, cycle).await;
        });
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

async fn serve_stream<H: Handler>(
    stream: TcpStream,
    transport: Transport,
    handler: H,
    limits: Limits,
    lifecycle: Lifecycle,
) {
    // Answers are small; waiting to fill a segment would only delay them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "failed to set TCP_NODELAY");
    }
    match transport {
        Transport::Plain => serve_io(stream, handler, limits, lifecycle).await,
        Transport::Tls(acceptor, metrics) => {
            metrics.connections.inc();
            // On the heap, and gone when it is over: what a task may hold at any time it holds all the
            // time, and the session would lie in it once for each place that it is passed through.
            let shaking = Box::pin(tokio::time::timeout(
                limits.handshake,
                acceptor.accept(stream),
            ));
            let shaken = tokio::select! {
                shaken = shaking => shaken,
                () = lifecycle.stopping.cancelled() => {
                    metrics.connections.dec();
                    return;
                }
            };
            match shaken.map(|shaken| shaken.map(Box::new)) {
                Ok(Ok(stream)) => serve_io(stream, handler, limits, lifecycle).await,
                Ok(Err(error)) => {
                    metrics.handshake_failures.inc();
                    tracing::debug!(%error, "TLS handshake failed");
                }
                Err(_) => {
                    metrics.handshake_failures.inc();
                    tracing::debug!("TLS handshake took too long");
                }
            }
            metrics.connections.dec();
        }
    }
}

async fn serve_io<H, S>(stream: S, handler: H, limits: Limits, lifecycle: Lifecycle)
where
    H: Handler,
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    if let Err(error) = connection::serve(stream, handler, limits, &lifecycle).await {
        tracing::debug!(%error, "connection ended early");
    }
}

#[cfg(test)]
mod tests;
