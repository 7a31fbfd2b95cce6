//! Our two webhook configurations, kept as they were rendered, and foreign mutators told of (X-012,
//! X-013). Does I/O, and alone writes more of a configuration than its `caBundle`.
//!
//! ```text
//!  changed ─▶ read ─▶ compare with what is rendered ─▶ decide ─▶ PUT, Event, metric, log
//!  foreign configurations and policies ─▶ mutators ─▶ Event once, metric, log
//! ```
//!
//! A configuration that is gone stays gone: who installed it owns it, deleting it is a cluster's
//! emergency exit, and one that came back after its installation left would refuse every write.

use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use k8s_openapi::jiff::Timestamp;
use kube::core::DynamicObject;
use sandgate_shared::render::{self, Installation};
use sandgate_shared::{names, reason};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::api_server::{ApiServer, Place};
use crate::cause::Chain;
use crate::claim::plan::EventDraft;
use crate::event::{self, Called, event};
use crate::kind::Kind;
use crate::leader::Leadership;
use crate::metrics::Metrics;
use crate::watch::changes;

mod compare;
mod decide;
mod failure;
mod mutators;
mod others;
pub(crate) mod pace;

pub(crate) use compare::last_writer;
pub use failure::WebhookConfigError;

use compare::Difference;
use decide::{Decision, Memory, News, listed, noted};
use others::Others;

/// How often it is all looked at though nothing changed: whether policies are served tells nobody.
const TICK: Duration = Duration::from_mins(5);
/// How soon a failed look is repeated.
const REPEAT: Duration = Duration::from_secs(10);
/// The same after somebody else's write.
const SOON: Duration = Duration::from_secs(1);

/// Looks after the configurations while this replica leads.
#[derive(Debug)]
pub struct WebhookConfig {
    api: ApiServer,
    metrics: Metrics,
    /// Which process an Event comes from.
    instance: String,
    ours: [Configuration; 2],
    others: Others,
}

/// One of ours.
#[derive(Debug)]
struct Configuration {
    kind: Kind,
    name: String,
    /// As rendered.
    wanted: Value,
    memory: Memory,
}

impl Configuration {
    fn place(&self) -> Place<'_> {
        Place::cluster(self.kind, &self.name)
    }
}

impl WebhookConfig {
    /// Of this installation; Events are signed as `instance`.
    pub fn new(
        api: &ApiServer,
        metrics: Metrics,
        installation: &Installation,
        instance: &str,
    ) -> Self {
        let [mutating, validating] = render::webhook_configurations(installation);
        let others = Others::new(api, metrics.clone(), &mutating, instance);
        let ours = [
            (Kind::MutatingWebhookConfiguration, mutating),
            (Kind::ValidatingWebhookConfiguration, validating),
        ];
        Self {
            api: api.clone(),
            metrics,
            instance: instance.to_owned(),
            ours: ours.map(|(kind, wanted)| Configuration {
                kind,
                name: names::webhook_configuration(&installation.release),
                wanted,
                memory: Memory::default(),
            }),
            others,
        }
    }

    /// Looks whenever something changed and at each tick while this replica leads, for ever.
    pub async fn run(mut self, mut leadership: watch::Receiver<Leadership>) {
        loop {
            let standing = leadership.borrow_and_update().clone();
            if let Leadership::Leading(term) = standing {
                term.run_until_cancelled(self.lead()).await;
                self.metrics.no_longer_tells_of_configurations();
                for configuration in &mut self.ours {
                    configuration.memory = Memory::default();
                }
                self.others.forget();
            }
            if leadership.changed().await.is_err() {
                return;
            }
        }
    }

