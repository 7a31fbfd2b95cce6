//! Serving certificates of the webhook (X-012). The leader issues and publishes; every replica hands
//! leaf, key and trust to the webhook beside it. Does I/O; what to issue and what to hand over is
//! decided by the `certs` crate.
//!
//! ```text
//!   Secret ─┐                       leader: plan, issue ──▶ Secret, caBundle of both configurations
//!   configurations ─┴─ changed ─▶ round
//!                                   every replica: next_files ──▶ TLS directory (never a CA's key)
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use futures::{Stream, StreamExt as _};
use kube::core::DynamicObject;
use sandgate_certs::directory::{TlsDirectory, next_files};
use sandgate_certs::issue::{self, Lifetimes};
use sandgate_certs::plan::plan;
use sandgate_certs::store::Stored;
use sandgate_certs::trust::{StandingSince, held_by_all};
use sandgate_shared::names;
use tokio::sync::watch;

use crate::api_server::{ApiServer, Place};
use crate::cause::Chain;
use crate::kind::Kind;
use crate::leader::Leadership;
use crate::metrics::Metrics;
use crate::watch::changes;
use crate::webhook_config::pace::Pace;

mod configuration;
mod failure;
mod publish;
mod secret;

pub use failure::CertificatesError;

use configuration::Configuration;
use failure::{failed, unreadable};

/// How often a round is made though nothing changed: certificates age. By the wall clock, so that a
/// machine that slept catches up.
const TICK: Duration = Duration::from_secs(30);
/// How soon a failed round is repeated.
const REPEAT: Duration = Duration::from_secs(3);

/// How soon after another replica's write.
const SOON: Duration = Duration::from_millis(100);

/// Both kinds of webhook configuration.
const CONFIGURATIONS: [Kind; 2] = [
    Kind::MutatingWebhookConfiguration,
    Kind::ValidatingWebhookConfiguration,
];

/// Looks after the certificates.
#[derive(Debug)]
pub struct Certificates {
    api: ApiServer,
    metrics: Metrics,
    namespace: String,
    secret: String,
    configuration: String,
    directory: TlsDirectory,
    standing: StandingSince,
    /// Which process an Event comes from.
    instance: String,
    /// Configurations that this process published CAs in, by uid.
    published: BTreeSet<String>,
    paces: BTreeMap<Kind, Pace>,
}

impl Certificates {
    /// Of an installation: the Secret is `<release>-webhook-certs` in `namespace`. Events are signed as
    /// `instance`.
    pub fn new(
        api: &ApiServer,
        metrics: Metrics,
        release: &str,
        namespace: &str,
        directory: PathBuf,
        instance: &str,
    ) -> Self {
        Self {
            api: api.clone(),
            metrics,
            namespace: namespace.to_owned(),
            secret: format!("{release}-webhook-certs"),
            configuration: names::webhook_configuration(release),
            directory: TlsDirectory::new(directory),
            standing: StandingSince::default(),
            instance: instance.to_owned(),
            published: BTreeSet::new(),
            paces: BTreeMap::new(),
        }
    }

    /// Makes a round whenever something changed and at each tick, for ever.
    pub async fn run(mut self, mut leadership: watch::Receiver<Leadership>) {
        let mut changes = self.changes();
        loop {
            let leads = matches!(*leadership.borrow_and_update(), Leadership::Leading(_));
            if !leads {
                // What another leader did meanwhile is not known.
                self.standing = StandingSince::default();
            }
            let pause = match self.round(leads).await {
                Ok(pause) => pause,
                // Another replica wrote first: this one reads what.
                Err(error) if error.is_conflict() => {
                    tracing::info!(error = %Chain(&error), "looked at again");
                    SOON
                }
                Err(error) => {
                    self.metrics.certificates_failed();
                    let error = Chain(&error);
                    tracing::warn!(%error, "the certificates are looked after again soon");
                    REPEAT
                }
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                Some(()) = changes.next() => {}
                told = leadership.changed() => if told.is_err() { return },
            }
        }
    }

