//! Webhooks and policies of others that may rewrite objects of our kinds: each is told of once. Does I/O.

use std::collections::BTreeSet;

use futures::stream::BoxStream;
use kube::api::ApiResource;
use sandgate_shared::reason;
use serde_json::Value;

use super::failure::WebhookConfigError;
use super::mutators::{self, Mutator};
use super::value;
use crate::api_server::{ApiServer, Place};
use crate::claim::plan::EventDraft;
use crate::event::{self, Called, event};
use crate::kind::Kind;
use crate::metrics::Metrics;
use crate::watch::changes;

/// Versions in which API servers have served mutating policies, the best first.
const POLICY_VERSIONS: [&str; 3] = ["v1", "v1beta1", "v1alpha1"];

/// Looks for foreign mutators.
#[derive(Debug)]
pub(super) struct Others {
    api: ApiServer,
    metrics: Metrics,
    instance: String,
    /// Our own mutating configuration, as rendered.
    ours: Value,
    told: BTreeSet<Mutator>,
}

impl Others {
    pub(super) fn new(api: &ApiServer, metrics: Metrics, ours: &Value, instance: &str) -> Self {
        Self {
            api: api.clone(),
            metrics,
            instance: instance.to_owned(),
            ours: ours.clone(),
            told: BTreeSet::new(),
        }
    }

    /// Forgets whom there was word of.
    pub(super) fn forget(&mut self) {
        self.told.clear();
    }

    /// A change of whatever may mutate.
    pub(super) async fn changes(&self) -> Vec<BoxStream<'static, ()>> {
        let kind = Kind::MutatingWebhookConfiguration;
        let mut kinds_served = vec![(kind, kind.resource())];
        // If that cannot be told now, the ticks will do.
        if let Ok(Some(version)) = self.policy_version().await {
            let kinds = [
                Kind::MutatingAdmissionPolicy,
                Kind::MutatingAdmissionPolicyBinding,
            ];
            kinds_served.extend(kinds.map(|kind| (kind, served_as(kind, version))));
        }
        let watches = kinds_served.into_iter().map(|(kind, resource)| {
            changes::of_kind(self.api.objects_as(&resource), &self.metrics, kind)
        });
        watches.collect()
    }

    /// Looks for them; whom there was no word of yet is told of.
    pub(super) async fn look(&mut self) -> Result<(), WebhookConfigError> {
        let kind = Kind::MutatingWebhookConfiguration;
        let configurations = self.list(kind, &kind.resource()).await?;
        let webhooks = mutators::of_webhooks(&configurations, &self.ours);
        self.metrics.foreign_mutators(kind, webhooks.len());

        let kind = Kind::MutatingAdmissionPolicy;
        let mut policies = BTreeSet::new();
        if let Some(version) = self.policy_version().await? {
            let binding = Kind::MutatingAdmissionPolicyBinding;
            let bindings = self.list(binding, &served_as(binding, version)).await?;
            let listed = self.list(kind, &served_as(kind, version)).await?;
            policies = mutators::of_policies(&listed, &bindings);
        }
        self.metrics.foreign_mutators(kind, policies.len());

        let found: BTreeSet<Mutator> = webhooks.into_iter().chain(policies).collect();
        for mutator in found.difference(&self.told) {
            self.tell_mutator(mutator).await;
        }
        self.told = found;
        Ok(())
    }

    async fn tell_mutator(&self, mutator: &Mutator) {
        let note = mutator.to_string();
        tracing::warn!(
            kind = mutator.kind.as_str(),
            name = mutator.object,
            "{note}"
        );
        let place = Place::cluster(mutator.kind, &mutator.object);
        let uid = Some(mutator.uid.as_str());
        let word = format!("{}\n{note}", mutator.uid);
        let draft = EventDraft {
            warning: true,
            reason: reason::FOREIGN_MUTATOR,
            action: "Report",
            note,
        };
        let called = Called::Once(&word);
        event::publish(
            &self.api,
            &event(place, uid, &draft, called, &self.instance),
        )
        .await;
    }

    async fn list(
        &self,
        kind: Kind,
        resource: &ApiResource,
    ) -> Result<Vec<Value>, WebhookConfigError> {
        let listed = self.api.list_as(kind, resource, None).await;
        let listed = listed.map_err(|source| WebhookConfigError::call("list", kind, source))?;
        listed
            .into_iter()
            .map(|object| value(kind, object))
            .collect()
    }

    /// In which version mutating policies are served, if they are.
    async fn policy_version(&self) -> Result<Option<&'static str>, WebhookConfigError> {
        let kind = Kind::MutatingAdmissionPolicy;
        for version in POLICY_VERSIONS {
            let served = self.api.serves(kind, &served_as(kind, version)).await;
            if served.map_err(|source| WebhookConfigError::call("find", kind, source))? {
                return Ok(Some(version));
            }
        }
        Ok(None)
    }
}

fn served_as(kind: Kind, version: &str) -> ApiResource {
    let resource = kind.resource();
    ApiResource {
        api_version: format!("{}/{version}", resource.group),
        version: version.to_owned(),
        ..resource
    }
}
