//! Policy, binding and the record of the first refusal, as they stand. Does I/O.

use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, ListParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, ResourceExt};
use sandgate_e2e::namespace::DEADLINE;
use sandgate_e2e::{Cluster, Outcome, manifests as applied};
use sandgate_shared::api::SandboxClaim;
use sandgate_shared::names;
use sandgate_shared::render::{self, Installation as Names};

use crate::GRACE;

/// The pair of one version of the installation.
pub struct Pair {
    names: Names,
    name: String,
    client: Client,
}

impl Pair {
    /// That of the version the test's first controller is of.
    pub fn ours(cluster: &Cluster) -> Self {
        Self::of(cluster, Names::default())
    }

    /// That of another version: its rules differ.
    pub fn of_another_version(cluster: &Cluster) -> Self {
        let names = Names {
            require_pod_bound_token: false,
            ..Names::default()
        };
        Self::of(cluster, names)
    }

    fn of(cluster: &Cluster, names: Names) -> Self {
        let [policy, _] = render::admission_policy(&names);
        Self {
            names,
            name: policy["metadata"]["name"].as_str().unwrap().to_owned(),
            client: cluster.client(),
        }
    }

    /// Name of both.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn policies(&self) -> Api<ValidatingAdmissionPolicy> {
        Api::all(self.client.clone())
    }

    fn bindings(&self) -> Api<ValidatingAdmissionPolicyBinding> {
        Api::all(self.client.clone())
    }

    fn records(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), &self.names.namespace)
    }

    /// Creates both, as the chart does.
    pub async fn create(&self) -> Outcome {
        let pair = render::admission_policy(&self.names);
        Ok(applied::apply(&self.client, &pair).await?)
    }

    /// Deletes both, as Helm does with what a new version no longer has.
    pub async fn delete(&self) -> Outcome {
        let how = DeleteParams::default();
        self.bindings().delete(&self.name, &how).await?;
        self.policies().delete(&self.name, &how).await?;
        Ok(())
    }

    /// Waits for the record of the first refusal by the pair that stands now.
    pub async fn record(&self) -> Outcome<ConfigMap> {
        let policy = self.policies().get(&self.name).await?.uid().unwrap();
        let binding = self.bindings().get(&self.name).await?.uid().unwrap();
        let hash = names::short_hash(&format!("{policy}/{binding}"));
        let name = names::proof(&self.names.release, &hash);
        let made = await_condition(self.records(), &name, |record: Option<&ConfigMap>| {
            record.is_some()
        });
        let record = tokio::time::timeout(DEADLINE, made).await??;
        Ok(record.unwrap())
    }

    /// The same, to see it go.
    pub async fn record_to_go(&self) -> Outcome<Going> {
        Ok(Going {
            records: self.records(),
            record: self.record().await?,
        })
    }

    /// Every record there is.
    pub async fn all_records(&self) -> Outcome<Vec<ConfigMap>> {
        let all = self.records().list(&ListParams::default()).await?.items;
        let is_one = |it: &ConfigMap| it.name_any().starts_with("sandgate-proof-");
        Ok(all.into_iter().filter(is_one).collect())
    }

    /// The last moment at which a claim could be made that is not provable: the latest of the three
    /// creations, and the grace.
    pub async fn provable_after(&self) -> Outcome<Timestamp> {
        let record = self.record().await?;
        let policy = self.policies().get(&self.name).await?;
        let binding = self.bindings().get(&self.name).await?;
        let times = [policy.metadata, binding.metadata, record.metadata];
        let latest = times.map(|it| it.creation_timestamp.unwrap().0);
        Ok(latest.into_iter().max().unwrap() + GRACE)
    }

    /// Waits until a claim made now is provable: the API server counts in whole seconds.
    pub async fn in_force(&self) -> Outcome<Timestamp> {
        let after = self.provable_after().await?;
        let wanted = after + Duration::from_secs(1);
        let left = Duration::try_from(wanted.duration_since(Timestamp::now()));
        tokio::time::sleep(left.unwrap_or_default()).await;
        Ok(after)
    }
}

/// A record that the garbage collector is to take.
pub struct Going {
    records: Api<ConfigMap>,
    record: ConfigMap,
}

impl Going {
    /// Waits until it has.
    pub async fn until_gone(self) -> Outcome {
        let uid = self.record.uid().unwrap();
        let gone = conditions::is_deleted(&uid);
        let name = self.record.name_any();
        let gone = await_condition(self.records, &name, gone);
        tokio::time::timeout(DEADLINE, gone).await??;
        Ok(())
    }
}

/// Whether it is recorded that the operator wrote the claim.
pub fn is_verified(claim: &SandboxClaim) -> bool {
    let found = sandgate_e2e::scene::condition(claim, "ProvenanceVerified");
    found.is_some_and(|(status, reason, _)| status == "True" && reason == "WrittenByOperator")
}
