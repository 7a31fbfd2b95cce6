//! Reads what is judged. Does I/O.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Mutex;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::{ListParams, ObjectList};
use kube::core::{DynamicObject, GroupVersionKind, PartialObjectMeta};
use kube::discovery::ApiResource;
use kube::{Api, Client, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::facts::{self, Facts};
use super::rbac::Rbac;
use super::site::Site;
use super::trouble::Trouble;
use crate::isolation::installed::LABELS;
use crate::isolation::trouble::said;

/// The annotation of a Secret that holds a ServiceAccount's token: the type is not among the metadata,
/// and the content of Secrets is nothing a doctor should read.
const TOKEN_OF: &str = "kubernetes.io/service-account.name";

/// The group of everything that judges writes.
const ADMISSION: &str = "admissionregistration.k8s.io";

/// Reads everything; `namespace` chooses one of several installations. Rights that are missing are all
/// named at once.
pub async fn gather(client: &Client, namespace: Option<&str>) -> Result<Facts, Trouble> {
    let reader = Reader::new(client);
    let deployments = reader.all::<Deployment>("deployments.apps", LABELS).await?;
    reader.complain()?;
    let (mut site, deployment) = choose(deployments, namespace)?;
    let here = site.names.namespace.clone();
    let version = client.apiserver_version().await;
    let version = version.map_err(|error| Trouble::Failed {
        what: "read the API server's version".to_owned(),
        message: said(&error),
    })?;
    let rbac = async {
        Ok::<_, Trouble>(Rbac {
            cluster_roles: reader.all::<ClusterRole>("clusterroles", "").await?,
            cluster_role_bindings: reader
                .all::<ClusterRoleBinding>("clusterrolebindings", "")
                .await?,
            roles: reader.within::<Role>("roles", &here).await?,
            role_bindings: reader.within::<RoleBinding>("rolebindings", &here).await?,
        })
    };
    let admission = async {
        let policies = reader.served("ValidatingAdmissionPolicy", &["v1"]);
        let bindings = reader.served("ValidatingAdmissionPolicyBinding", &["v1"]);
        let mutating = reader.served("MutatingWebhookConfiguration", &["v1"]);
        let validating = reader.served("ValidatingWebhookConfiguration", &["v1"]);
        let rewriting = reader.served("MutatingAdmissionPolicy", &["v1", "v1beta1", "v1alpha1"]);
        tokio::try_join!(policies, bindings, mutating, validating, rewriting)
    };
    let kinds = reader.values("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let pods = reader.within::<Pod>("pods", &here);
    let config_maps = reader.within::<ConfigMap>("configmaps", &here);
    let secrets = reader.token_secrets(&site);
    let (rbac, admission, kinds, pods, config_maps, token_secrets) =
        tokio::try_join!(rbac, admission, kinds, pods, config_maps, secrets)?;
    reader.complain()?;
    let (policies, policy_bindings, mutating, validating, mutating_policies) = admission;

    site.secrets.extend(token_secrets.iter().cloned());
    let release = Some(site.names.release.as_str());
    let ours = policies.iter().chain(&policy_bindings).flatten();
    let ours = ours.filter(|it| facts::label(it, "app.kubernetes.io/instance") == release);
    site.policies = ours.map(|it| facts::name(it).to_owned()).collect();
    let records = config_maps.iter().map(kube::ResourceExt::name_any);
    let of_release = format!("{}-proof-", site.names.release);
    site.records = records
        .filter(|name| name.starts_with(&of_release))
        .collect();
    Ok(Facts {
        kubernetes: version.git_version,
        site,
        deployment,
        pods,
        rbac,
        kinds: kinds.unwrap_or_default(),
        policies,
        policy_bindings,
        mutating: mutating.unwrap_or_default(),
        validating: validating.unwrap_or_default(),
        mutating_policies: mutating_policies.unwrap_or_default(),
        token_secrets,
        config_maps,
    })
}

/// The installation that is asked about.
fn choose(
    deployments: Vec<Deployment>,
    namespace: Option<&str>,
) -> Result<(Site, Deployment), Trouble> {
    let wanted = |deployment: &Deployment| {
        namespace.is_none_or(|wanted| deployment.namespace().as_deref() == Some(wanted))
    };
    let read = |deployment: Deployment| Some((Site::read(&deployment)?, deployment));
    let mut sites: Vec<_> = deployments
        .into_iter()
        .filter(wanted)
        .filter_map(read)
        .collect();
    if sites.len() > 1 {
        let namespaces: BTreeSet<&str> = sites
            .iter()
            .map(|(site, _)| site.names.namespace.as_str())
            .collect();
        let namespaces: Vec<&str> = namespaces.into_iter().collect();
        return Err(Trouble::Several(namespaces.join(", ")));
    }
    sites.pop().ok_or_else(|| {
        let within = namespace.map(|namespace| format!(" in namespace {namespace}"));
        Trouble::NotInstalled(within.unwrap_or_default())
    })
}

/// Asks, and keeps in mind which rights were missing.
struct Reader<'a> {
    client: &'a Client,
    refused: Mutex<BTreeSet<String>>,
}

impl<'a> Reader<'a> {
    fn new(client: &'a Client) -> Self {
        Self {
            client,
            refused: Mutex::default(),
        }
    }

    /// An error that names every right that was missing so far.
    fn complain(&self) -> Result<(), Trouble> {
        let refused = match self.refused.lock() {
            Ok(refused) => refused,
            Err(poisoned) => poisoned.into_inner(),
        };
        if refused.is_empty() {
            return Ok(());
        }
        let rights: Vec<&str> = refused.iter().map(String::as_str).collect();
        Err(Trouble::MayNot(format!("list {}", rights.join(", "))))
    }

    /// What was answered; nothing where a right is missing, `None` where nobody serves it.
    fn answer<K: Clone>(
        &self,
        what: &str,
        answer: kube::Result<ObjectList<K>>,
    ) -> Result<Option<Vec<K>>, Trouble> {
        match answer {
            Ok(list) => Ok(Some(list.items)),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
            Err(kube::Error::Api(status)) if status.is_forbidden() => {
                let mut refused = match self.refused.lock() {
                    Ok(refused) => refused,
                    Err(poisoned) => poisoned.into_inner(),
                };
                refused.insert(what.to_owned());
                Ok(Some(Vec::new()))
            }
            Err(error) => Err(Trouble::Failed {
                what: format!("list {what}"),
                message: said(&error),
            }),
        }
    }

    async fn all<K>(&self, what: &str, labels: &str) -> Result<Vec<K>, Trouble>
    where
        K: kube::Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
    {
        let api: Api<K> = Api::all(self.client.clone());
        let answer = api.list(&ListParams::default().labels(labels)).await;
        Ok(self.answer(what, answer)?.unwrap_or_default())
    }

    async fn within<K>(&self, what: &str, namespace: &str) -> Result<Vec<K>, Trouble>
    where
        K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), namespace);
        let answer = api.list(&ListParams::default()).await;
        let what = format!("{what} in namespace {namespace}");
        Ok(self.answer(&what, answer)?.unwrap_or_default())
    }

    /// Objects of the first of these versions that is served.
    async fn served(&self, kind: &str, versions: &[&str]) -> Result<Option<Vec<Value>>, Trouble> {
        for version in versions {
            if let Some(values) = self.values(ADMISSION, version, kind).await? {
                return Ok(Some(values));
            }
        }
        Ok(None)
    }

    /// As JSON: every field counts, those too that no type here knows.
    async fn values(
        &self,
        group: &str,
        version: &str,
        kind: &str,
    ) -> Result<Option<Vec<Value>>, Trouble> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
        let answer = api.list(&ListParams::default()).await;
        let what = format!("{}.{group}", resource.plural);
        let Some(objects) = self.answer(&what, answer)? else {
            return Ok(None);
        };
        let values = objects.into_iter().map(serde_json::to_value);
        let values: Result<Vec<Value>, _> = values.collect();
        values.map(Some).map_err(|error| Trouble::Failed {
            what: format!("read {what}"),
            message: error.to_string(),
        })
    }

    /// Names of the Secrets with tokens of the operator's ServiceAccount.
    async fn token_secrets(&self, site: &Site) -> Result<Vec<String>, Trouble> {
        let here = &site.names.namespace;
        let api: Api<Secret> = Api::namespaced(self.client.clone(), here);
        let answer = api.list_metadata(&ListParams::default()).await;
        let what = format!("secrets in namespace {here}");
        let found: Vec<PartialObjectMeta<Secret>> = self.answer(&what, answer)?.unwrap_or_default();
        let of_operator = found.iter().filter(|secret| {
            secret.annotations().get(TOKEN_OF) == Some(&site.names.service_account)
        });
        Ok(of_operator.map(kube::ResourceExt::name_any).collect())
    }
}
