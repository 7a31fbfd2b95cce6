//! A release's life on a real API server. Nothing answers its webhook there, as on any first install:
//! pods of a fake node become ready without running.

use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingAdmissionPolicy, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use sandgate_e2e::binaries::Binaries;
use sandgate_e2e::control_plane::{ControlPlane, Options};
use sandgate_e2e::helm::Helm;
use sandgate_e2e::namespace::DEADLINE;
use sandgate_e2e::pki::Authority;
use sandgate_e2e::{Outcome, manifests};
use sandgate_shared::api::{SandboxClaim, SandboxClass};
use sandgate_shared::{names, render};
use serde_json::{Value, json};

use crate::rendered::{NAMESPACE, RELEASE, helm};

/// How long Helm may wait for pods that need not even run.
const PATIENCE: Duration = Duration::from_mins(1);
/// What an API server takes for a Secret's data.
const SECRET_MAX: usize = 1024 * 1024;
/// API servers tell nobody when they have let go of a webhook; it is asked this often.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// A control plane with a namespace for restricted pods, and Helm.
pub struct Site {
    pub helm: Helm,
    pub client: Client,
    pub plane: ControlPlane,
}

impl Site {
    pub async fn start(options: &Options) -> Outcome<Self> {
        let helm = helm().await?;
        let binaries = tokio::task::spawn_blocking(Binaries::ensure).await??;
        let plane = Box::pin(ControlPlane::start(binaries, options)).await?;
        let client = plane.administrator().await?;
        let namespace = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": NAMESPACE,
                "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
            },
        });
        manifests::apply(&client, &[namespace]).await?;
        Ok(Self {
            helm,
            client,
            plane,
        })
    }

    pub async fn install(&self, values: &Value) -> Outcome<String> {
        let kubeconfig = self.plane.kubeconfig();
        let wait = Some(PATIENCE);
        let told = self
            .helm
            .install(&kubeconfig, RELEASE, NAMESPACE, values, wait)
            .await?;
        Ok(told)
    }

    async fn upgrade(&self, values: &Value) -> Outcome {
        let kubeconfig = self.plane.kubeconfig();
        let wait = Some(PATIENCE);
        self.helm
            .upgrade(&kubeconfig, RELEASE, NAMESPACE, values, wait)
            .await?;
        Ok(())
    }

    /// Puts a `caBundle` into both configurations, as the controller does.
    pub async fn publish(&self) -> Outcome<Vec<u8>> {
        let authority = Authority::new()?;
        let bundle = ByteString(authority.certificate().as_bytes().to_vec());
        for configuration in render::webhook_configurations(&crate::rendered::installation()) {
            let webhook = &configuration["webhooks"][0]["name"];
            let applied = json!({
                "apiVersion": configuration["apiVersion"],
                "kind": configuration["kind"],
                "metadata": {"name": configuration["metadata"]["name"]},
                "webhooks": [{"name": webhook, "clientConfig": {"caBundle": bundle}}],
            });
            let api = Api::<kube::core::DynamicObject>::all_with(
                self.client.clone(),
                &manifests::resource_of(&configuration)?,
            );
            let how = PatchParams::apply(names::MANAGER_CERTIFICATES).force();
            let name = names::webhook_configuration(RELEASE);
            api.patch(&name, &how, &Patch::Apply(applied)).await?;
        }
        Ok(bundle.0)
    }

    /// What stands in both configurations.
    async fn bundles(&self) -> Outcome<Vec<Vec<u8>>> {
        let name = names::webhook_configuration(RELEASE);
        let mutating: Api<MutatingWebhookConfiguration> = Api::all(self.client.clone());
        let validating: Api<ValidatingWebhookConfiguration> = Api::all(self.client.clone());
        let mutating = mutating.get(&name).await?.webhooks.unwrap_or_default();
        let validating = validating.get(&name).await?.webhooks.unwrap_or_default();
        let clients = mutating
            .into_iter()
            .map(|webhook| webhook.client_config)
            .chain(validating.into_iter().map(|webhook| webhook.client_config));
        Ok(clients
            .map(|client| client.ca_bundle.unwrap_or_default().0)
            .collect())
    }

    /// Name, uid and generation of each policy of the release.
    async fn policies(&self) -> Outcome<Vec<(String, Option<String>, Option<i64>)>> {
        let policies: Api<ValidatingAdmissionPolicy> = Api::all(self.client.clone());
        let ours = format!("app.kubernetes.io/instance={RELEASE}");
        let found = policies.list(&ListParams::default().labels(&ours)).await?;
        Ok(found
            .into_iter()
            .map(|policy| (policy.name_any(), policy.uid(), policy.metadata.generation))
            .collect())
    }

    pub async fn ready_pods(&self) -> Outcome<usize> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), NAMESPACE);
        let ready = |pod: &Pod| {
            let conditions = pod.status.iter().flat_map(|status| &status.conditions);
            let mut conditions = conditions.flatten();
            conditions.any(|it| it.type_ == "Ready" && it.status == "True")
        };
        let pods = pods.list(&ListParams::default()).await?;
        Ok(pods.iter().filter(|pod| ready(pod)).count())
    }

    /// Makes a claim as soon as the API server has let go of the webhooks, and returns its uid.
    async fn claim(&self) -> Outcome<Option<String>> {
        let name = names::webhook_configuration(RELEASE);
        let gone = DeleteParams::default();
        let mutating: Api<MutatingWebhookConfiguration> = Api::all(self.client.clone());
        mutating.delete(&name, &gone).await?;
        let validating: Api<ValidatingWebhookConfiguration> = Api::all(self.client.clone());
        validating.delete(&name, &gone).await?;
        let class: SandboxClass = serde_json::from_value(json!({
            "metadata": {"name": "python"},
            "spec": {
                "image": "registry.example/python:1",
                "ports": [{"name": "mcp", "port": 8080}],
                "resources": {"limits": {"cpu": "1", "memory": "64Mi"}},
            },
        }))?;
        let claim: SandboxClaim = serde_json::from_value(json!({
            "metadata": {"name": "alice"},
            "spec": {
                "agentRuntimeRef": {"name": "agent"},
                "classRef": {"kind": "SandboxClass", "name": "python"},
                "sessionID": "session-1",
                "handle": "python/main",
            },
        }))?;
        let classes: Api<SandboxClass> = Api::namespaced(self.client.clone(), "default");
        let how = PostParams::default();
        let until_admitted = async {
            let mut turn = tokio::time::interval(ASK_EVERY);
            loop {
                turn.tick().await;
                if classes.create(&how, &class).await.is_ok() {
                    return;
                }
            }
        };
        tokio::time::timeout(DEADLINE, until_admitted).await?;
        Ok(self.claims().create(&how, &claim).await?.uid())
    }

    fn claims(&self) -> Api<SandboxClaim> {
        Api::namespaced(self.client.clone(), "default")
    }

    /// The size of the Secret that Helm keeps a revision of the release in.
    async fn release_size(&self, revision: u32) -> Outcome<usize> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), NAMESPACE);
        let name = format!("sh.helm.release.v1.{RELEASE}.v{revision}");
        let data = secrets.get(&name).await?.data.unwrap_or_default();
        Ok(data.values().map(|value| value.0.len()).sum())
    }
}

