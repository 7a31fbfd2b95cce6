//! Those who make sandboxes of what they are given, and how it shows that they have. Does I/O.

use k8s_openapi::api::core::v1::Pod;
use kube::api::DynamicObject;
use kube::{Api, ResourceExt};
use sandgate_e2e::{Namespace, manifests};
use sandgate_shared::api::SandboxClaim;
use sandgate_shared::names;
use serde_json::Value;

use super::super::manifests as objects;
use super::super::said;
use super::super::sightings::{Sightings, is_bound, is_ready};

/// Who makes sandboxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contender {
    /// A user without an operator, who writes a Deployment, a Service and a NetworkPolicy.
    Bare,
    /// Our controller, of claims.
    Claims,
    /// agent-sandbox, of Sandboxes with a Service.
    Sandboxes,
}

impl Contender {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Bare, Self::Claims, Self::Sandboxes];

    /// What they are called in names of figures, and of namespaces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Claims => "claims",
            Self::Sandboxes => "sandboxes",
        }
    }

    /// What is there before the first of them is created.
    pub async fn prepare(self, namespace: &Namespace) -> anyhow::Result<()> {
        if self == Self::Claims {
            for manifest in [objects::class(), objects::runtime()] {
                namespace.accepts(&manifest).await.map_err(said)?;
            }
        }
        Ok(())
    }

    /// Creates one, called `name`.
    pub async fn create(self, namespace: &Namespace, name: &str) -> anyhow::Result<()> {
        let manifests = match self {
            Self::Bare => objects::triple(name).to_vec(),
            Self::Claims => vec![objects::claim(name)],
            Self::Sandboxes => vec![objects::sandbox(name)],
        };
        for manifest in manifests {
            namespace.accepts(&manifest).await.map_err(said)?;
        }
        Ok(())
    }

    /// Follows whose pods are ready.
    pub async fn ready_pods(self, namespace: &Namespace) -> anyhow::Result<Sightings> {
        let label = match self {
            Self::Claims => names::LABEL_CLAIM,
            Self::Bare | Self::Sandboxes => objects::APP,
        };
        Sightings::follow(namespace.api::<Pod>(), move |pod| {
            let of = pod.labels().get(label);
            of.filter(|_| is_ready(pod)).cloned()
        })
        .await
    }

    /// Follows which of them are said to be ready by who made them; those that nobody looks after are so
    /// when their pods are.
    pub async fn finished(self, namespace: &Namespace) -> anyhow::Result<Sightings> {
        match self {
            Self::Bare => self.ready_pods(namespace).await,
            Self::Claims => {
                Sightings::follow(namespace.api::<SandboxClaim>(), |claim| {
                    is_bound(claim).then(|| claim.name_any())
                })
                .await
            }
            Self::Sandboxes => {
                let resource = manifests::resource_of(&objects::sandbox("any"))?;
                let client = namespace.cluster().client();
                let sandboxes: Api<DynamicObject> =
                    Api::namespaced_with(client, namespace.name(), &resource);
                Sightings::follow(sandboxes, |sandbox| {
                    says_ready(&sandbox.data).then(|| sandbox.name_any())
                })
                .await
            }
        }
    }
}

/// Whether its condition `Ready` is true.
fn says_ready(object: &Value) -> bool {
    let conditions = object
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        let says = |field: &str, value: &str| condition.get(field) == Some(&Value::from(value));
        says("type", "Ready") && says("status", "True")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_sandbox_is_ready_when_its_condition_says_so() {
        let with = |status: &str| {
            json!({ "status": { "conditions": [
                { "type": "Finished", "status": "True" },
                { "type": "Ready", "status": status },
            ] } })
        };
        assert!(says_ready(&with("True")));
        assert!(!says_ready(&with("False")));
        assert!(!says_ready(&json!({})));
    }
}
