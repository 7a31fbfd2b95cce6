//! What an object concerns. Pure.

use std::collections::BTreeSet;

use sandgate_shared::api::ClassKind;
use sandgate_shared::names;

use super::{Allows, ClaimsBy, Names, State};
use crate::key::Key;
use crate::watch::{Source, Subject};

impl State {
    /// What the object under `key` concerns, while it is in its table.
    pub(super) fn concerned(&self, source: Source, key: &Key) -> BTreeSet<Subject> {
        let claims = match source {
            // Not the claims: what shuts their pods is needed also by those that claims leave behind.
            Source::NetworkPolicies if key.name == names::BASELINE_POLICY => {
                let needed = self.guarded(&key.namespace);
                let subject = needed.map(|_| Subject::Baseline(key.namespace.clone()));
                return subject.into_iter().chain(self.opened_by(key)).collect();
            }
            Source::Claims => BTreeSet::from([key.clone()]),
            Source::Classes => self.of_class(ClassKind::SandboxClass, key),
            Source::ClusterClasses => self.of_class(ClassKind::ClusterSandboxClass, key),
            Source::Connections => self.claims_by(&ClaimsBy::Connection(key.clone())),
            Source::Secrets => self.that_place(key),
            // Of those that wait their turn, only whose turn it is now.
            Source::Runtimes => {
                let waits = self.somebody_waits(key);
                let places = waits.then(|| Subject::Places(key.clone()));
                return places
                    .into_iter()
                    .chain(subjects(self.not_queued(key)))
                    .collect();
            }
            Source::Namespaces => self.claims_in(&key.name),
            Source::Services => {
                let mut claims = self.that_allow(key);
                claims.extend(self.named_by(key));
                claims
            }
            Source::NetworkPolicies => {
                let named = subjects(self.named_by(key)).into_iter();
                return named.chain(self.opened_by(key)).collect();
            }
            Source::Deployments | Source::Allowlists => self.named_by(key),
            Source::Workspaces => self.of_workspace(key),
            Source::ContentClaims => self.that_await_storage(&key.namespace),
            Source::ReplicaSets => {
                let labelled = self.replica_sets.get(key);
                labelled
                    .map(|set| self.of_uid(&set.claim_uid))
                    .unwrap_or_default()
            }
            Source::Pods => {
                let labelled = self.pods.get(key);
                labelled
                    .map(|pod| self.of_uid(&pod.claim_uid))
                    .unwrap_or_default()
            }
        };
        subjects(claims)
    }

    /// The claims with a Connection that names the Secret, and the one whose files it would hold.
    fn that_place(&self, secret: &Key) -> BTreeSet<Key> {
        let named = Names(secret.clone());
        let connections = self.connections.group(&named);
        let mut claims: BTreeSet<Key> = connections
            .flat_map(|connection| self.claims_by(&ClaimsBy::Connection(connection.clone())))
            .collect();
        let holds_files = names::claim_of_placed_files(&secret.name);
        let of_name = holds_files.map(|claim| Key::new(&secret.namespace, claim));
        claims.extend(of_name.filter(|claim| self.claims.get(claim).is_some()));
        claims
    }

    /// The claims that bind Connections.
    pub(super) fn that_bind(&self) -> BTreeSet<Key> {
        let binds = |key: &&Key| {
            let claim = self.claims.get(key);
            claim.is_some_and(|claim| claim.spec.connections.iter().flatten().next().is_some())
        };
        self.claims.keys().filter(binds).cloned().collect()
    }

    /// All claims; and the baseline of each namespace with a sandbox's pod, or that stands in one with
    /// a claim. Where a claim is yet to be built its own plan makes the baseline.
    pub(in crate::watch::index) fn subjects(&self) -> BTreeSet<Subject> {
        let pods = self.pods.keys().map(|pod| &pod.namespace);
        let baselines = self.baselines.keys().map(|policy| &policy.namespace);
        let namespaces: BTreeSet<&String> = pods.chain(baselines).collect();
        let needed = namespaces
            .into_iter()
            .filter(|namespace| self.guarded(namespace).is_some())
            .map(|namespace| Subject::Baseline(namespace.clone()));
        let claims = self.claims.keys().cloned().map(Subject::Claim);
        needed.chain(claims).collect()
    }

    /// The claim whose name an object bears.
    pub(super) fn named_by(&self, object: &Key) -> BTreeSet<Key> {
        let claim = claim_name(object).map(|name| Key::new(&object.namespace, name));
        claim
            .filter(|claim| self.claims.get(claim).is_some())
            .into_iter()
            .collect()
    }

    pub(super) fn of_uid(&self, uid: &str) -> BTreeSet<Key> {
        self.claims_by(&ClaimsBy::Uid(uid.to_owned()))
    }

    /// The claims whose class allows a Service.
    pub(super) fn that_allow(&self, service: &Key) -> BTreeSet<Key> {
        let namespace = Some(service.namespace.clone());
        let named = Allows {
            namespace,
            name: service.name.clone(),
        };
        let own = Allows {
            namespace: None,
            name: service.name.clone(),
        };
        let mut claims = BTreeSet::new();
        for (kind, classes) in [
            (ClassKind::SandboxClass, &self.classes),
            (ClassKind::ClusterSandboxClass, &self.cluster_classes),
        ] {
            for class in classes.group(&named) {
                claims.extend(self.of_class(kind, class));
            }
            for class in classes.group(&own) {
                let users = self.of_class(kind, class).into_iter();
                claims.extend(users.filter(|claim| claim.namespace == service.namespace));
            }
        }
        claims
    }

    fn of_class(&self, kind: ClassKind, class: &Key) -> BTreeSet<Key> {
        self.claims_by(&ClaimsBy::Class(kind, class.clone()))
    }

    pub(in crate::watch::index) fn claims_in(&self, namespace: &str) -> BTreeSet<Key> {
        self.claims.keys_in(namespace).cloned().collect()
    }

    fn claims_by(&self, group: &ClaimsBy) -> BTreeSet<Key> {
        self.claims.group(group).cloned().collect()
    }
}

pub(super) fn subjects(claims: BTreeSet<Key>) -> BTreeSet<Subject> {
    claims.into_iter().map(Subject::Claim).collect()
}

/// The name of the claim that an object of this name would belong to.
pub(super) fn claim_name(object: &Key) -> Option<&str> {
    let of_sandbox = object.name.strip_suffix("-sandbox");
    let of_sandbox = of_sandbox.filter(|name| names::sandbox(name) == object.name);
    let of_proxy = || {
        let name = object.name.strip_suffix("-egress")?;
        (names::egress(name) == object.name).then_some(name)
    };
    of_sandbox.or_else(of_proxy)
}
