//! A release as Helm renders it, without any API server. Runs a process.

use sandgate_e2e::helm::Helm;
use sandgate_e2e::{Failure, Outcome};
use sandgate_shared::render::{Installation, WebhookEndpoint};
use serde_json::Value;

/// Not what anything is called by default, so that a name that does not follow the release shows.
pub const RELEASE: &str = "gate";
pub const NAMESPACE: &str = "gate-system";
pub const ACCOUNT: &str = "gate-controller";

/// The same release to those who render it without a chart.
pub fn installation() -> Installation {
    Installation {
        release: RELEASE.to_owned(),
        namespace: NAMESPACE.to_owned(),
        service_account: ACCOUNT.to_owned(),
        require_pod_bound_token: true,
        webhook: WebhookEndpoint::Service {
            name: format!("{RELEASE}-webhook"),
            port: 443,
        },
    }
}

/// Helm, built if it has to be.
pub async fn helm() -> Outcome<Helm> {
    Ok(tokio::task::spawn_blocking(Helm::ensure).await??)
}

/// All objects of a release.
pub struct Rendered(pub Vec<Value>);

impl Rendered {
    /// With these values.
    pub async fn with(values: &Value) -> Outcome<Self> {
        Self::seeing(values, &[]).await
    }

    /// With these values, and further arguments of `helm template`.
    pub async fn seeing(values: &Value, more: &[&str]) -> Outcome<Self> {
        let helm = helm().await?;
        let objects = helm.template(RELEASE, NAMESPACE, values, more).await?;
        Ok(Self(objects))
    }

    /// The object of this kind and name.
    pub fn one(&self, kind: &str, name: &str) -> Outcome<&Value> {
        let mut all = self.of(kind);
        let found = all.find(|object| object["metadata"]["name"] == name);
        found.ok_or_else(|| Failure::saying(format!("the chart has no {kind} {name}")))
    }

    /// All objects of this kind.
    pub fn of(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.0.iter().filter(move |object| object["kind"] == kind)
    }

    /// What the pods of the Deployment are made from.
    pub fn pod(&self) -> Outcome<&Value> {
        Ok(&self.one("Deployment", RELEASE)?["spec"]["template"])
    }

    /// A container of it.
    pub fn container(&self, name: &str) -> Outcome<&Value> {
        let containers = self.pod()?["spec"]["containers"].as_array();
        let found = containers
            .into_iter()
            .flatten()
            .find(|container| container["name"] == name);
        found.ok_or_else(|| Failure::saying(format!("the pod has no container {name}")))
    }

    /// A container's command line.
    pub fn command_line(&self, name: &str) -> Outcome<Vec<String>> {
        let container = self.container(name)?;
        let words = |field: &str| container[field].as_array().cloned().unwrap_or_default();
        let all = words("command").into_iter().chain(words("args"));
        Ok(all
            .map(|word| word.as_str().unwrap_or_default().to_owned())
            .collect())
    }
}