// Proves: P-001, X-007, X-016
#[tokio::test]
async fn a_release_is_installed_upgraded_and_removed_and_leaves_kinds_and_claims() -> Outcome {
    let site = Site::start(&Options::default()).await?;
    let told = site.install(&json!({"standalone": true})).await?;
    assert!(told.contains("A first sandbox"), "{told}");
    assert_eq!(site.ready_pods().await?, 2);
    let bytes = site.release_size(1).await?;
    assert!(bytes < SECRET_MAX / 4, "the release takes {bytes} bytes");
    let policies = site.policies().await?;
    let wanted = render::admission_policy(&crate::rendered::installation());
    assert_eq!(policies.len(), 1);
    assert_eq!(policies[0].0, wanted[0]["metadata"]["name"]);

    let bundle = site.publish().await?;
    let more = json!({"standalone": true, "replicas": 3, "labels": {"team": "platform"}});
    site.upgrade(&more).await?;
    assert_eq!(site.ready_pods().await?, 3);
    assert_eq!(site.bundles().await?, [bundle.clone(), bundle]);
    assert_eq!(site.policies().await?, policies, "a policy was edited");

    let claim = site.claim().await?;
    let kubeconfig = site.plane.kubeconfig();
    site.helm.uninstall(&kubeconfig, RELEASE, NAMESPACE).await?;
    let deployments: Api<Deployment> = Api::namespaced(site.client.clone(), NAMESPACE);
    assert!(deployments.get_opt(RELEASE).await?.is_none());
    assert!(site.policies().await?.is_empty());
    assert_eq!(site.claims().get("alice").await?.uid(), claim);

    // Kinds that are there are its own still.
    site.install(&json!({"standalone": true})).await?;
    assert_eq!(site.claims().get("alice").await?.uid(), claim);
    Ok(())
}

#[tokio::test]
async fn an_upgrade_by_the_client_side_merge_of_older_helms_keeps_the_ca_bundle_too() -> Outcome {
    let site = Site::start(&Options::default()).await?;
    let chart = Helm::chart().display().to_string();
    let kubeconfig = format!("--kubeconfig={}", site.plane.kubeconfig().display());
    let merge = |command: &'static str, values: Value| {
        let (helm, chart, kubeconfig) = (&site.helm, &chart, &kubeconfig);
        async move {
            let arguments = [
                command,
                RELEASE,
                chart,
                kubeconfig,
                "--namespace",
                NAMESPACE,
                "--server-side=false",
            ];
            helm.run(&arguments, Some(&values)).await
        }
    };
    merge("install", json!({})).await?;
    let policies = site.policies().await?;
    let bundle = site.publish().await?;
    merge("upgrade", json!({"labels": {"team": "platform"}})).await?;
    assert_eq!(site.bundles().await?, [bundle.clone(), bundle]);
    assert_eq!(site.policies().await?, policies, "a policy was edited");
    Ok(())
}
