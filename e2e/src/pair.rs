//! The admission policy, its binding and the record of their first refusal, as they stand. Does I/O.

use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, ListParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, ResourceExt};
use sandgate_shared::api::{ClaimPhase, SandboxClaim};
use sandgate_shared::names;
use sandgate_shared::render::{self, Installation as Names};
use serde_json::Value;

use crate::cluster::Cluster;
use crate::failure::{Failure, Outcome};
use crate::manifests as applied;
use crate::namespace::DEADLINE;
use crate::scene::{Scene, condition, phase};

/// How long after policy and proof a claim must have been made, in tests that do not want to wait a
/// minute.
pub const GRACE: Duration = Duration::from_secs(1);

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
            name: name(&policy),
            client: cluster.client(),
        }
    }

    /// Name of both.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All policies there are.
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
        let policy = self.policies().get(&self.name).await?.uid();
        let binding = self.bindings().get(&self.name).await?.uid();
        let both = format!(
            "{}/{}",
            policy.unwrap_or_default(),
            binding.unwrap_or_default()
        );
        let name = names::proof(&self.names.release, &names::short_hash(&both));
        let made = await_condition(self.records(), &name, |record: Option<&ConfigMap>| {
            record.is_some()
        });
        let record = tokio::time::timeout(DEADLINE, made).await??;
        record.ok_or_else(|| Failure::saying(format!("{name} is gone again")))
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
        let made = times.into_iter().filter_map(|it| it.creation_timestamp);
        let latest = made.map(|it| it.0).max();
        let latest = latest.ok_or_else(|| Failure::saying("none of the three was ever made"))?;
        Ok(latest + GRACE)
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
        let uid = self.record.uid().unwrap_or_default();
        let gone = conditions::is_deleted(&uid);
        let name = self.record.name_any();
        let gone = await_condition(self.records, &name, gone);
        tokio::time::timeout(DEADLINE, gone).await??;
        Ok(())
    }
}

/// Whether it is recorded that the operator wrote the claim.
pub fn is_verified(claim: &SandboxClaim) -> bool {
    condition(claim, "ProvenanceVerified")
        .is_some_and(|(status, reason, _)| status == "True" && reason == "WrittenByOperator")
}

/// Fails unless each of these claims is in this phase, and it is recorded that the operator wrote it.
pub async fn all_verified(scene: &Scene, claims: &[(&str, ClaimPhase)]) -> Outcome {
    for (name, wanted) in claims {
        let claim: SandboxClaim = scene.api().get(name).await?;
        if phase(&claim) != Some(*wanted) || !is_verified(&claim) {
            return Err(Failure::saying(format!(
                "{name} should be {wanted:?} and verified, and is: {:?}",
                claim.status
            )));
        }
    }
    Ok(())
}

fn name(object: &Value) -> String {
    let name = object.pointer("/metadata/name").and_then(Value::as_str);
    name.unwrap_or_default().to_owned()
}
