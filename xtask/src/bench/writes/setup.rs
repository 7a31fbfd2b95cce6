//! Who judges a write, and how the API server is brought to let them. Does I/O.

use std::time::{Duration, Instant};

use anyhow::bail;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::api::{DeleteParams, DynamicObject, PostParams};
use kube::{Api, Client};
use sandgate_e2e::installation::Layers;
use sandgate_e2e::{Namespace, manifests};
use sandgate_shared::names;
use sandgate_shared::render::{self, Installation as Names, WebhookEndpoint};
use serde_json::{Value, json};

use crate::bench::manifests as objects;

/// How long the API server may take to judge by what was put in place; its informers tell nobody.
const PATIENCE: Duration = Duration::from_secs(30);
const ASK_EVERY: Duration = Duration::from_millis(100);

/// Who judges writes of claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Setup {
    /// Nobody but the schema.
    Nothing,
    /// The `ValidatingAdmissionPolicy` alone.
    Policy,
    /// CEL in the CRDs alone.
    Rules,
    /// CEL in the CRDs, the policy and both webhooks.
    Sandgate,
    /// A mutating and a validating webhook in Go, with three rules.
    Go,
}

/// Where the webhooks are.
#[derive(Clone, Debug)]
pub struct Judges {
    /// `host:port` of ours.
    pub ours: String,
    /// `host:port` of the one in Go.
    pub go: String,
    /// What signed both certificates, PEM.
    pub authority: String,
}

impl Setup {
    /// In the order they are measured.
    pub const ALL: [Self; 5] = [
        Self::Nothing,
        Self::Policy,
        Self::Go,
        Self::Rules,
        Self::Sandgate,
    ];

    /// As it stands in figures and names of claims.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Policy => "policy",
            Self::Rules => "rules",
            Self::Sandgate => "sandgate",
            Self::Go => "go",
        }
    }

    /// Puts it in place of whatever judged before, and waits until the API server judges by it alone.
    pub async fn establish(self, namespace: &Namespace, judges: &Judges) -> anyhow::Result<()> {
        let client = namespace.cluster().client();
        let wanted = self.manifests(judges);
        for other in Self::ALL {
            for manifest in other.manifests(judges) {
                if !wanted.contains(&manifest) && kind(&manifest) != "CustomResourceDefinition" {
                    remove(&client, &manifest).await?;
                }
            }
        }
        manifests::apply(&client, &wanted).await?;
        let deadline = Instant::now() + PATIENCE;
        let mut turn = tokio::time::interval(ASK_EVERY);
        loop {
            turn.tick().await;
            let (long, forged) = (
                refusal(&client, namespace.name(), &long_name()).await?,
                refusal(&client, namespace.name(), &forged()).await?,
            );
            if self.speaks(long.as_deref(), forged.as_deref()) {
                return Ok(());
            }
            if Instant::now() >= deadline {
                bail!(
                    "the API server does not judge by {} alone: a long name got {long:?}, forged mounts got {forged:?}",
                    self.name()
                );
            }
        }
    }

    /// Whether these are its refusals, of a name that is too long and of mounts that a user wrote.
    fn speaks(self, long: Option<&str>, forged: Option<&str>) -> bool {
        let by = |refusal: Option<&str>, whose: &str| {
            refusal.is_some_and(|refusal| refusal.contains(whose))
        };
        let ours = format!(".{}\" denied the request", names::GROUP);
        match self {
            Self::Nothing => long.is_none() && forged.is_none(),
            Self::Policy => long.is_none() && by(forged, "ValidatingAdmissionPolicy"),
            Self::Rules => by(long, SCHEMA) && by(forged, SCHEMA),
            Self::Sandgate => by(long, &ours) && by(forged, &ours),
            Self::Go => by(long, GO) && forged.is_none(),
        }
    }

    fn manifests(self, judges: &Judges) -> Vec<Value> {
        let names = Names {
            webhook: WebhookEndpoint::Url(format!("https://{}", judges.ours)),
            ..Names::default()
        };
        let layers = Layers {
            schema_rules: matches!(self, Self::Rules | Self::Sandgate),
            ..Layers::NONE
        };
        let mut all = layers.kinds();
        if matches!(self, Self::Policy | Self::Sandgate) {
            all.extend(render::admission_policy(&names));
        }
        let configurations = match self {
            Self::Sandgate => render::webhook_configurations(&names).to_vec(),
            Self::Go => go(&judges.go),
            Self::Nothing | Self::Policy | Self::Rules => Vec::new(),
        };
        all.extend(configurations.into_iter().map(|mut configuration| {
            let bundle = json!(STANDARD.encode(&judges.authority));
            if let Some(client) = configuration.pointer_mut("/webhooks/0/clientConfig") {
                json_patch::merge(client, &json!({ "caBundle": bundle }));
            }
            configuration
        }));
        all
    }
}