    async fn lead(&mut self) {
        let mut changes = self.changes().await;
        loop {
            let now = Instant::now();
            let mut pause = TICK;
            for index in 0..self.ours.len() {
                let looked = self.look_after(index, now).await;
                pause = pause.min(next_look(looked));
            }
            let looked = self.others.look().await.map(|()| TICK);
            pause = pause.min(next_look(looked));
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                Some(()) = changes.next() => {}
            }
        }
    }

    /// Looks at one of ours; says when to look again.
    async fn look_after(
        &mut self,
        index: usize,
        now: Instant,
    ) -> Result<Duration, WebhookConfigError> {
        let Some(ours) = self.ours.get_mut(index) else {
            return Ok(TICK);
        };
        let kind = ours.kind;
        let call = |action| move |source| WebhookConfigError::call(action, kind, source);
        let object = self.api.get(ours.place()).await.map_err(call("read"))?;
        let stands = object.map(|object| value(kind, object)).transpose()?;
        let standing = compare::compare(&ours.wanted, stands.as_ref());
        let sound = standing == compare::Standing::Sound;
        let (decision, news) = ours.memory.decide(&standing, now);
        let (wanted, name) = (ours.wanted.clone(), ours.name.clone());
        let place = Place::cluster(kind, &name);
        self.metrics.configuration_sound(kind, sound);
        if let Some(news) = news {
            self.tell(place, stands.as_ref(), &news).await;
        }
        let Some(stands) = stands else {
            return Ok(TICK);
        };
        match decision {
            Decision::Leave => {
                if sound {
                    self.disown(place, &stands).await?;
                }
                Ok(TICK)
            }
            Decision::Wait(pause) => Ok(pause),
            Decision::Heal(differences) => {
                let next = compare::put_right(&wanted, &stands);
                let next = object_of(kind, &next)?;
                let would = self.api.would_replace(place, &next).await;
                let would = value(kind, would.map_err(call("try to put right"))?)?;
                if compare::compare(&would, Some(&stands)) == compare::Standing::Sound {
                    // The API server reads what stands as what was rendered.
                    self.metrics.configuration_sound(kind, true);
                    return Ok(TICK);
                }
                let healed = self.api.replace(place, &next).await;
                let healed = value(kind, healed.map_err(call("put right"))?)?;
                if let Some(ours) = self.ours.get_mut(index) {
                    ours.memory.healed(now);
                }
                self.metrics.healed(kind);
                self.metrics.configuration_sound(kind, true);
                self.tell_healed(place, &stands, &differences).await;
                self.disown(place, &healed).await?;
                Ok(TICK)
            }
        }
    }

    /// Gives up what a heal made ours of the fields: the next upgrade of the chart writes them, and
    /// would be refused.
    async fn disown(&self, place: Place<'_>, stands: &Value) -> Result<(), WebhookConfigError> {
        let Some(next) = compare::disowned(stands, names::MANAGER_CONTROLLER) else {
            return Ok(());
        };
        let next = object_of(place.kind, &next)?;
        let given = self.api.replace(place, &next).await;
        given
            .map(|_| ())
            .map_err(|source| WebhookConfigError::call("give back", place.kind, source))
    }

    async fn tell(&self, place: Place<'_>, stands: Option<&Value>, news: &News) {
        let (kind, name) = (place.kind.as_str(), place.name);
        let note = news.note(&format!("{kind} {name}"));
        tracing::warn!(kind, name, reason = news.reason(), "{note}");
        let draft = EventDraft {
            warning: true,
            reason: news.reason(),
            action: "Compare",
            note,
        };
        self.publish(place, uid(stands), &draft).await;
    }

    async fn tell_healed(&self, place: Place<'_>, stands: &Value, differences: &[Difference]) {
        let (kind, name) = (place.kind.as_str(), place.name);
        let ours = [names::MANAGER_CONTROLLER, names::MANAGER_CERTIFICATES];
        let writer = last_writer(stands, &ours).unwrap_or("unknown");
        let edits = listed(differences);
        tracing::warn!(kind, name, writer, edits, "put right");
        let draft = EventDraft {
            warning: true,
            reason: reason::HEALED,
            action: "Heal",
            note: format!(
                "put right what was edited, last by field manager {writer:?} (only values of the \
                 chart change it): {}",
                noted(differences)
            ),
        };
        self.publish(place, uid(Some(stands)), &draft).await;
    }

    async fn publish(&self, place: Place<'_>, uid: Option<&str>, draft: &EventDraft) {
        let called = Called::ByTime(Timestamp::now());
        let event = event(place, uid, draft, called, &self.instance);
        event::publish(&self.api, &event).await;
    }

    /// A change of ours or of whatever may mutate.
    async fn changes(&self) -> BoxStream<'static, ()> {
        let mut watches = self.others.changes().await;
        watches.extend(
            self.ours
                .iter()
                .map(|ours| changes::of_object(&self.api, &self.metrics, ours.place())),
        );
        futures::stream::select_all(watches).boxed()
    }
}

fn next_look(looked: Result<Duration, WebhookConfigError>) -> Duration {
    looked.unwrap_or_else(|error| {
        if error.is_conflict() {
            return SOON;
        }
        let error = Chain(&error);
        tracing::warn!(%error, "the webhook configurations are looked at again soon");
        REPEAT
    })
}

fn value(kind: Kind, object: DynamicObject) -> Result<Value, WebhookConfigError> {
    serde_json::to_value(object).map_err(|source| WebhookConfigError::Unreadable { kind, source })
}

fn object_of(kind: Kind, value: &Value) -> Result<DynamicObject, WebhookConfigError> {
    serde_json::from_value(value.clone())
        .map_err(|source| WebhookConfigError::Unreadable { kind, source })
}

fn uid(stands: Option<&Value>) -> Option<&str> {
    stands?.pointer("/metadata/uid")?.as_str()
}
