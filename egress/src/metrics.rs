//! What is counted. Labels come from fixed lists only: a host would be one the sandbox chooses.

use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric as _};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use tracing_appender::non_blocking::ErrorCounter;

use crate::refusal::Reason;
use crate::resolve::ResolveError;
use crate::screen::Shut;
use crate::tunnels::Cause;

/// 0.5 ms to 10 s: what DNS and a connection across the world take, up to their limits.
const WAITS: [f64; 12] = [
    5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 1.0, 5.0, 10.0,
];
/// 10 ms to a day.
const LIVES: [f64; 10] = [
    0.01, 0.1, 1.0, 10.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 86400.0,
];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    result: &'static str,
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Direction {
    direction: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Class {
    class: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Why {
    cause: &'static str,
}

/// Lines of the log that were given up, read when it is asked for.
#[derive(Debug)]
struct Dropped(ErrorCounter);

impl Collector for Dropped {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let lines = u64::try_from(self.0.dropped_lines()).unwrap_or(u64::MAX);
        let counter = ConstCounter::new(lines);
        let descriptor = encoder.encode_descriptor(
            "log_lines_dropped",
            "Lines of the log that were given up because they could not be written fast enough",
            None,
            counter.metric_type(),
        )?;
        counter.encode(descriptor)
    }
}

/// All metrics of the process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Family<Request, Counter>,
    resolve_errors: Family<Kind, Counter>,
    shut: Family<Class, Counter>,
    closed: Family<Why, Counter>,
    tunnel_seconds: Histogram,
    dns_seconds: Histogram,
    dial_seconds: Histogram,
    /// Bytes from clients to servers.
    pub bytes_up: Counter,
    /// Bytes from servers to clients.
    pub bytes_down: Counter,
    /// Tunnels open now.
    pub tunnels: Gauge,
    /// Connections of clients open now, tunnels included.
    pub connections: Gauge,
    /// Connections that could not be accepted.
    pub accept_failures: Counter,
    /// The number of the allowlist in force.
    pub generation: Gauge,
    /// Allowlists that could not be taken up; the last good one stayed.
    pub reload_failures: Counter,
}

impl Metrics {
    /// Registers everything, at zero. `dropped` counts the lines of the log that were given up.
    pub fn new(dropped: Option<ErrorCounter>) -> Self {
        let mut registry = Registry::with_prefix("sandgate_egress");
        if let Some(dropped) = dropped {
            registry.register_collector(Box::new(Dropped(dropped)));
        }
        let bytes = Family::<Direction, Counter>::default();
        let direction = |direction| bytes.get_or_create(&Direction { direction }).clone();
        let metrics = Self {
            requests: Family::default(),
            resolve_errors: Family::default(),
            shut: Family::default(),
            closed: Family::default(),
            tunnel_seconds: Histogram::new(LIVES),
            dns_seconds: Histogram::new(WAITS),
            dial_seconds: Histogram::new(WAITS),
            bytes_up: direction("up"),
            bytes_down: direction("down"),
            tunnels: Gauge::default(),
            connections: Gauge::default(),
            accept_failures: Counter::default(),
            generation: Gauge::default(),
            reload_failures: Counter::default(),
            registry,
        };
        metrics.at_zero();
        metrics.registered(bytes)
    }

    fn at_zero(&self) {
        for labels in [allowed()].into_iter().chain(Reason::ALL.map(refused)) {
            drop(self.requests.get_or_create(&labels));
        }
        for error in ResolveError::ALL {
            let kind = error.as_str();
            drop(self.resolve_errors.get_or_create(&Kind { kind }));
        }
        for shut in Shut::all() {
            let class = shut.as_str();
            drop(self.shut.get_or_create(&Class { class }));
        }
        for cause in Cause::ALL {
            let cause = cause.as_str();
            drop(self.closed.get_or_create(&Why { cause }));
        }
    }

    fn registered(mut self, bytes: Family<Direction, Counter>) -> Self {
        let registry = &mut self.registry;
        registry.register("requests", "Requests answered", self.requests.clone());
        registry.register("open_tunnels", "Tunnels open now", self.tunnels.clone());
        registry.register(
            "open_connections",
            "Connections of clients open now, tunnels included",
            self.connections.clone(),
        );
        registry.register_with_unit(
            "tunnel_duration",
            "From the answer to a request to the end of its tunnel",
            Unit::Seconds,
            self.tunnel_seconds.clone(),
        );
        registry.register_with_unit(
            "carried",
            "Bytes given to the end they were for",
            Unit::Bytes,
            bytes,
        );
        registry.register(
            "tunnels_closed",
            "Tunnels ended, by why",
            self.closed.clone(),
        );
        registry.register_with_unit(
            "dns_duration",
            "From asking DNS for a host to what it says",
            Unit::Seconds,
            self.dns_seconds.clone(),
        );
        registry.register(
            "dns_errors",
            "Hosts that DNS gave no address of",
            self.resolve_errors.clone(),
        );
        registry.register_with_unit(
            "dial_duration",
            "From the first attempt to connect to the connection or its failure",
            Unit::Seconds,
            self.dial_seconds.clone(),
        );
        registry.register(
            "addresses_refused",
            "Addresses of allowed hosts that were not dialled, by why",
            self.shut.clone(),
        );
        registry.register(
            "accept_failures",
            "Connections of clients that could not be accepted",
            self.accept_failures.clone(),
        );
        registry.register(
            "allowlist_generation",
            "The number of the allowlist in force, from 1",
            self.generation.clone(),
        );
        registry.register(
            "allowlist_reload_failures",
            "Allowlists that could not be taken up; the last good one stayed",
            self.reload_failures.clone(),
        );
        self
    }

    /// Counts a tunnel that was opened.
    pub fn allowed(&self) {
        self.requests.get_or_create(&allowed()).inc();
    }

    /// Counts a refusal.
    pub fn refused(&self, reason: Reason) {
        self.requests.get_or_create(&refused(reason)).inc();
    }

    /// Notes what asking DNS took.
    pub fn resolved(&self, took: Duration, error: Option<ResolveError>) {
        self.dns_seconds.observe(took.as_secs_f64());
        if let Some(error) = error {
            let kind = error.as_str();
            self.resolve_errors.get_or_create(&Kind { kind }).inc();
        }
    }

    /// Counts an address that is not dialled.
    pub fn shut(&self, shut: Shut) {
        let class = shut.as_str();
        self.shut.get_or_create(&Class { class }).inc();
    }

    /// Notes what connecting took.
    pub fn dialled(&self, took: Duration) {
        self.dial_seconds.observe(took.as_secs_f64());
    }

    /// Counts the end of a tunnel.
    pub fn closed(&self, cause: Cause, lived: Duration) {
        let cause = cause.as_str();
        self.closed.get_or_create(&Why { cause }).inc();
        self.tunnel_seconds.observe(lived.as_secs_f64());
    }

    /// Everything as `OpenMetrics` text.
    ///
    /// # Errors
    /// A metric cannot be written as text.
    pub fn encode(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

fn allowed() -> Request {
    Request {
        result: "allowed",
        reason: "none",
    }
}

fn refused(reason: Reason) -> Request {
    Request {
        result: "refused",
        reason: reason.as_str(),
    }
}
