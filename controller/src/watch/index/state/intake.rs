//! What a watch delivers, put into its table. Pure.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::core::DynamicObject;
use sandgate_shared::api::outside::{AgentRuntime, Workspace};
use sandgate_shared::api::{ClusterSandboxClass, Connection, SandboxClass};
use sandgate_shared::names;

use super::concerned::{claim_name, subjects};
use super::{Labelled, Objects, OfClaim, State};
use crate::claim::observed::{AllowedTarget, LiveObject, ObservedPod, ObservedReplicaSet};
use crate::key::Key;
use crate::watch::index::{NotKnown, concern, live, read};
use crate::watch::table::Table;
use crate::watch::{Source, Subject};

impl State {
    /// Takes in an object; what it concerns, if it is news.
    pub(in crate::watch::index) fn observe(
        &mut self,
        source: Source,
        key: &Key,
        version: u64,
        object: DynamicObject,
    ) -> Result<BTreeSet<Subject>, NotKnown> {
        let changed = match source {
            Source::Claims => return self.observe_claim(key, version, object),
            Source::Classes => {
                let class: SandboxClass = read(key, object)?;
                takes(&mut self.classes, key, version, class.spec)
            }
            Source::ClusterClasses => {
                let class: ClusterSandboxClass = read(key, object)?;
                takes(&mut self.cluster_classes, key, version, class.spec.class)
            }
            Source::Runtimes => {
                let runtime: AgentRuntime = read(key, object)?;
                takes(&mut self.runtimes, key, version, runtime.spec)
            }
            Source::Namespaces => {
                let going = object.metadata.deletion_timestamp.is_some();
                takes(&mut self.namespaces, key, version, going)
            }
            Source::Services => return self.observe_service(key, version, object),
            Source::NetworkPolicies => return self.observe_policy(key, version, &object),
            Source::Connections => {
                let connection: Connection = read(key, object)?;
                takes(&mut self.connections, key, version, connection.spec)
            }
            // Nothing is kept of it, and a listing tells those whom it concerns at its end.
            Source::Secrets => !self.listing_secrets,
            Source::Workspaces => {
                let workspace: Workspace = read(key, object)?;
                takes(&mut self.workspaces, key, version, workspace.spec)
            }
            Source::ContentClaims => {
                let going = object.metadata.deletion_timestamp.is_some();
                takes(&mut self.content_claims, key, version, going)
            }
            Source::Deployments => {
                takes_object(&mut self.deployments, key, version, live(&object))?
            }
            Source::Allowlists => takes_object(&mut self.allowlists, key, version, live(&object))?,
            Source::ReplicaSets => {
                let claim_uid = claim_uid(&object);
                let value = ObservedReplicaSet::read(&read::<ReplicaSet>(key, object)?);
                let before = self.replica_sets.get(key).map(|labelled| &labelled.value);
                // Watches of two kinds are not in step: its pod may have spoken before it was known.
                let awaited = before.is_none()
                    && self
                        .pods
                        .members(&OfClaim(claim_uid.clone()))
                        .any(|pod| concern::pod(None, &pod.value));
                let changed = awaited || concern::replica_set(before, &value);
                let labelled = Labelled { claim_uid, value };
                self.replica_sets.observe(key.clone(), version, labelled).0 && changed
            }
            Source::Pods => {
                let claim_uid = claim_uid(&object);
                let value = ObservedPod::read(&read::<Pod>(key, object)?);
                let before = self.pods.get(key).map(|labelled| &labelled.value);
                let changed = concern::pod(before, &value);
                let labelled = Labelled { claim_uid, value };
                self.pods.observe(key.clone(), version, labelled).0 && changed
            }
        };
        Ok(if changed {
            self.concerned(source, key)
        } else {
            BTreeSet::new()
        })
    }

    /// Where a policy of this name is kept, if it is one: the baselines, and what bears the name of a
    /// claim's.
    pub(super) fn policies_like(&mut self, key: &Key) -> Option<&mut Objects> {
        if key.name == names::BASELINE_POLICY {
            Some(&mut self.baselines)
        } else {
            claim_name(key).map(|_| &mut self.policies)
        }
    }

    /// Any Service can be one that a class allows, and one that bears the name of a claim's.
    fn observe_service(
        &mut self,
        key: &Key,
        version: u64,
        object: DynamicObject,
    ) -> Result<BTreeSet<Subject>, NotKnown> {
        let mut concerned = BTreeSet::new();
        if claim_name(key).is_some()
            && takes_object(&mut self.services, key, version, live(&object))?
        {
            concerned.extend(self.named_by(key));
        }
        let target = AllowedTarget::read(&read::<Service>(key, object)?);
        if takes(&mut self.targets, key, version, target) {
            concerned.extend(self.that_allow(key));
        }
        Ok(subjects(concerned))
    }

