//! A webhook configuration, as far as certificates are concerned: who is called, and which CAs are
//! trusted. Pure.

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use kube::core::DynamicObject;
use sandgate_certs::certificate::canonical_host;
use serde_json::{Value, json};

use crate::kind::Kind;

/// One of the two configurations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Configuration {
    pub(super) kind: Kind,
    pub(super) resource_version: Option<String>,
    name: String,
    webhooks: Vec<Webhook>,
}

/// One entry of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Webhook {
    name: String,
    /// The host that an API server verifies the leaf for.
    host: Option<String>,
    bundle: Vec<u8>,
}

impl Configuration {
    /// Reads either kind.
    pub(super) fn read(kind: Kind, object: DynamicObject) -> Result<Self, serde_json::Error> {
        let resource_version = object.metadata.resource_version.clone();
        let name = object.metadata.name.clone().unwrap_or_default();
        let value = serde_json::to_value(object)?;
        let webhooks = if kind == Kind::MutatingWebhookConfiguration {
            let read: MutatingWebhookConfiguration = serde_json::from_value(value)?;
            let webhooks = read.webhooks.into_iter().flatten();
            webhooks
                .map(|webhook| Webhook::read(webhook.name, webhook.client_config))
                .collect()
        } else {
            let read: ValidatingWebhookConfiguration = serde_json::from_value(value)?;
            let webhooks = read.webhooks.into_iter().flatten();
            webhooks
                .map(|webhook| Webhook::read(webhook.name, webhook.client_config))
                .collect()
        };
        Ok(Self {
            kind,
            resource_version,
            name,
            webhooks,
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
            "metadata": {"name": self.name},
            "webhooks": webhooks,
        }))
    }
}

impl Webhook {
    fn read(name: String, client: WebhookClientConfig) -> Self {
        let service = client
            .service
            .map(|service| format!("{}.{}.svc", service.name, service.namespace));
        let host = service.or_else(|| client.url.as_deref().and_then(host_of));
        let bundle = client.ca_bundle.map(|bundle| bundle.0).unwrap_or_default();
        Self {
            name,
            host: host.map(|host| canonical_host(&host)),
            bundle,
        }
    }
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
