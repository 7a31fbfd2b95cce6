//! The log: JSON lines on standard error, from a thread of its own. Does I/O.
//!
//! A request has one line at its decision and one at the end of its tunnel, under the same id. A sandbox
//! decides how many there are, and a slow reader of the log must hold up no tunnel: what cannot be
//! written in time is dropped and counted.

use std::io::BufWriter;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;

use crate::refusal::Refusal;
use crate::tunnel::Ended;

/// Lines that wait to be written, at most.
const WAITING: usize = 8192;
/// Addresses of a host that are told, at most.
const TOLD: usize = 8;

/// The log of the process; what waits is written when it is dropped.
pub struct Log {
    _writer: WorkerGuard,
    /// Counts what was dropped.
    pub dropped: ErrorCounter,
}

/// Sets up the log.
pub fn set_up() -> Log {
    let (writer, guard) = NonBlockingBuilder::default()
        .buffered_lines_limit(WAITING)
        .lossy(true)
        .thread_name("log")
        .finish(BufWriter::new(std::io::stderr()));
    let dropped = writer.error_counter();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .json()
        .with_env_filter(filter)
        .with_writer(writer)
        .init();
    Log {
        _writer: guard,
        dropped,
    }
}

/// What is told of a request when it is decided.
#[derive(Debug)]
pub struct Story {
    /// Which connection it came by.
    pub id: u64,
    /// Who asked.
    pub client: SocketAddr,
    /// For which host, if that could be read.
    pub host: Option<String>,
    /// On which port.
    pub port: Option<String>,
    /// Whether the Host header said something else.
    pub other_host_header: bool,
    /// What DNS said.
    pub addresses: Vec<IpAddr>,
    /// How long that took.
    pub dns: Option<Duration>,
    /// How long connecting took.
    pub dial: Option<Duration>,
    /// By which allowlist it was decided.
    pub generation: u64,
}

impl Story {
    /// Of the connection `id` of `client`, before anything was read. A listener of both families tells of
    /// an IPv4 address as one of IPv6; the line has it as the cluster writes it.
    pub fn new(id: u64, client: SocketAddr) -> Self {
        Self {
            id,
            client: SocketAddr::new(client.ip().to_canonical(), client.port()),
            host: None,
            port: None,
            other_host_header: false,
            addresses: Vec::new(),
            dns: None,
            dial: None,
            generation: 0,
        }
    }

    /// Tells that there is a tunnel.
    pub fn allowed(&self, address: SocketAddr) {
        tracing::info!(
            id = self.id,
            client = %self.client,
            host = self.host,
            port = self.port,
            result = "allowed",
            addresses = self.addresses(),
            address = %address,
            dns_ms = self.dns.map(milliseconds),
            dial_ms = self.dial.map(milliseconds),
            generation = self.generation,
            other_host_header = self.other_host_header.then_some(true),
            "decided"
        );
    }

    /// Tells that there is none.
    pub fn refused(&self, refusal: &Refusal) {
        tracing::info!(
            id = self.id,
            client = %self.client,
            host = self.host,
            port = self.port,
            result = "refused",
            reason = refusal.reason.as_str(),
            detail = &*refusal.detail,
            addresses = self.addresses(),
            dns_ms = self.dns.map(milliseconds),
            dial_ms = self.dial.map(milliseconds),
            generation = self.generation,
            other_host_header = self.other_host_header.then_some(true),
            "decided"
        );
    }

    fn addresses(&self) -> Option<String> {
        let told = self.addresses.iter().take(TOLD).map(IpAddr::to_string);
        let told: Vec<String> = told.collect();
        (!told.is_empty()).then(|| told.join(" "))
    }
}

/// Tells how the tunnel `id` ended.
pub fn closed(id: u64, ended: &Ended, lived: Duration) {
    tracing::info!(
        id,
        cause = ended.cause.as_str(),
        bytes_up = ended.up,
        bytes_down = ended.down,
        seconds = lived.as_secs_f64(),
        "closed"
    );
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("[::ffff:10.244.0.13]:42470", "10.244.0.13:42470")]
    #[case("10.244.0.13:42470", "10.244.0.13:42470")]
    #[case("[fd00::13]:42470", "[fd00::13]:42470")]
    fn a_client_is_told_as_the_cluster_writes_its_address(#[case] peer: &str, #[case] told: &str) {
        let story = Story::new(1, peer.parse().unwrap());
        assert_eq!(story.client.to_string(), told);
    }
}
