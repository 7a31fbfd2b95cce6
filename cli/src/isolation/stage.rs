//! The namespaces of a run, what is made in them, and their end. Does I/O.

mod ending;
mod waits;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Pod, Service, ServiceAccount};
use kube::api::{DeleteParams, DynamicObject, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt};
use sandgate_shared::api::SandboxClaim;
use sandgate_shared::names;
use sandgate_shared::net::label;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::facts::{Addresses, Peer};
use super::installed::Installed;
use super::manifests::{self, Bare, Class};
use super::pods;
use super::pull_secret::PullSecret;
use super::trouble::Trouble;
use super::waiting::follow;

/// How long a pod or claim may take to come up: an image may have to be pulled.
const PATIENCE: Duration = Duration::from_mins(2);

/// Where a run takes place.
pub struct Stage {
    /// Who asks.
    pub client: Client,
    /// Namespace of the sandboxes.
    pub sandboxes: String,
    /// Namespace of what is elsewhere.
    pub elsewhere: String,
    /// Namespace that is deleted in the course of the run.
    pub doomed: String,
    /// Image that holds the probe.
    pub image: String,
    /// The Secret that it is pulled by.
    pub pull_secret: Option<PullSecret>,
    /// Node that sandboxes and witness run on.
    pub node: String,
    /// The Sandgate that is measured.
    pub installed: Installed,
    /// Name of the run, which no other has.
    pub run: String,
}

/// The longest beginning of the namespaces' names: a run's name and the longest ending come after it.
pub const LONGEST_PREFIX: usize = label::LONGEST - "-12345678-elsewhere".len();

impl Stage {
    /// Names the namespaces; makes nothing yet.
    pub fn new(
        client: Client,
        run: &str,
        prefix: &str,
        (image, pull_secret): (String, Option<PullSecret>),
        node: String,
        installed: Installed,
    ) -> Self {
        let named = |part: &str| format!("{prefix}-{run}{part}");
        Self {
            client,
            sandboxes: named(""),
            elsewhere: named("-elsewhere"),
            doomed: named("-doomed"),
            image,
            pull_secret,
            node,
            installed,
            run: run.to_owned(),
        }
    }

