//! A namespace with an agent runtime, in which claims live; and what a claim's status says. Does I/O.

mod events;
pub mod manifests;

use std::ops::Deref;
use std::time::Duration;

use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use k8s_openapi::api::core::v1::Namespace as NamespaceObject;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, ResourceExt};
use sandgate_shared::api::{ClaimPhase, SandboxClaim};
use sandgate_shared::names::GROUP;
use sandgate_shared::render::Installation as Names;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::failure::Outcome;
use crate::fake_node::Stage;
use crate::identity::Identity;
use crate::namespace::{DEADLINE, Namespace, Writer};
use manifests::RUNTIME;

/// The authorizer tells nobody when it knows a new binding; it is asked this often.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// A namespace that admits restricted pods only, with a runtime in it, and a user who makes claims.
pub struct Scene {
    namespace: Namespace,
    user: Writer,
}

impl Deref for Scene {
    type Target = Namespace;

    fn deref(&self) -> &Namespace {
        &self.namespace
    }
}

impl Scene {
    /// One on the cluster that all tests share.
    pub async fn shared(prefix: &str) -> Outcome<Self> {
        Self::on(&Cluster::shared().await?, prefix).await
    }

    /// One on this cluster.
    pub async fn on(cluster: &Cluster, prefix: &str) -> Outcome<Self> {
        let namespace = cluster.namespace(prefix).await?;
        let restricted = json!({
            "metadata": { "labels": { "pod-security.kubernetes.io/enforce": "restricted" } },
        });
        let namespaces: Api<NamespaceObject> = Api::all(cluster.client());
        let how = PatchParams::default();
        namespaces
            .patch(namespace.name(), &how, &Patch::Merge(restricted))
            .await?;
        namespace.accepts(&manifests::runtime(RUNTIME)).await?;
        let user = namespace
            .acting_as(&Identity::User("alice".to_owned()))
            .await?;
        Ok(Self { namespace, user })
    }

    /// Gives the namespace a workspace, called as it is, and a volume for the content. The volume claim is
    /// the operator's to make.
    pub async fn with_content(&self) -> Outcome {
        let name = self.name();
        self.accepts(&manifests::content_volume(name, name)).await?;
        self.accepts(&manifests::workspace(name, name)).await?;
        Ok(())
    }

    /// What an ordinary user, who is not the operator, writes.
    pub fn user(&self) -> &Writer {
        &self.user
    }

    /// What the operator writes, with the right to make claims in this namespace: its own roles do not
    /// give it one.
    pub async fn operator(&self) -> Outcome<Writer> {
        self.operator_as(&Identity::Operator).await
    }

