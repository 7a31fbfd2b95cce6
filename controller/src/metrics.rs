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
use prometheus_client::registry::{Metric, Registry, Unit};

use crate::admission_queue::Limit;
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
label_value!(Limit { Instance => "instance", Session => "session", Runtime => "runtime" });
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
struct OfLimit {
    limit: Limit,
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
    reconcile_duration: Histogram,
    undecodable: Family<OfKind, Counter>,
    watch_failures: Family<OfKind, Counter>,
    heals: Family<OfKind, Counter>,
    time_to_bound: Histogram,
    revocation: Histogram,
    held_back: Family<OfLimit, Gauge>,
    time_queued: Histogram,
    leader: Gauge,
    claims: Gauge,
    queued: Gauge,
    leaf_expiry: Gauge<f64, AtomicU64>,
    policy_proven: Gauge,
    first_refusal: Gauge,
    tls_failures: Counter,
    configurations: Family<OfKind, Gauge>,
    mutators: Family<OfKind, Gauge>,
}

/// Puts metrics into a registry.
struct Registering<'r>(&'r mut Registry);

impl Registering<'_> {
    /// Registers a metric and hands it back.
    fn add<M: Metric + Clone>(&mut self, name: &str, help: &str, metric: M) -> M {
        self.0.register(name, help, metric.clone());
        metric
    }

    /// The same of one that counts seconds.
    fn seconds<M: Metric + Clone>(&mut self, name: &str, help: &str, metric: M) -> M {
        self.0
            .register_with_unit(name, help, Unit::Seconds, metric.clone());
        metric
    }
}

impl Metrics {
    /// Registers everything in `registry`.
    pub fn register(registry: &mut Registry) -> Self {
        // From the fastest a pod can be ready to the longest a person would wait.
        const SECONDS: [f64; 14] = [
            0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 13.0, 30.0, 60.0, 120.0, 300.0,
        ];
        // From a place that is left at once to the longest that anybody waits for a turn.
        const TURNS: [f64; 9] = [1.0, 5.0, 15.0, 60.0, 180.0, 600.0, 1800.0, 3600.0, 14400.0];
        // From a claim about which nothing is to be done, in 10 µs, to requests that time out: close enough
        // together that a quantile read from them is off by half of itself at most.
        const DECADES: [f64; 6] = [100_000.0, 10_000.0, 1_000.0, 100.0, 10.0, 1.0];
        const STEPS: [f64; 6] = [1.0, 1.5, 2.0, 3.0, 5.0, 7.0];
        let mut all = Registering(registry.sub_registry_with_prefix("sandgate_controller"));
        Self {
            requests: all.add(
                "api_requests",
                "Requests to the API server, by what was asked and how it ended",
                Family::default(),
            ),
            reconciles: all.add("reconciles", "Reconciles of claims", Family::default()),
            reconcile_duration: all.seconds(
                "reconcile_duration",
                "From taking up a claim to being done with it for now, requests to the API server included",
                Histogram::new(DECADES.iter().flat_map(|a| STEPS.map(|step| step / a))),
            ),
            undecodable: all.add(
                "undecodable_objects",
                "Objects that were passed over because they could not be read",
                Family::default(),
            ),
            watch_failures: all.add(
                "watch_failures",
                "Watches that broke and were started again",
                Family::default(),
            ),
            heals: all.add(
                "heals",
                "Objects that a stranger changed and that were put right",
                Family::default(),
            ),
            time_to_bound: all.seconds(
                "claim_time_to_bound",
                "From a claim's creation to its first Bound",
                Histogram::new(SECONDS),
            ),
            revocation: all.seconds(
                "credential_revocation",
                "From finding a Connection, Secret or key of a sandbox gone to the end of the last pod that had it",
                Histogram::new(SECONDS),
            ),
            held_back: all.add(
                "claims_queued",
                "Claims that wait for their turn, by the limit that they wait for",
                Family::default(),
            ),
            time_queued: all.seconds(
                "claim_queue_wait",
                "From a claim's creation to its admission, of those that had to wait for their turn",
                Histogram::new(TURNS),
            ),
            leader: all.add(
                "leader",
                "1 while this replica leads",
                Gauge::<i64, AtomicI64>::default(),
            ),
            claims: all.add("claims", "Claims known", Gauge::default()),
            queued: all.add(
                "queue_length",
                "Claims that wait for a worker",
                Gauge::default(),
            ),
            leaf_expiry: all.seconds(
                "serving_certificate_expiry",
                "When the leaf handed to the webhook expires, since the epoch; 0 without one",
                Gauge::default(),
            ),
            policy_proven: all.add(
                "policy_proven",
                "1 while the admission policy stands as rendered and is known to refuse; told by the leader, 0 of others",
                Gauge::default(),
            ),
            first_refusal: all.seconds(
                "policy_first_refusal",
                "From the admission policy's creation to the record of its first refusal",
                Gauge::default(),
            ),
            tls_failures: all.add(
                "certificate_failures",
                "Rounds of the certificate loop that failed and are repeated",
                Counter::default(),
            ),
            configurations: all.add(
                "webhook_configuration_sound",
                "1 while a webhook configuration is as it was rendered, 0 while it is edited, another version's or gone; told by the leader",
                Family::default(),
            ),
            mutators: all.add(
                "foreign_mutators",
                "Webhooks and policies of others that may rewrite objects of Sandgate's kinds; told by the leader",
                Family::default(),
            ),
        }
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

    /// Notes how long a reconcile of a claim took.
    pub fn reconciled_within(&self, took: Duration) {
        self.reconcile_duration.observe(took.as_secs_f64());
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

    /// Notes how long pods kept a credential after it was found gone (K-031).
    pub fn revoked_after(&self, took: Duration) {
        self.revocation.observe(took.as_secs_f64());
    }

    /// Notes how many claims wait for their turn under a limit.
    pub fn held_back(&self, limit: Limit, count: usize) {
        let gauge = self.held_back.get_or_create(&OfLimit { limit });
        gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Notes how long after its creation a claim was admitted that had to wait for its turn.
    pub fn admitted_after(&self, waited: Duration) {
        self.time_queued.observe(waited.as_secs_f64());
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

    /// Notes whether the admission policy stands and is known to refuse, as this replica knows while it
    /// leads.
    pub fn policy_proven(&self, proven: bool) {
        self.policy_proven.set(i64::from(proven));
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
