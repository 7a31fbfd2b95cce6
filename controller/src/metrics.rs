//! What the controller counts. Pure, except that counters are shared. Every label is one of a fixed
//! set: no name, namespace or message of anybody ever becomes one.

use std::fmt::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::kind::Kind;

/// What is asked of the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// GET of one object.
    Get,
    /// GET of all objects of a kind.
    List,
    /// POST.
    Create,
    /// PUT.
    Update,
    /// PUT or POST with `dryRun=All`: writes nothing.
    DryRun,
    /// PATCH.
    Patch,
    /// DELETE.
    Delete,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Read, or written: a resourceVersion moved.
    Done,
    /// A write that was equal to what stood.
    Unchanged,
    /// There is no such object.
    NotFound,
    /// Someone else was first.
    Conflict,
    /// Any other refusal.
    Refused,
    /// No answer in time, or none that could be read.
    Unanswered,
}

/// How one reconcile ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reconciled {
    /// What is wanted stands.
    Done,
    /// It is tried again after a back-off.
    Retried,
}

macro_rules! label_value {
    ($kind:ty { $($variant:ident => $text:literal),+ $(,)? }) => {
        impl EncodeLabelValue for $kind {
            fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), Error> {
                let text = match self { $(Self::$variant => $text),+ };
                EncodeLabelValue::encode(&text, encoder)
            }
        }
    };
}
label_value!(Verb {
    Get => "get", List => "list", Create => "create", Update => "update", DryRun => "dry_run",
    Patch => "patch", Delete => "delete",
});
label_value!(Outcome {
    Done => "done", Unchanged => "unchanged", NotFound => "not_found", Conflict => "conflict",
    Refused => "refused", Unanswered => "unanswered",
});
label_value!(Reconciled { Done => "done", Retried => "retried" });