    /// The same for one of the ways to be the operator.
    pub async fn operator_as(&self, identity: &Identity) -> Outcome<Writer> {
        let names = Names::default();
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": { "name": "operator-of-a-test" },
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "sandgate-e2e-editors",
            },
            "subjects": [{
                "kind": "ServiceAccount",
                "name": names.service_account,
                "namespace": names.namespace,
            }],
        });
        self.accepts(&binding).await?;
        let operator = self.acting_as(identity).await?;
        let question: SelfSubjectAccessReview = serde_json::from_value(json!({
            "spec": { "resourceAttributes": {
                "group": GROUP,
                "resource": "sandboxclaims",
                "namespace": self.name(),
                "verb": "create",
            } },
        }))?;
        let reviews: Api<SelfSubjectAccessReview> = Api::all(operator.client());
        let mut turn = tokio::time::interval(ASK_EVERY);
        let allowed = async {
            loop {
                turn.tick().await;
                let answer = reviews.create(&PostParams::default(), &question).await?;
                if answer.status.is_some_and(|status| status.allowed) {
                    return Outcome::Ok(());
                }
            }
        };
        tokio::time::timeout(DEADLINE, allowed).await??;
        Ok(operator)
    }

    /// Makes a class of this stage, and a user's claim on it called the same.
    pub async fn claims(&self, name: &str, stage: Stage) -> Outcome {
        self.claims_class(name, &manifests::class(name, stage))
            .await
    }

    /// Makes this class, and a user's claim on it called `name`.
    pub async fn claims_class(&self, name: &str, class: &Value) -> Outcome {
        self.accepts(class).await?;
        let class = class.pointer("/metadata/name").and_then(Value::as_str);
        let claim = manifests::claim(name, class.unwrap_or_default());
        self.user.accepts(&claim).await?;
        Ok(())
    }

    /// Waits until the claim is Bound.
    pub async fn bound(&self, name: &str) -> Outcome<SandboxClaim> {
        self.becomes(name, "is Bound", |claim: &SandboxClaim| {
            phase(claim) == Some(ClaimPhase::Bound)
        })
        .await
    }

    /// Waits until the claim is Pending for this reason.
    pub async fn pending(&self, name: &str, reason: &str) -> Outcome<SandboxClaim> {
        let sentence = format!("is Pending / {reason}");
        self.becomes(name, &sentence, |claim: &SandboxClaim| {
            phase(claim) == Some(ClaimPhase::Pending) && ready(claim).0 == reason
        })
        .await
    }

    /// Waits until the claim is Queued for this reason.
    pub async fn queued(&self, name: &str, reason: &str) -> Outcome<SandboxClaim> {
        let sentence = format!("is Queued / {reason}");
        self.becomes(name, &sentence, |claim: &SandboxClaim| {
            phase(claim) == Some(ClaimPhase::Queued) && ready(claim).0 == reason
        })
        .await
    }

    /// Waits until the claim is Failed, for this reason and no other.
    pub async fn failed(&self, name: &str, reason: &str) -> Outcome<SandboxClaim> {
        let claim = self
            .becomes(name, "is Failed", |claim: &SandboxClaim| {
                phase(claim) == Some(ClaimPhase::Failed)
            })
            .await?;
        assert_eq!(ready(&claim).0, reason, "{}", ready(&claim).1);
        assert!(!ready(&claim).1.is_empty());
        assert_eq!(addresses(&claim), Vec::<String>::new());
        Ok(claim)
    }

    /// An object as JSON.
    pub async fn get<K>(&self, name: &str) -> Outcome<Value>
    where
        K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + serde::de::DeserializeOwned + serde::Serialize + std::fmt::Debug,
    {
        Ok(serde_json::to_value(self.api::<K>().get(name).await?)?)
    }

    /// Names of the objects of a kind, in order.
    pub async fn names<K>(&self) -> Outcome<Vec<String>>
    where
        K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + serde::de::DeserializeOwned + std::fmt::Debug,
    {
        let objects = self.api::<K>().list(&ListParams::default()).await?;
        let names = objects.items.iter().map(ResourceExt::name_any);
        Ok(names.collect())
    }

    /// Lays a JSON merge patch over an object, as the administrator.
    pub async fn merge<K>(&self, name: &str, patch: Value) -> Outcome
    where
        K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + serde::de::DeserializeOwned + std::fmt::Debug,
    {
        let how = PatchParams::default();
        let objects = self.api::<K>();
        objects.patch(name, &how, &Patch::Merge(patch)).await?;
        Ok(())
    }
}

/// The claim's phase.
pub fn phase(claim: &SandboxClaim) -> Option<ClaimPhase> {
    claim.status.as_ref()?.phase
}

/// Status, reason and message of a condition.
pub fn condition<'a>(claim: &'a SandboxClaim, name: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let conditions = claim.status.as_ref()?.conditions.as_deref()?;
    let found = conditions.iter().find(|found| found.type_ == name)?;
    Some((&found.status, &found.reason, &found.message))
}

/// Reason and message of the condition `Ready`.
pub fn ready(claim: &SandboxClaim) -> (&str, &str) {
    condition(claim, "Ready").map_or(("", ""), |(_, reason, message)| (reason, message))
}

/// `name=host:port` of each address.
pub fn addresses(claim: &SandboxClaim) -> Vec<String> {
    let addresses = claim
        .status
        .as_ref()
        .and_then(|status| status.addresses.as_ref());
    let all = addresses.into_iter().flatten();
    all.map(|(name, address)| format!("{name}={address}"))
        .collect()
}

/// The claim's UID.
pub fn uid(claim: &SandboxClaim) -> String {
    claim.metadata.uid.clone().unwrap_or_default()
}
