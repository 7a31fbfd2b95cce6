//! What is counted. Labels come from fixed lists only, so that no request can make a new series.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::review::Answer;

/// 50 µs to 10 s: the budget's median lies in the lowest buckets, a stalled client in the highest.
const BUCKETS: [f64; 14] = [
    5e-5, 1e-4, 1.5e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 5e-2, 0.1, 0.5, 1.0, 10.0,
];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    kind: &'static str,
    operation: &'static str,
    decision: &'static str,
}

/// All metrics of the process. Cheap to share by reference.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    decisions: Family<Labels, Counter>,
    latency: Histogram,
    leaf_expiry: Gauge,
    /// TLS handshakes that failed or took too long.
    pub handshake_failures: Counter,
    /// Connections open now, handshakes included.
    pub connections: Gauge,
    /// Sets of TLS files that could not be served; the last good one stayed.
    pub reload_failures: Counter,
    /// Panics while judging, each answered with a 500.
    pub panics: Counter,
}

impl Metrics {
    /// Registers everything, at zero.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("sandgate_webhook");
        let decisions = Family::<Labels, Counter>::default();
        registry.register("admissions", "Reviews answered", decisions.clone());
        let latency = Histogram::new(BUCKETS);
        registry.register_with_unit(
            "admission_duration",
            "From the last byte of a review to its answer",
            Unit::Seconds,
            latency.clone(),
        );
        let leaf_expiry = Gauge::default();
        registry.register_with_unit(
            "leaf_expiry_timestamp",
            "When the served certificate expires, as Unix time; 0 without one",
            Unit::Seconds,
            leaf_expiry.clone(),
        );
        let handshake_failures = Counter::default();
        registry.register(
            "tls_handshake_failures",
            "TLS handshakes that failed or took too long",
            handshake_failures.clone(),
        );
        let connections = Gauge::default();
        registry.register(
            "connections",
            "TLS connections open now",
            connections.clone(),
        );
        let reload_failures = Counter::default();
        registry.register(
            "tls_reload_failures",
            "Sets of TLS files that could not be served; the last good one stayed",
            reload_failures.clone(),
        );
        let panics = Counter::default();
        registry.register(
            "panics",
            "Panics while judging, answered with a 500",
            panics.clone(),
        );
        Self {
            registry,
            decisions,
            latency,
            leaf_expiry,
            handshake_failures,
            connections,
            reload_failures,
            panics,
        }
    }

    /// Counts one answer.
    pub fn answered(&self, answer: &Answer, took: Duration) {
        let labels = Labels {
            kind: answer.kind,
            operation: answer.operation,
            decision: answer.decision.as_str(),
        };
        self.decisions.get_or_create(&labels).inc();
        self.latency.observe(took.as_secs_f64());
    }

    /// Notes until when the leaf being served is valid.
    pub fn serving_until(&self, not_after: SystemTime) {
        let seconds = not_after
            .duration_since(UNIX_EPOCH)
            .unwrap_or(Duration::ZERO)
            .as_secs();
        self.leaf_expiry
            .set(i64::try_from(seconds).unwrap_or(i64::MAX));
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

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}