    /// Makes the namespaces and the runtimes, and waits until pods are admitted.
    pub async fn set(&self) -> Result<(), Trouble> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        for name in self.namespaces() {
            let wanted = manifests::namespace(name, &self.run);
            let made = namespaces.create(&PostParams::default(), &wanted).await;
            made.map_err(|error| Trouble::of(format!("create namespace {name}"), error))?;
        }
        for name in self.namespaces() {
            // Until it is there no pod is admitted, and a ReplicaSet that was refused waits long.
            let accounts: Api<ServiceAccount> = self.api(name);
            let there = |account: Option<&ServiceAccount>| account.map(drop);
            let found = follow(accounts, "default", PATIENCE, there).await;
            found.map_err(|vain| {
                let known = "it never got its ServiceAccount".to_owned();
                vain.or(known, |message| Trouble::Refused {
                    what: format!("use namespace {name}"),
                    message,
                })
            })?;
        }
        if let Some(secret) = &self.pull_secret {
            secret.give_to(self).await?;
        }
        for (namespace, runtimes) in [
            (
                &self.sandboxes,
                [
                    manifests::RUNTIME,
                    manifests::OTHER_RUNTIME,
                    manifests::DOOMED_RUNTIME,
                ]
                .as_slice(),
            ),
            (&self.doomed, &[manifests::RUNTIME]),
        ] {
            for runtime in runtimes {
                self.make_runtime(namespace, runtime).await?;
            }
        }
        Ok(())
    }

    async fn make_runtime(&self, namespace: &str, name: &str) -> Result<(), Trouble> {
        let kind = manifests::runtime_kind();
        let runtimes: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), namespace, &kind);
        let wanted = manifests::runtime(name);
        match runtimes.create(&PostParams::default(), &wanted).await {
            Ok(made) if manifests::may_have_sandboxes(&made) => Ok(()),
            Ok(_) => Err(Trouble::RuntimeWithoutSandbox),
            Err(kube::Error::Api(status)) if status.code == 404 => Err(Trouble::NoRuntimeKind),
            Err(kube::Error::Api(status)) if matches!(status.code, 400 | 422) => {
                Err(Trouble::RuntimeRefused(status.message.clone()))
            }
            Err(error) => Err(Trouble::of(format!("create AgentRuntime {name}"), error)),
        }
    }

    /// Its namespaces.
    pub fn namespaces(&self) -> [&str; 3] {
        [&self.sandboxes, &self.elsewhere, &self.doomed]
    }

    /// One kind in a namespace.
    pub fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Creates an object.
    pub async fn make<K>(&self, namespace: &str, object: &K) -> Result<K, Trouble>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + DeserializeOwned + Serialize + Debug,
    {
        let made = self
            .api::<K>(namespace)
            .create(&PostParams::default(), object)
            .await;
        made.map_err(|error| {
            let what = format!("create {} {}", K::kind(&()), object.name_any());
            Trouble::of(what, error)
        })
    }

    /// Creates a pod of ours.
    pub async fn make_pod(
        &self,
        namespace: &str,
        name: &str,
        labels: BTreeMap<String, String>,
        command: Vec<String>,
        node: &str,
        serves: bool,
    ) -> Result<(), Trouble> {
        let bare = Bare {
            name,
            labels,
            command,
            image: &self.image,
            node,
            serves,
        };
        let pod = bare.pod().map_err(|error| badly_written(&error))?;
        self.make(namespace, &pod).await.map(drop)
    }

    /// Creates a receiver's Service.
    pub async fn make_service(
        &self,
        namespace: &str,
        name: &str,
        role: &str,
    ) -> Result<Addresses, Trouble> {
        let service = manifests::service(name, role).map_err(|error| badly_written(&error))?;
        let made = self.make(namespace, &service).await?;
        Ok(cluster_ips(&made))
    }

    /// Creates a class and a claim on it, both called the same.
    pub async fn make_claim(
        &self,
        namespace: &str,
        class: &Class<'_>,
        runtime: &str,
    ) -> Result<(), Trouble> {
        self.make(namespace, &class.class()).await?;
        self.make(namespace, &class.claim(runtime)).await.map(drop)
    }

    /// Where a claim's sandbox is.
    pub async fn peer_of(&self, namespace: &str, claim: &str, pod: &Pod) -> Result<Peer, Trouble> {
        let services: Api<Service> = self.api(namespace);
        let name = names::sandbox(claim);
        let service = services.get(&name).await;
        let service =
            service.map_err(|error| Trouble::of(format!("read Service {name}"), error))?;
        Ok(Peer {
            pod: pods::addresses(pod),
            service: cluster_ips(&service),
        })
    }

    /// Ends a pod at once, whatever it ignores. Whoever polices it forgets it before its processes
    /// end: nothing that is measured may be ended so.
    pub async fn kill(&self, namespace: &str, name: &str) -> Result<(), Trouble> {
        self.delete_pod(namespace, name, &at_once()).await
    }

    /// Ends a pod and leaves it the time it takes.
    pub async fn stop(&self, namespace: &str, name: &str) -> Result<(), Trouble> {
        let how = DeleteParams::default();
        self.delete_pod(namespace, name, &how).await
    }

    async fn delete_pod(
        &self,
        namespace: &str,
        name: &str,
        how: &DeleteParams,
    ) -> Result<(), Trouble> {
        let pods: Api<Pod> = self.api(namespace);
        match pods.delete(name, how).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(Trouble::of(format!("delete pod {name}"), error)),
        }
    }

    /// Deletes a claim, and leaves its pod the time it takes.
    pub async fn release(&self, namespace: &str, claim: &str) -> Result<(), Trouble> {
        let claims: Api<SandboxClaim> = self.api(namespace);
        let gone = claims.delete(claim, &DeleteParams::background()).await;
        gone.map(drop)
            .map_err(|error| Trouble::of(format!("delete claim {claim}"), error))
    }
}

fn at_once() -> DeleteParams {
    DeleteParams {
        grace_period_seconds: Some(0),
        ..DeleteParams::default()
    }
}

fn badly_written(error: &serde_json::Error) -> Trouble {
    Trouble::Refused {
        what: "write a manifest".to_owned(),
        message: error.to_string(),
    }
}

/// All cluster IPs of a Service.
pub fn cluster_ips(service: &Service) -> Addresses {
    let spec = service.spec.as_ref();
    let many = spec.and_then(|spec| spec.cluster_ips.as_deref());
    Addresses::read(many.unwrap_or_default().iter().map(String::as_str))
}