/// In these words an API server refuses by the rules of a kind.
const SCHEMA: &str = "is invalid";

/// By this name the API server tells of the webhook in Go.
const GO: &str = "claims.go-webhook.example";

fn go(address: &str) -> Vec<Value> {
    let configuration = |kind: &str, path: &str| {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": { "name": "go-webhook" },
            "webhooks": [{
                "name": GO,
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Fail",
                "clientConfig": { "url": format!("https://{address}/{path}") },
                "rules": [{
                    "apiGroups": [names::GROUP],
                    "apiVersions": ["*"],
                    "operations": ["CREATE", "UPDATE"],
                    "resources": ["sandboxclaims"],
                }],
            }],
        })
    };
    vec![
        configuration("MutatingWebhookConfiguration", "mutate"),
        configuration("ValidatingWebhookConfiguration", "validate"),
    ]
}

fn long_name() -> Value {
    let mut claim = objects::claim("long");
    json_patch::merge(
        &mut claim,
        &json!({ "metadata": { "name": "n".repeat(56) } }),
    );
    claim
}

fn forged() -> Value {
    let mut claim = objects::claim("forged");
    let mounts = json!({ "spec": { "mounts": [{ "role": "session", "id": "one" }] } });
    json_patch::merge(&mut claim, &mounts);
    claim
}

fn kind(manifest: &Value) -> &str {
    manifest
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

async fn remove(client: &Client, manifest: &Value) -> anyhow::Result<()> {
    let resource = manifests::resource_of(manifest)?;
    let name = manifest
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    match api.delete(name, &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => Ok(other.map(drop)?),
    }
}

/// What a dry-run create is refused with; nothing if it is admitted.
async fn refusal(
    client: &Client,
    namespace: &str,
    manifest: &Value,
) -> anyhow::Result<Option<String>> {
    let resource = manifests::resource_of(manifest)?;
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
    let how = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    match api
        .create(&how, &serde_json::from_value(manifest.clone())?)
        .await
    {
        Ok(_) => Ok(None),
        Err(kube::Error::Api(status)) => Ok(Some(status.message)),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setup_is_told_by_who_refuses_what() {
        let ours =
            "admission webhook \"mutate.sandgate.omnia.altairalabs.ai\" denied the request: no";
        let policy =
            "ValidatingAdmissionPolicy 'sandgate' with binding 'sandgate' denied request: no";
        let schema = "SandboxClaim.omnia.altairalabs.ai \"long\" is invalid: no";
        let go = "admission webhook \"claims.go-webhook.example\" denied the request: no";
        let seen = [
            (Setup::Nothing, None, None),
            (Setup::Policy, None, Some(policy)),
            (Setup::Rules, Some(schema), Some(schema)),
            (Setup::Sandgate, Some(ours), Some(ours)),
            (Setup::Go, Some(go), None),
        ];
        for (setup, long, forged) in seen {
            let told: Vec<Setup> = Setup::ALL
                .into_iter()
                .filter(|setup| setup.speaks(long, forged))
                .collect();
            assert_eq!(told, [setup]);
        }
    }
}
