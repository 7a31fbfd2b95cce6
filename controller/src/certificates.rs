//! Serving certificates of the webhook (X-012). The leader issues and publishes; every replica hands
//! leaf, key and trust to the webhook beside it. Does I/O; what to issue and what to hand over is
//! decided by the `certs` crate.
//!
//! ```text
//!   Secret ─┐                       leader: plan, issue ──▶ Secret, caBundle of both configurations
//!   configurations ─┴─ changed ─▶ round
//!                                   every replica: next_files ──▶ TLS directory (never a CA's key)
//! ```

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use futures::{Stream, StreamExt as _};
use kube::core::DynamicObject;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::watch_object;
use sandgate_certs::directory::{TlsDirectory, next_files};
use sandgate_certs::issue::{self, Lifetimes};
use sandgate_certs::plan::plan;
use sandgate_certs::store::Stored;
use sandgate_certs::trust::{StandingSince, held_by_all};
use sandgate_shared::names;
use tokio::sync::watch;

use crate::api_server::{ApiServer, Place};
use crate::cause::{self, Chain};
use crate::kind::Kind;
use crate::leader::Leadership;
use crate::metrics::Metrics;

mod configuration;
mod failure;
mod secret;

pub use failure::CertificatesError;

use configuration::Configuration;
use failure::{failed, unreadable};

/// How often a round is made though nothing changed: certificates age. By the wall clock, so that a
/// machine that slept catches up.
const TICK: Duration = Duration::from_secs(30);
/// How soon a failed round is repeated.
const REPEAT: Duration = Duration::from_secs(3);

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
}

impl Certificates {
    /// Of an installation: the Secret is `<release>-webhook-certs` in `namespace`.
    pub fn new(
        api: &ApiServer,
        metrics: Metrics,
        release: &str,
        namespace: &str,
        directory: PathBuf,
    ) -> Self {
        Self {
            api: api.clone(),
            metrics,
            namespace: namespace.to_owned(),
            secret: format!("{release}-webhook-certs"),
            configuration: names::webhook_configuration(release),
            directory: TlsDirectory::new(directory),
            standing: StandingSince::default(),
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
            let pause = match self.round(leads, SystemTime::now()).await {
                Ok(()) => TICK,
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

    async fn round(&mut self, leads: bool, now: SystemTime) -> Result<(), CertificatesError> {
        let mut configurations = self.configurations().await?;
        let secret = self.secret().await?;
        let mut stored = self.stored(secret.as_ref())?;
        let hosts = configuration::hosts(&configurations);
        if leads {
            self.standing
                .observe(&held_by_all(&configuration::bundles(&configurations)), now);
            let plan = plan(now, &stored, &hosts, &self.standing);
            if !plan.is_nothing() {
                let next = issue::carry_out(&plan, &stored, &hosts, Lifetimes::default(), now)
                    .map_err(CertificatesError::Issue)?;
                self.write(secret.as_ref(), &next).await?;
                tracing::info!(?plan, "certificates were issued");
                stored = next;
            }
            self.publish(&mut configurations, &stored.bundle(now))
                .await?;
        }
        self.hand_over(stored, &configurations, hosts, now).await
    }

    /// Puts the CAs into every `caBundle` that does not hold them.
    async fn publish(
        &self,
        configurations: &mut [Configuration],
        bundle: &str,
    ) -> Result<(), CertificatesError> {
        for configuration in configurations.iter_mut() {
            let Some(fields) = configuration.with_bundle(bundle) else {
                continue;
            };
            let place = Place::cluster(configuration.kind, &self.configuration);
            let standing = configuration.resource_version.as_deref();
            let applied = self
                .api
                .apply_shared(place, names::MANAGER_CERTIFICATES, standing, &fields)
                .await
                .map_err(|source| failed("publish the CA in", place, source))?;
            *configuration = Configuration::read(place.kind, applied)
                .map_err(|source| unreadable(place, source))?;
            tracing::info!(kind = place.kind.as_str(), "the CA was published");
        }
        Ok(())
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
        let secrets = self.api.objects(Kind::Secret, Some(&self.namespace));
        let mut watches = vec![
            watch_object(secrets, &self.secret)
                .default_backoff()
                .boxed(),
        ];
        for kind in CONFIGURATIONS {
            let objects = self.api.objects(kind, None);
            watches.push(
                watch_object(objects, &self.configuration)
                    .default_backoff()
                    .boxed(),
            );
        }
        futures::stream::select_all(watches).filter_map(|seen| {
            std::future::ready(match seen {
                Ok(_) => Some(()),
                Err(error) => {
                    let error = cause::of_watch(&error);
                    tracing::info!(
                        error,
                        "a watch of the certificates broke and is started again"
                    );
                    None
                }
            })
        })
    }

    fn secret_place(&self) -> Place<'_> {
        Place::namespaced(Kind::Secret, &self.namespace, &self.secret)
    }
}