    /// Takes an object out; what it concerned, if it was in.
    pub(in crate::watch::index) fn remove(
        &mut self,
        source: Source,
        key: &Key,
        version: u64,
    ) -> BTreeSet<Subject> {
        // Asked before: what is gone can no longer say whom it concerned.
        let concerned = self.concerned(source, key);
        let stood = match source {
            Source::Claims => return self.remove_claim(key, version),
            Source::Classes => self.classes.remove(key, version).is_some(),
            Source::ClusterClasses => self.cluster_classes.remove(key, version).is_some(),
            Source::Runtimes => self.runtimes.remove(key, version).is_some(),
            Source::Namespaces => self.namespaces.remove(key, version).is_some(),
            Source::Services => {
                let target = self.targets.remove(key, version).is_some();
                self.services.remove(key, version).is_some() || target
            }
            Source::NetworkPolicies => self.remove_policy(key, version),
            Source::Connections => self.connections.remove(key, version).is_some(),
            Source::Secrets => true,
            Source::Workspaces => self.workspaces.remove(key, version).is_some(),
            Source::ContentClaims => self.content_claims.remove(key, version).is_some(),
            Source::Deployments => self.deployments.remove(key, version).is_some(),
            Source::Allowlists => self.allowlists.remove(key, version).is_some(),
            Source::ReplicaSets => self.replica_sets.remove(key, version).is_some(),
            Source::Pods => self.pods.remove(key, version).is_some(),
        };
        if stood { concerned } else { BTreeSet::new() }
    }

    /// A watch begins to list its objects anew.
    pub(in crate::watch::index) fn begin_listing(&mut self, source: Source) {
        match source {
            Source::Claims => self.claims.begin_listing(),
            Source::Classes => self.classes.begin_listing(),
            Source::ClusterClasses => self.cluster_classes.begin_listing(),
            Source::Runtimes => self.runtimes.begin_listing(),
            Source::Namespaces => self.namespaces.begin_listing(),
            Source::Services => {
                self.targets.begin_listing();
                self.services.begin_listing();
            }
            Source::NetworkPolicies => {
                self.baselines.begin_listing();
                self.policies.begin_listing();
                self.openings.begin_listing();
            }
            Source::Connections => self.connections.begin_listing(),
            Source::Secrets => self.listing_secrets = true,
            Source::Workspaces => self.workspaces.begin_listing(),
            Source::ContentClaims => self.content_claims.begin_listing(),
            Source::Deployments => self.deployments.begin_listing(),
            Source::Allowlists => self.allowlists.begin_listing(),
            Source::ReplicaSets => self.replica_sets.begin_listing(),
            Source::Pods => self.pods.begin_listing(),
        }
    }

    /// A listing is whole: what it did not show is taken out; what that concerns.
    pub(in crate::watch::index) fn end_listing(&mut self, source: Source) -> BTreeSet<Subject> {
        let mut gone = match source {
            Source::Claims => self.claims.end_listing(),
            Source::Classes => self.classes.end_listing(),
            Source::ClusterClasses => self.cluster_classes.end_listing(),
            Source::Runtimes => self.runtimes.end_listing(),
            Source::Namespaces => self.namespaces.end_listing(),
            Source::Services => {
                let mut gone = self.targets.end_listing();
                gone.extend(self.services.end_listing());
                gone
            }
            Source::NetworkPolicies => {
                let mut gone = self.baselines.end_listing();
                gone.extend(self.policies.end_listing());
                gone.extend(self.openings.end_listing());
                gone
            }
            Source::Connections => self.connections.end_listing(),
            Source::Secrets => {
                self.listing_secrets = false;
                return subjects(self.that_bind());
            }
            Source::Workspaces => self.workspaces.end_listing(),
            Source::ContentClaims => self.content_claims.end_listing(),
            Source::Deployments => self.deployments.end_listing(),
            Source::Allowlists => self.allowlists.end_listing(),
            Source::ReplicaSets => self.replica_sets.end_listing(),
            Source::Pods => self.pods.end_listing(),
        };
        gone.sort();
        gone.dedup();
        gone.iter()
            .flat_map(|(key, version)| self.remove(source, key, *version))
            .collect()
    }
}

/// Takes in a value; whether it differs from what stood.
fn takes<V: PartialEq, G: std::hash::Hash + Eq>(
    table: &mut Table<V, G>,
    key: &Key,
    version: u64,
    value: V,
) -> bool {
    let (news, before) = table.observe(key.clone(), version, value);
    news && before.as_ref() != table.get(key)
}

/// Takes in an object we built; whether it differs from what stood in more than its version.
pub(super) fn takes_object(
    table: &mut Objects,
    key: &Key,
    version: u64,
    live: Option<LiveObject>,
) -> Result<bool, NotKnown> {
    let live = live.ok_or_else(|| NotKnown::NoUid(key.clone()))?;
    let changed = concern::object(table.get(key), &live);
    Ok(table.observe(key.clone(), version, live).0 && changed)
}

fn claim_uid(object: &DynamicObject) -> String {
    let labels = object.metadata.labels.as_ref();
    labels
        .and_then(|labels| labels.get(names::LABEL_CLAIM_UID))
        .cloned()
        .unwrap_or_default()
}
