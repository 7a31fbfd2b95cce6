//! The CAs, put where API servers look for them. Does I/O.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use sandgate_shared::{names, reason};
use tokio::time::Instant;

use super::configuration::Configuration;
use super::failure::{CertificatesError, failed, unreadable};
use super::{Certificates, TICK};
use crate::api_server::Place;
use crate::claim::plan::EventDraft;
use crate::event::{self, Called, event};
use crate::webhook_config::pace::{Pace, Turn};

impl Certificates {
    /// Puts the CAs into every `caBundle` that does not hold them. Says how long to wait with a bundle
    /// that somebody changes back again and again.
    pub(super) async fn publish(
        &mut self,
        configurations: &mut [Configuration],
        bundle: &str,
    ) -> Result<Duration, CertificatesError> {
        let mut pause = TICK;
        for configuration in configurations.iter_mut() {
            let Some(fields) = configuration.with_bundle(bundle) else {
                continue;
            };
            let kind = configuration.kind;
            let published = configuration
                .uid
                .as_ref()
                .is_some_and(|uid| self.published.contains(uid));
            let edit = configuration.edit_of_bundle(bundle, published);
            let quarrel = self.paces.entry(kind).or_insert_with(|| Pace::new(TICK));
            if edit.is_some()
                && let Turn::Rest(left) = quarrel.turn(Instant::now())
            {
                pause = pause.min(left);
                continue;
            }
            let place = Place::cluster(kind, &self.configuration);
            let standing = configuration.resource_version.as_deref();
            let applied = self
                .api
                .apply_shared(place, names::MANAGER_CERTIFICATES, standing, &fields)
                .await
                .map_err(|source| failed("publish the CA in", place, source))?;
            *configuration =
                Configuration::read(kind, applied).map_err(|source| unreadable(place, source))?;
            self.published.extend(configuration.uid.clone());
            tracing::info!(kind = kind.as_str(), "the CA was published");
            if let Some(note) = edit {
                quarrel.healed(Instant::now());
                self.metrics.healed(kind);
                self.tell_healed(place, configuration.uid.as_deref(), note)
                    .await;
            }
        }
        Ok(pause)
    }

    async fn tell_healed(&self, place: Place<'_>, uid: Option<&str>, note: String) {
        tracing::warn!(kind = place.kind.as_str(), name = place.name, "{note}");
        let draft = EventDraft {
            warning: true,
            reason: reason::HEALED,
            action: "Heal",
            note,
        };
        let called = Called::ByTime(Timestamp::now());
        let event = event(place, uid, &draft, called, &self.instance);
        event::publish(&self.api, &event).await;
    }
}