    /// Says when to make the next one.
    async fn round(&mut self, leads: bool) -> Result<Duration, CertificatesError> {
        let mut pause = TICK;
        // First the configurations, then the Secret: a bundle that another replica published before
        // is of a Secret that is read here, and one published after makes the apply a conflict.
        let mut configurations = self.configurations().await?;
        let secret = self.secret().await?;
        let mut stored = self.stored(secret.as_ref())?;
        let hosts = configuration::hosts(&configurations);
        // They are accepted or not by the API server's clock.
        let now = self.api.now();
        if leads {
            let held = held_by_all(&configuration::bundles(&configurations));
            self.standing.observe(&held, std::time::Instant::now());
            let plan = plan(now, &stored, &hosts, &self.standing);
            if !plan.is_nothing() {
                let next = issue::carry_out(&plan, &stored, &hosts, Lifetimes::default(), now)
                    .map_err(CertificatesError::Issue)?;
                self.write(secret.as_ref(), &next).await?;
                tracing::info!(?plan, "certificates were issued");
                stored = next;
            }
            pause = self
                .publish(&mut configurations, &stored.bundle(now))
                .await?;
        }
        self.hand_over(stored, &configurations, hosts, now).await?;
        Ok(pause)
    }

    async fn hand_over(
        &self,
        stored: Stored,
        configurations: &[Configuration],
        hosts: Vec<String>,
        now: SystemTime,
    ) -> Result<(), CertificatesError> {
        let directory = self.directory.clone();
        let held = held_by_all(&configuration::bundles(configurations));
        let written = tokio::task::spawn_blocking(move || {
            let current = directory.read().ok();
            let Some(files) = next_files(current.as_ref(), &stored, &held, &hosts, now) else {
                return Ok(None);
            };
            let changed = directory.write(&files)?;
            Ok(Some((files, changed)))
        });
        let written = written.await.map_err(CertificatesError::Task)?;
        if let Some((files, changed)) = written.map_err(CertificatesError::Directory)? {
            if let Some(expiry) = secret::expiry(&files) {
                self.metrics.leaf_expires(expiry);
            }
            if changed {
                tracing::info!(hosts = ?files.server_names, "the webhook was handed certificates");
            }
        }
        Ok(())
    }

    async fn configurations(&self) -> Result<Vec<Configuration>, CertificatesError> {
        let mut found = Vec::new();
        for kind in CONFIGURATIONS {
            let place = Place::cluster(kind, &self.configuration);
            let object = self
                .api
                .get(place)
                .await
                .map_err(|source| failed("read", place, source))?;
            if let Some(object) = object {
                let read = Configuration::read(kind, object);
                found.push(read.map_err(|source| unreadable(place, source))?);
            }
        }
        Ok(found)
    }

    async fn secret(&self) -> Result<Option<DynamicObject>, CertificatesError> {
        let place = self.secret_place();
        self.api
            .get(place)
            .await
            .map_err(|source| failed("read", place, source))
    }

    fn stored(&self, secret: Option<&DynamicObject>) -> Result<Stored, CertificatesError> {
        let Some(secret) = secret else {
            return Ok(Stored::default());
        };
        let stored =
            secret::read(secret).map_err(|source| unreadable(self.secret_place(), source))?;
        for unreadable in &stored.unreadable {
            tracing::warn!(
                secret = self.secret,
                entry = unreadable,
                "not of use, left out"
            );
        }
        Ok(stored)
    }

    /// POST, or PUT over what was read. Whoever loses a race repeats the round with what the other
    /// wrote, since a CA must not be published before it is stored.
    async fn write(
        &self,
        standing: Option<&DynamicObject>,
        next: &Stored,
    ) -> Result<(), CertificatesError> {
        let place = self.secret_place();
        let object = secret::object(standing, &self.namespace, &self.secret, next);
        let written = match standing {
            Some(_) => self.api.replace(place, &object).await,
            None => {
                self.api
                    .create(Kind::Secret, Some(&self.namespace), &object)
                    .await
            }
        };
        written
            .map(|_| ())
            .map_err(|source| failed("write", place, source))
    }

    /// A change of the Secret or of a configuration.
    fn changes(&self) -> impl Stream<Item = ()> + Send + Unpin + use<> {
        let configurations = CONFIGURATIONS.map(|kind| Place::cluster(kind, &self.configuration));
        let places = [self.secret_place()].into_iter().chain(configurations);
        let watches: Vec<_> = places
            .map(|place| changes::of_object(&self.api, &self.metrics, place))
            .collect();
        futures::stream::select_all(watches)
    }

    fn secret_place(&self) -> Place<'_> {
        Place::namespaced(Kind::Secret, &self.namespace, &self.secret)
    }
}
