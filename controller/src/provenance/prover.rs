//! Keeps what is known of policy and binding up to date, while this replica leads. Does I/O.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use k8s_openapi::jiff::Timestamp;
use kube::Config;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watch_object, watcher};
use sandgate_shared::trust::{Answer, Distrust, Stood, Trust};
use tokio::sync::watch;
use tokio::time::Instant;

use super::probe::Probe;
use super::session::{EVERY, Session};
use super::{Provenance, pair, record};
use crate::api_server::{ApiServer, CallError, Place};
use crate::cause::{self, Chain};
use crate::kind::Kind;
use crate::leader::Leadership;
use crate::metrics::Metrics;
use crate::watch::{Subject, Watches, back_off};

/// How soon what could not be read is read again.
const REPEAT: Duration = Duration::from_secs(3);

/// The record of the first refusal could not be read or made.
#[derive(Debug, thiserror::Error)]
pub(super) enum RecordError {
    #[error("failed to {action} ConfigMap {name}, the record of the policy's first refusal")]
    Call {
        action: &'static str,
        name: String,
        #[source]
        source: CallError,
    },
    #[error("ConfigMap {0}, the record of the policy's first refusal, was deleted as it was made")]
    Gone(String),
    #[error(transparent)]
    NotOurs(#[from] record::NotOurs),
}

/// Tries the policy, records its first refusal, and tells what follows.
#[derive(Debug)]
pub struct Prover {
    api: ApiServer,
    metrics: Metrics,
    provenance: Provenance,
    watches: Arc<Watches>,
    release: String,
    namespace: String,
    probe: Probe,
    session: Option<Session>,
}

impl Prover {
    /// Of an installation. `reach` says how the API server is reached.
    pub fn new(
        api: &ApiServer,
        metrics: &Metrics,
        provenance: &Provenance,
        watches: &Arc<Watches>,
        reach: &Config,
        (release, namespace): (&str, &str),
    ) -> Self {
        Self {
            api: api.clone(),
            metrics: metrics.clone(),
            provenance: provenance.clone(),
            watches: Arc::clone(watches),
            release: release.to_owned(),
            namespace: namespace.to_owned(),
            probe: Probe::new(api, metrics.clone(), reach, release, namespace),
            session: None,
        }
    }

    /// Works while this replica leads, for ever.
    pub async fn run(mut self, mut leadership: watch::Receiver<Leadership>) {
        loop {
            let standing = leadership.borrow_and_update().clone();
            if let Leadership::Leading(term) = standing {
                tokio::select! {
                    () = term.cancelled() => {}
                    never = self.lead() => match never {}
                }
                // What another leader sees meanwhile is not known.
                self.session = None;
                self.provenance.tell(Trust::Unknown);
                self.metrics.policy_proven(false);
            }
            if leadership.changed().await.is_err() {
                return;
            }
        }
    }

    async fn lead(&mut self) -> Infallible {
        let mut changes = self.changes();
        loop {
            let pause = self.round().await;
            // A kind that is not served cannot be watched either: it is asked for now and then.
            let served = self.provenance.trust() != Trust::Broken(Distrust::NotServed);
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                Some(()) = changes.next(), if served => {}
            }
        }
    }

    /// Reads, tries the policy if it is time, and tells. Returns when to come back though nothing
    /// changed.
    async fn round(&mut self) -> Duration {
        match pair::read(&self.api, self.provenance.expected()).await {
            Ok(stood) => {
                let known = self.session.take().filter(|known| known.stood == stood);
                let mut session = known.unwrap_or_else(|| Session::of(stood, Instant::now()));
                let looked = self.look(&mut session).await;
                let (trust, pause) = match looked {
                    Ok(()) => (session.trust(), session.due - Instant::now()),
                    Err(error) => (Trust::Unread(Chain(&error).to_string()), REPEAT),
                };
                self.session = Some(session);
                self.tell(trust);
                pause
            }
            Err(trust @ Trust::Unread(_)) => {
                self.tell(trust);
                REPEAT
            }
            Err(trust) => {
                self.session = None;
                self.tell(trust);
                EVERY
            }
        }
    }

