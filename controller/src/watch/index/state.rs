//! The tables behind the index, and what stands for one claim. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sandgate_shared::api::outside::{AgentRuntimeSpec, WorkspaceSpec};
use sandgate_shared::api::{ClassKind, ConnectionSpec, SandboxClaim, SandboxClassSpec};
use sandgate_shared::names;

use crate::admission_queue::Limit;
use crate::claim::observed::{
    AllowedTarget, Guarded, LiveObject, ObjectKind, Observed, ObservedPod, ObservedProxy,
    ObservedReplicaSet, Opening, ServiceKey,
};
use crate::claim::plan;
use crate::key::Key;
use crate::watch::table::Table;

use openings::{Opens, opens};

mod claims;
mod concerned;
mod content;
mod intake;
mod openings;

/// What claims are looked up by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum ClaimsBy {
    Uid(String),
    Runtime(Key),
    Class(ClassKind, Key),
    Connection(Key),
    /// Those that wait for this, as their status says.
    HeldBack(Limit),
}

/// The Secret that a Connection names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Names(Key);

/// A Service that a class allows. No namespace means the claim's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Allows {
    namespace: Option<String>,
    name: String,
}

/// UID of the claim that a pod or `ReplicaSet` is labelled with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct OfClaim(String);

/// An object with the UID of the claim it is labelled with.
#[derive(Debug)]
struct Labelled<V> {
    claim_uid: String,
    value: V,
}

type Objects = Table<LiveObject, ()>;

#[derive(Debug)]
pub(super) struct State {
    claims: Table<SandboxClaim, ClaimsBy>,
    /// How often the seats of any runtime's claims changed, and at which of these times each runtime's
    /// did last.
    revision: u64,
    revisions: HashMap<Key, u64>,
    classes: Table<SandboxClassSpec, Allows>,
    cluster_classes: Table<SandboxClassSpec, Allows>,
    runtimes: Table<AgentRuntimeSpec, ()>,
    /// Namespaces; whether they are being deleted.
    namespaces: Table<bool, ()>,
    /// Every Service, as one that a class may allow.
    targets: Table<AllowedTarget, ()>,
    /// Services that bear the name of a claim's.
    services: Objects,
    policies: Objects,
    baselines: Objects,
    /// Every policy that opens pods other than those of the claim whose own it is.
    openings: Table<Opening, Opens>,
    connections: Table<ConnectionSpec, Names>,
    listing_secrets: bool,
    workspaces: Table<WorkspaceSpec, ()>,
    /// Volume claims; whether they are being deleted.
    content_claims: Table<bool, ()>,
    deployments: Objects,
    /// The hosts of claims' egress proxies.
    allowlists: Objects,
    replica_sets: Table<Labelled<ObservedReplicaSet>, OfClaim>,
    pods: Table<Labelled<ObservedPod>, OfClaim>,
}

impl Default for State {
    fn default() -> Self {
        fn alone<V>(_: &Key, _: &V) -> Vec<()> {
            Vec::new()
        }
        fn of_claim<V>(_: &Key, labelled: &Labelled<V>) -> Vec<OfClaim> {
            vec![OfClaim(labelled.claim_uid.clone())]
        }
        Self {
            claims: Table::new(claims_by),
            revision: 0,
            revisions: HashMap::new(),
            classes: Table::new(allows),
            cluster_classes: Table::new(allows),
            runtimes: Table::new(alone),
            namespaces: Table::new(alone),
            targets: Table::new(alone),
            services: Table::new(alone),
            policies: Table::new(alone),
            baselines: Table::new(alone),
            openings: Table::new(opens),
            connections: Table::new(names_secret),
            listing_secrets: false,
            workspaces: Table::new(alone),
            content_claims: Table::new(alone),
            deployments: Table::new(alone),
            allowlists: Table::new(alone),
            replica_sets: Table::new(of_claim),
            pods: Table::new(of_claim),
        }
    }
}

impl State {
    pub(super) fn wrote_object(
        &mut self,
        kind: ObjectKind,
        key: Key,
        version: u64,
        live: LiveObject,
    ) {
        let table = match kind {
            ObjectKind::Baseline => &mut self.baselines,
            ObjectKind::EgressNetworkPolicy | ObjectKind::NetworkPolicy => &mut self.policies,
            ObjectKind::EgressAllowlist => &mut self.allowlists,
            ObjectKind::EgressService | ObjectKind::Service => &mut self.services,
            ObjectKind::EgressDeployment | ObjectKind::Deployment => &mut self.deployments,
        };
        table.learn(key, version, live);
    }

    pub(super) fn target(&self, service: &Key) -> Option<AllowedTarget> {
        self.targets.get(service).cloned()
    }

    pub(super) fn claim_count(&self) -> usize {
        self.claims.len()
    }

