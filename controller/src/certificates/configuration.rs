//! A webhook configuration, as far as certificates are concerned: who is called, and which CAs are
//! trusted. Pure.

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use kube::core::DynamicObject;
use sandgate_certs::certificate::canonical_host;
use sandgate_shared::names;
use serde_json::{Value, json};

use crate::kind::Kind;
use crate::webhook_config::last_writer;

/// One of the two configurations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Configuration {
    pub(super) kind: Kind,
    pub(super) resource_version: Option<String>,
    pub(super) uid: Option<String>,
    name: String,
    webhooks: Vec<Webhook>,
    /// Who wrote last, if it was none of us.
    last_writer: Option<String>,
}

/// One entry of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Webhook {
    name: String,
    /// The host that an API server verifies the leaf for.
    host: Option<String>,
    bundle: Vec<u8>,
    /// Whether our apply wrote the bundle that stands.
    bundle_is_ours: bool,
}

impl Configuration {
    /// Reads either kind.
    pub(super) fn read(kind: Kind, object: DynamicObject) -> Result<Self, serde_json::Error> {
        let metadata = object.metadata.clone();
        let value = serde_json::to_value(object)?;
        let ours = [names::MANAGER_CERTIFICATES, names::MANAGER_CONTROLLER];
        let last_writer = last_writer(&value, &ours).map(str::to_owned);
        let owned = owned_fields(&value);
        let clients: Vec<(String, WebhookClientConfig)> =
            if kind == Kind::MutatingWebhookConfiguration {
                let read: MutatingWebhookConfiguration = serde_json::from_value(value)?;
                let webhooks = read.webhooks.into_iter().flatten();
                webhooks.map(|it| (it.name, it.client_config)).collect()
            } else {
                let read: ValidatingWebhookConfiguration = serde_json::from_value(value)?;
                let webhooks = read.webhooks.into_iter().flatten();
                webhooks.map(|it| (it.name, it.client_config)).collect()
            };
        Ok(Self {
            kind,
            resource_version: metadata.resource_version,
            uid: metadata.uid,
            name: metadata.name.unwrap_or_default(),
            webhooks: clients
                .into_iter()
                .map(|(name, client)| Webhook::read(name, client, &owned))
                .collect(),
            last_writer,
        })
    }

    /// The apply that puts `bundle` into each `caBundle`, and nothing else; `None` if it is there.
    pub(super) fn with_bundle(&self, bundle: &str) -> Option<Value> {
        if self
            .webhooks
            .iter()
            .all(|webhook| webhook.bundle == bundle.as_bytes())
        {
            return None;
        }
        let bundle = ByteString(bundle.as_bytes().to_vec());
        let webhooks: Vec<Value> = self
            .webhooks
            .iter()
            .map(|webhook| json!({"name": webhook.name, "clientConfig": {"caBundle": bundle}}))
            .collect();
        Some(json!({
            "apiVersion": self.kind.api_version(),
            "kind": self.kind.as_str(),
            // A bundle is decided upon what stood: one that another replica published meanwhile may
            // hold a CA that this one has not read of yet.
            "metadata": {"name": self.name, "resourceVersion": self.resource_version},
            "webhooks": webhooks,
        }))
    }

    /// What to say if somebody else wrote a `caBundle` that is not `bundle`. An empty one is an edit
    /// only where we `published` before: every new configuration begins with it.
    pub(super) fn edit_of_bundle(&self, bundle: &str, published: bool) -> Option<String> {
        let edited = |webhook: &&Webhook| {
            webhook.bundle != bundle.as_bytes()
                && !webhook.bundle_is_ours
                && (published || !webhook.bundle.is_empty())
        };
        let edited: Vec<String> = self
            .webhooks
            .iter()
            .filter(edited)
            .map(|webhook| format!("webhooks[{}].clientConfig.caBundle", webhook.name))
            .collect();
        let writer = self.last_writer.as_deref().unwrap_or("unknown");
        (!edited.is_empty()).then(|| {
            format!(
                "put right what was edited, last by field manager {writer:?}: {}",
                edited.join(", ")
            )
        })
    }
}

impl Webhook {
    fn read(name: String, client: WebhookClientConfig, owned: &[Value]) -> Self {
        let service = client
            .service
            .map(|service| format!("{}.{}.svc", service.name, service.namespace));
        let host = service.or_else(|| client.url.as_deref().and_then(host_of));
        let bundle = client.ca_bundle.map(|bundle| bundle.0).unwrap_or_default();
        let entry = json!({"name": name}).to_string();
        let path = [
            "f:webhooks",
            &format!("k:{entry}"),
            "f:clientConfig",
            "f:caBundle",
        ];
        let holds = |fields: &Value| {
            let mut steps = path.iter();
            steps
                .try_fold(fields, |fields, step| fields.get(step))
                .is_some()
        };
        Self {
            bundle_is_ours: owned.iter().any(holds),
            name,
            host: host.map(|host| canonical_host(&host)),
            bundle,
        }
    }
}

/// The fields that the API server has down as ours by apply.
fn owned_fields(object: &Value) -> Vec<Value> {
    let entries = object.pointer("/metadata/managedFields");
    let entries = entries.and_then(Value::as_array).into_iter().flatten();
    let ours = entries.filter(|entry| {
        let text = |field: &str| entry.get(field).and_then(Value::as_str);
        text("manager") == Some(names::MANAGER_CERTIFICATES) && text("operation") == Some("Apply")
    });
    ours.filter_map(|entry| entry.get("fieldsV1").cloned())
        .collect()
}

/// Each host that the configurations name, once.
pub(super) fn hosts(configurations: &[Configuration]) -> Vec<String> {
    let mut hosts: Vec<String> = webhooks(configurations)
        .filter_map(|webhook| webhook.host.clone())
        .collect();
    hosts.sort();
    hosts.dedup();
    hosts
}

/// Every `caBundle`.
pub(super) fn bundles(configurations: &[Configuration]) -> Vec<&[u8]> {
    webhooks(configurations)
        .map(|webhook| webhook.bundle.as_slice())
        .collect()
}

fn webhooks(configurations: &[Configuration]) -> impl Iterator<Item = &Webhook> {
    configurations
        .iter()
        .flat_map(|configuration| &configuration.webhooks)
}

/// The host of a URL, without the brackets around an IPv6 address.
fn host_of(url: &str) -> Option<String> {
    let url: hyper::Uri = url.parse().ok()?;
    Some(
        url.host()?
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned(),
    )
}

#[cfg(test)]
mod tests;