    /// Looks for the record, tries the policy if it is time, and makes the record of its first refusal.
    async fn look(&mut self, session: &mut Session) -> Result<(), RecordError> {
        if session.proof.is_none() {
            session.proof = self.recorded(&session.stood).await?;
        }
        if Instant::now() >= session.due {
            let asked = self.probe.ask(self.provenance.expected()).await;
            let answer = asked.unwrap_or_else(|error| Answer::Other(Chain(&error).to_string()));
            session.answered(answer, Instant::now());
        }
        if session.proof.is_none() && session.refuses() {
            session.proof = Some(self.record(&session.stood).await?);
        }
        if let Some(proof) = session.proof {
            let created = session.stood.policy_created;
            let after = proof.as_second().saturating_sub(created.as_second());
            self.metrics.policy_refused_after(after);
        }
        Ok(())
    }

    pub(super) async fn recorded(&self, stood: &Stood) -> Result<Option<Timestamp>, RecordError> {
        let name = stood.record_name(&self.release);
        let place = Place::namespaced(Kind::ConfigMap, &self.namespace, &name);
        let found = self.api.get(place).await;
        let found = found.map_err(|source| failed("read", place, source))?;
        Ok(found
            .map(|object| record::read(&object, stood))
            .transpose()?)
    }

    /// Makes the record. Where another leader has been first, its record counts.
    pub(super) async fn record(&self, stood: &Stood) -> Result<Timestamp, RecordError> {
        let policy = self.provenance.expected().name();
        let object = record::object(&self.release, &self.namespace, policy, stood);
        let name = stood.record_name(&self.release);
        let place = Place::namespaced(Kind::ConfigMap, &self.namespace, &name);
        let made = self
            .api
            .create(Kind::ConfigMap, Some(&self.namespace), &object)
            .await;
        let found = match made {
            Err(error) if error.is_already_exists() => self.api.get(place).await,
            made => made.map(Some),
        };
        let found = found.map_err(|source| failed("make", place, source))?;
        match found {
            Some(object) => Ok(record::read(&object, stood)?),
            None => Err(RecordError::Gone(name)),
        }
    }

    /// Tells what is known, and lets every claim be looked at for which that may be news.
    fn tell(&self, trust: Trust) {
        self.metrics
            .policy_proven(matches!(trust, Trust::Proven { .. }));
        if !self.provenance.tell(trust) {
            return;
        }
        let trust = self.provenance.trust();
        tracing::info!(?trust, "what is known of policy and binding changed");
        for claim in self.watches.index.lacking_record() {
            self.watches.queue.push(Subject::Claim(claim));
        }
    }

    /// A change of any policy, as one of another version counts too, or of our binding.
    fn changes(&self) -> impl Stream<Item = ()> + Send + Unpin + use<> {
        let policies = self.api.objects(Kind::ValidatingAdmissionPolicy, None);
        // The policies of a listing are no news one by one.
        let listed = |event: &Event<_>| matches!(event, Event::Init | Event::InitApply(_));
        let policies = watcher(policies, watcher::Config::default())
            .backoff(back_off())
            .map(move |seen| seen.map(|event| !listed(&event)));
        let kind = Kind::ValidatingAdmissionPolicyBinding;
        let name = self.provenance.expected().name().to_owned();
        let bindings = watch_object(self.api.objects(kind, None), &name)
            .backoff(back_off())
            .map(|seen| seen.map(|_| true));
        let metrics = self.metrics.clone();
        futures::stream::select(policies.boxed(), bindings.boxed()).filter_map(move |seen| {
            std::future::ready(match seen {
                Ok(news) => news.then_some(()),
                Err(error) => {
                    metrics.watch_failed(Kind::ValidatingAdmissionPolicy);
                    let error = cause::of_watch(&error);
                    tracing::info!(error, "a watch of policies broke and is started again");
                    None
                }
            })
        })
    }
}

fn failed(action: &'static str, place: Place<'_>, source: CallError) -> RecordError {
    RecordError::Call {
        action,
        name: place.name.to_owned(),
        source,
    }
}