/// Labels of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    verb: Verb,
    kind: Kind,
    outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReconcileEnd {
    outcome: Reconciled,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfKind {
    kind: Kind,
}

/// Handles to every counter; clones count together.
#[derive(Clone, Debug)]
pub struct Metrics {
    requests: Family<Request, Counter>,
    reconciles: Family<ReconcileEnd, Counter>,
    undecodable: Family<OfKind, Counter>,
    watch_failures: Family<OfKind, Counter>,
    heals: Family<OfKind, Counter>,
    time_to_bound: Histogram,
    leader: Gauge,
    claims: Gauge,
    queued: Gauge,
    leaf_expiry: Gauge<f64, AtomicU64>,
    first_refusal: Gauge,
    tls_failures: Counter,
    configurations: Family<OfKind, Gauge>,
    mutators: Family<OfKind, Gauge>,
}

impl Metrics {
    /// Registers everything in `registry`.
    pub fn register(registry: &mut Registry) -> Self {
        // From the fastest a pod can be ready to the longest a person would wait.
        const SECONDS: [f64; 14] = [
            0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 13.0, 30.0, 60.0, 120.0, 300.0,
        ];
        let metrics = Self {
            requests: Family::default(),
            reconciles: Family::default(),
            undecodable: Family::default(),
            watch_failures: Family::default(),
            heals: Family::default(),
            time_to_bound: Histogram::new(SECONDS),
            leader: Gauge::<i64, AtomicI64>::default(),
            claims: Gauge::default(),
            queued: Gauge::default(),
            leaf_expiry: Gauge::default(),
            first_refusal: Gauge::default(),
            tls_failures: Counter::default(),
            configurations: Family::default(),
            mutators: Family::default(),
        };
        let registry = registry.sub_registry_with_prefix("sandgate_controller");
        registry.register(
            "api_requests",
            "Requests to the API server, by what was asked and how it ended",
            metrics.requests.clone(),
        );
        registry.register(
            "reconciles",
            "Reconciles of claims",
            metrics.reconciles.clone(),
        );
        registry.register(
            "undecodable_objects",
            "Objects that were passed over because they could not be read",
            metrics.undecodable.clone(),
        );
        registry.register(
            "watch_failures",
            "Watches that broke and were started again",
            metrics.watch_failures.clone(),
        );
        registry.register(
            "heals",
            "Objects that a stranger changed and that were put right",
            metrics.heals.clone(),
        );
        registry.register_with_unit(
            "claim_time_to_bound",
            "From a claim's creation to its first Bound",
            Unit::Seconds,
            metrics.time_to_bound.clone(),
        );
        registry.register(
            "leader",
            "1 while this replica leads",
            metrics.leader.clone(),
        );
        registry.register("claims", "Claims known", metrics.claims.clone());
        registry.register(
            "queue_length",
            "Claims that wait for a worker",
            metrics.queued.clone(),
        );
        registry.register_with_unit(
            "serving_certificate_expiry",
            "When the leaf handed to the webhook expires, since the epoch",
            Unit::Seconds,
            metrics.leaf_expiry.clone(),
        );
        registry.register_with_unit(
            "policy_first_refusal",
            "From the admission policy's creation to the record of its first refusal",
            Unit::Seconds,
            metrics.first_refusal.clone(),
        );
        registry.register(
            "certificate_failures",
            "Rounds of the certificate loop that failed and are repeated",
            metrics.tls_failures.clone(),
        );
        registry.register(
            "webhook_configuration_sound",
            "1 while a webhook configuration is as it was rendered, 0 while it is edited, another version's or gone; told by the leader",
            metrics.configurations.clone(),
        );
        registry.register(
            "foreign_mutators",
            "Webhooks and policies of others that may rewrite objects of Sandgate's kinds; told by the leader",
            metrics.mutators.clone(),
        );
        metrics
    }

    /// Counts a request.
    pub fn request(&self, verb: Verb, kind: Kind, outcome: Outcome) {
        self.requests
            .get_or_create(&Request {
                verb,
                kind,
                outcome,
            })
            .inc();
    }

    /// Counts a reconcile.
    pub fn reconciled(&self, outcome: Reconciled) {
        self.reconciles
            .get_or_create(&ReconcileEnd { outcome })
            .inc();
    }

    /// Counts an object that could not be read.
    pub fn undecodable(&self, kind: Kind) {
        self.undecodable.get_or_create(&OfKind { kind }).inc();
    }

    /// Counts a watch that broke.
    pub fn watch_failed(&self, kind: Kind) {
        self.watch_failures.get_or_create(&OfKind { kind }).inc();
    }

    /// Counts a heal.
    pub fn healed(&self, kind: Kind) {
        self.heals.get_or_create(&OfKind { kind }).inc();
    }

    /// Notes how long a claim took from its creation to its first bind.
    pub fn bound_after(&self, waited: Duration) {
        self.time_to_bound.observe(waited.as_secs_f64());
    }

    /// Notes whether this replica leads.
    pub fn leads(&self, leads: bool) {
        self.leader.set(i64::from(leads));
    }

    /// Notes how many claims there are.
    pub fn claims(&self, count: usize) {
        self.claims.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Notes how many claims wait for a worker.
    pub fn queued(&self, count: usize) {
        self.queued.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Notes when the leaf handed to the webhook expires, in time since the epoch.
    pub fn leaf_expires(&self, since_epoch: Duration) {
        self.leaf_expiry.set(since_epoch.as_secs_f64());
    }

    /// Notes how many seconds after its creation the admission policy was first known to refuse.
    pub fn policy_refused_after(&self, seconds: i64) {
        self.first_refusal.set(seconds);
    }

    /// Notes whether a webhook configuration is as it was rendered.
    pub fn configuration_sound(&self, kind: Kind, sound: bool) {
        let gauge = self.configurations.get_or_create(&OfKind { kind });
        gauge.set(i64::from(sound));
    }

    /// Notes how many webhooks or policies of others may rewrite what is ours.
    pub fn foreign_mutators(&self, kind: Kind, count: usize) {
        let gauge = self.mutators.get_or_create(&OfKind { kind });
        gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Leaves to another leader what only a leader tells.
    pub fn no_longer_tells_of_configurations(&self) {
        self.configurations.clear();
        self.mutators.clear();
    }

    /// Counts a failed round of the certificate loop.
    pub fn certificates_failed(&self) {
        self.tls_failures.inc();
    }
}

/// The registry in the text form that scrapers read.
pub fn exposition(registry: &Arc<Registry>) -> Result<String, Error> {
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, registry)?;
    Ok(text)
}