    /// Everything that stands for a claim; trust and memory are for the caller to fill in.
    pub(super) fn observed(&self, key: &Key) -> Option<Observed> {
        let claim = self.claims.get(key)?.clone();
        let sandbox = Key::new(&key.namespace, names::sandbox(&key.name));
        let baseline = Key::new(&key.namespace, names::BASELINE_POLICY);
        let proxy = Key::new(&key.namespace, names::egress(&key.name));
        let class = self.class_of(key, &claim);
        let runtime = Key::of_runtime(&claim).and_then(|runtime| self.runtimes.get(&runtime));
        let allowed = class.map(|class| plan::allowed_services(&claim, class));
        let services: BTreeMap<ServiceKey, _> = allowed
            .into_iter()
            .flatten()
            .map(|service| {
                let target = self
                    .targets
                    .get(&Key::new(&service.namespace, &service.name));
                (service, target.cloned().into())
            })
            .collect();
        let uid = OfClaim(claim.metadata.uid.clone().unwrap_or_default());
        let sets = labelled(&self.replica_sets, &uid, &key.namespace);
        let (of_proxy, mut pods): (Vec<_>, Vec<_>) = labelled(&self.pods, &uid, &key.namespace)
            .into_iter()
            .partition(is_of_proxy);
        for pod in &mut pods {
            pod.opened_by = self.widenings(&sandbox, pod);
        }
        Some(Observed {
            runtime: runtime.cloned().into(),
            class: class.cloned().into(),
            services,
            bindings: None,
            namespace_terminating: self.is_terminating(&key.namespace),
            baseline: self.baselines.get(&baseline).cloned(),
            policy: self.policies.get(&sandbox).cloned(),
            service: self.services.get(&sandbox).cloned(),
            deployment: self.deployments.get(&sandbox).cloned(),
            proxy: ObservedProxy {
                policy: self.policies.get(&proxy).cloned(),
                allowlist: self.allowlists.get(&proxy).cloned(),
                service: self.services.get(&proxy).cloned(),
                deployment: self.deployments.get(&proxy).cloned(),
                pods: of_proxy,
            },
            replica_sets: sets,
            pods,
            ..Observed::of(claim)
        })
    }

    /// Claims of which it is not recorded who wrote them, and may be once more is known of the policy.
    pub(super) fn lacking_record(&self) -> BTreeSet<Key> {
        let lacks = |key: &&Key| self.claims.get(key).is_some_and(plan::lacks_record);
        self.claims.keys().filter(lacks).cloned().collect()
    }

    /// The baseline policy of a namespace, if anything in it needs one.
    pub(super) fn guarded(&self, namespace: &str) -> Option<Guarded> {
        let needed = self.claims.keys_in(namespace).next().is_some()
            || self.pods.keys_in(namespace).next().is_some();
        needed.then(|| Guarded {
            baseline: self
                .baselines
                .get(&Key::new(namespace, names::BASELINE_POLICY))
                .cloned(),
            terminating: self.is_terminating(namespace),
        })
    }

    fn is_terminating(&self, namespace: &str) -> bool {
        let namespace = Key::new("", namespace);
        self.namespaces.get(&namespace).is_some_and(|going| *going)
    }

    fn class_of(&self, key: &Key, claim: &SandboxClaim) -> Option<&SandboxClassSpec> {
        let class = &claim.spec.class_ref;
        match class.kind {
            ClassKind::SandboxClass => self.classes.get(&Key::new(&key.namespace, &class.name)),
            ClassKind::ClusterSandboxClass => self.cluster_classes.get(&Key::new("", &class.name)),
        }
    }
}

/// Whether a pod is an egress proxy's.
fn is_of_proxy(pod: &ObservedPod) -> bool {
    let mut labels = pod.labels.iter();
    labels.any(|(key, value)| key == names::LABEL_COMPONENT && value == names::COMPONENT_EGRESS)
}

/// What bears the claim's label in the claim's namespace: elsewhere nothing of it is.
fn labelled<V: Clone>(
    table: &Table<Labelled<V>, OfClaim>,
    uid: &OfClaim,
    namespace: &str,
) -> Vec<V> {
    let here = table.group(uid).filter(|key| key.namespace == namespace);
    here.filter_map(|key| table.get(key))
        .map(|labelled| labelled.value.clone())
        .collect()
}

fn claims_by(key: &Key, claim: &SandboxClaim) -> Vec<ClaimsBy> {
    let class = &claim.spec.class_ref;
    let namespace = match class.kind {
        ClassKind::SandboxClass => key.namespace.as_str(),
        ClassKind::ClusterSandboxClass => "",
    };
    let uid = claim.metadata.uid.clone();
    let connections = claim.spec.connections.iter().flatten();
    let connections = connections.map(|binding| Key::new(&key.namespace, &binding.connection));
    [ClaimsBy::Class(
        class.kind,
        Key::new(namespace, &class.name),
    )]
    .into_iter()
    .chain(connections.map(ClaimsBy::Connection))
    .chain(Key::of_runtime(claim).map(ClaimsBy::Runtime))
    .chain(uid.map(ClaimsBy::Uid))
    .chain(claims::waits_for(claim).map(ClaimsBy::HeldBack))
    .collect()
}

fn names_secret(key: &Key, connection: &ConnectionSpec) -> Vec<Names> {
    let named = connection.credential.secret_ref.as_ref();
    let named = named.map(|secret| Names(Key::new(&key.namespace, &secret.name)));
    named.into_iter().collect()
}

fn allows(_: &Key, class: &SandboxClassSpec) -> Vec<Allows> {
    let services = class
        .egress
        .as_ref()
        .and_then(|egress| egress.allowed_services.as_ref());
    services
        .into_iter()
        .flatten()
        .map(|service| Allows {
            namespace: service.namespace.clone(),
            name: service.name.clone(),
        })
        .collect()
}
