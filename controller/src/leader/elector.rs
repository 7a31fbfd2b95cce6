//! The election itself: reads and writes the Lease, and tells the rest of the process. Does I/O.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::core::DynamicObject;
use sandgate_shared::names;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::fence::Fence;
use super::lease::{LeaderError, StoredLease};
use super::occasions::{Occasions, reached};
use super::{Leaderless, Record, Step, Timing, decide};
use crate::api_server::ApiServer;
use crate::cause::Chain;
use crate::metrics::Metrics;

/// Whether this replica leads. While it does, the token of the term is live; it is cancelled the
/// moment the term is over, so work that holds it can stop.
#[derive(Clone, Debug, Default)]
pub enum Leadership {
    /// Somebody else leads, or nobody.
    #[default]
    Standby,
    /// This replica leads until the token is cancelled.
    Leading(CancellationToken),
}

/// Takes part in the election.
#[derive(Debug)]
pub struct Elector {
    lease: StoredLease,
    fence: Fence,
    metrics: Metrics,
    identity: String,
    timing: Timing,
    told: watch::Sender<Leadership>,
    seen: Option<Sighting>,
    /// When the last look began.
    looked: Option<Instant>,
}

/// A record and when we first saw it.
#[derive(Debug)]
struct Sighting {
    record: Record,
    since: Instant,
}

#[derive(Debug)]
struct Term {
    token: CancellationToken,
    deadline: Instant,
}

impl Elector {
    /// An elector for the Lease `name`, as `identity`.
    pub fn new(
        api: &ApiServer,
        metrics: Metrics,
        namespace: &str,
        name: &str,
        identity: &str,
        timing: Timing,
    ) -> Self {
        let lease = StoredLease {
            // An answer later than this is of no use: the next look at the Lease is due.
            api: api.answering_within(timing.period * 2),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            duration: timing.duration,
        };
        Self {
            fence: Fence::new(lease.clone(), identity.to_owned()),
            lease,
            metrics,
            identity: identity.to_owned(),
            timing,
            told: watch::Sender::default(),
            seen: None,
            looked: None,
        }
    }

    /// Tells of every change of leadership.
    pub fn leadership(&self) -> watch::Receiver<Leadership> {
        self.told.subscribe()
    }

    /// Makes sure of leading.
    pub fn fence(&self) -> Fence {
        self.fence.clone()
    }

    /// Runs until `shutdown`, then ends the term, if there is one. The Lease is not released: that is
    /// for [`Self::release`], once the term's work has stopped.
    pub async fn run(&mut self, shutdown: &CancellationToken) {
        let mut term: Option<Term> = None;
        let (lease, metrics) = (self.lease.clone(), self.metrics.clone());
        let mut occasions = Occasions::new(lease, metrics, self.timing.period);
        loop {
            let deadline = term.as_ref().map(|term| term.deadline);
            let lapse = self.lapse().filter(|_| term.is_none());
            tokio::select! {
                () = shutdown.cancelled() => break,
                () = reached(deadline) => {
                    tracing::warn!(lease = self.lease.name, "the Lease was not renewed in time, standing by");
                    self.end(term.take());
                }
                () = occasions.next(lapse) => {
                    let asked = Instant::now();
                    // The deadline is not put off by a request that hangs.
                    let looked = tokio::select! {
                        looked = self.look() => looked,
                        () = reached(deadline) => continue,
                        () = shutdown.cancelled() => break,
                    };
                    match looked {
                        Ok(true) => {
                            occasions.lead();
                            self.hold(&mut term, asked);
                        }
                        Ok(false) => {
                            self.end(term.take());
                            occasions.stand_by();
                        }
                        Err(error) => tracing::warn!(
                            error = %Chain(&error), "the Lease could not be looked after"
                        ),
                    }
                }
            }
        }
        self.end(term);
    }

    /// Gives the Lease up, if we hold it, so that another replica need not wait for it to run out.
    pub async fn release(&mut self) -> Result<(), LeaderError> {
        let Some((live, record)) = self.lease.read().await? else {
            return Ok(());
        };
        if record.holder.as_deref() != Some(self.identity.as_str()) {
            return Ok(());
        }
        let released = record.released(Timestamp::now());
        let standing = live.metadata.annotations.as_ref();
        let told = standing.and_then(|all| all.get(names::ANNOTATION_LEADERLESS));
        let written = self
            .lease
            .write(Some(&live), &released, told.cloned())
            .await;
        written.map(|_| ())
    }

    fn hold(&self, term: &mut Option<Term>, asked: Instant) {
        let deadline = asked + self.timing.deadline;
        self.fence.until(Some(deadline));
        if let Some(term) = term {
            term.deadline = deadline;
            return;
        }
        let token = CancellationToken::new();
        tracing::info!(lease = self.lease.name, identity = self.identity, "leading");
        self.metrics.leads(true);
        self.told.send_replace(Leadership::Leading(token.clone()));
        *term = Some(Term { token, deadline });
    }

    fn end(&self, term: Option<Term>) {
        let Some(term) = term else { return };
        self.fence.until(None);
        self.fence.knows(None);
        term.token.cancel();
        tracing::info!(
            lease = self.lease.name,
            identity = self.identity,
            "no longer leading"
        );
        self.metrics.leads(false);
        self.told.send_replace(Leadership::Standby);
    }

    /// One look at the Lease: whether we hold it afterwards.
    async fn look(&mut self) -> Result<bool, LeaderError> {
        self.looked = Some(Instant::now());
        let standing = self.lease.read().await?;
        let record = standing.as_ref().map(|(_, record)| record);
        let unchanged_for = self.sight(record);
        match decide(&self.identity, record, unchanged_for) {
            Step::Wait => Ok(false),
            Step::Create | Step::Renew | Step::Take => {
                let now = Timestamp::now();
                let next = Record::held_by(&self.identity, record, self.timing.duration, now);
                let live = standing.as_ref().map(|(live, _)| live);
                // During a term what was known at its beginning, whoever edits the annotation.
                let leaderless = self.fence.leaderless().or_else(|| self.leaderless(live));
                let text = leaderless.as_ref().map(Leaderless::text);
                let written = self.lease.write(live, &next, text).await?;
                if written {
                    self.fence.knows(leaderless);
                }
                Ok(written)
            }
        }
    }

    /// When nobody led before now. Not known while the API server does not tell what time it is; a Lease
    /// written then says nothing to others, either.
    fn leaderless(&self, live: Option<&DynamicObject>) -> Option<Leaderless> {
        let now = Timestamp::try_from(self.lease.api.heard()?).ok()?;
        Some(Leaderless::found(live.map(|live| &live.metadata), now))
    }

    /// When what was seen last will have stood for its duration, unless somebody has looked since: one look
    /// for each sighting, whatever becomes of it.
    fn lapse(&self) -> Option<Instant> {
        let seen = self.seen.as_ref()?;
        let lapse = seen.since + seen.record.duration;
        (self.looked? < lapse).then_some(lapse)
    }

    /// Takes note of the record and says for how long it has been the same.
    fn sight(&mut self, record: Option<&Record>) -> Duration {
        let now = Instant::now();
        match (&self.seen, record) {
            (Some(seen), Some(record)) if seen.record == *record => now - seen.since,
            (_, record) => {
                self.seen = record.map(|record| Sighting {
                    record: record.clone(),
                    since: now,
                });
                Duration::ZERO
            }
        }
    }
}

#[cfg(test)]
mod tests;
