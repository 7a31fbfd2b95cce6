//! Reads what the decision about a claim needs. The only reader of `claim`; does I/O.

use std::sync::Arc;

use kube::core::DynamicObject;
use sandgate_shared::api::outside::AgentRuntime;
use sandgate_shared::api::{
    ClassKind, ClusterSandboxClass, SandboxClaim, SandboxClass, SandboxClassSpec,
};
use sandgate_shared::names;
use sandgate_shared::trust::Trust;
use serde::de::DeserializeOwned;

use super::observed::{Guarded, LiveObject, Lookup, ObjectKind, Observed};
use super::plan;
use crate::api_server::{ApiServer, CallError, Place};
use crate::kind::Kind;
use crate::provenance::Provenance;
use crate::watch::{Key, Watches};

/// What stands could not be read.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    /// The request failed.
    #[error("failed to read {} {name}", kind.as_str())]
    Call {
        /// Kind of the object.
        kind: Kind,
        /// Its name.
        name: String,
        /// Why it failed.
        #[source]
        source: CallError,
    },
    /// Whether policy and binding stand could not be read.
    #[error("failed to read the admission policy: {0}")]
    Policy(String),
    /// The object is not what its kind should be.
    #[error("failed to understand {} {name}", kind.as_str())]
    Unreadable {
        /// Kind of the object.
        kind: Kind,
        /// Its name.
        name: String,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
}

/// Reads from the watches, and from the API server where the watches are not good enough.
#[derive(Clone, Debug)]
pub struct Gather {
    api: ApiServer,
    watches: Arc<Watches>,
    provenance: Provenance,
}

impl Gather {
    /// A reader.
    pub fn new(api: ApiServer, watches: Arc<Watches>, provenance: Provenance) -> Self {
        Self {
            api,
            watches,
            provenance,
        }
    }

    /// What the watches know of a claim; `None` if they know no such claim.
    pub fn known(&self, claim: &Key) -> Option<Observed> {
        let observed = self.watches.index.observed(claim)?;
        Some(Observed {
            trust: self.provenance.trust(),
            ..observed
        })
    }

    /// What the watches know of a namespace's baseline; `None` if nothing there needs one.
    pub fn guarded(&self, namespace: &str) -> Option<Guarded> {
        self.watches.index.guarded(namespace)
    }

    /// What is known of a claim, with the claim and everything that can end it read anew: a watch can
    /// be a moment behind, a claim that fails is not taken up again (C-028), one that is verified once
    /// stays so (P-017), and nothing is made for one that is leaving (O-002). `None` if the claim is gone.
    pub async fn confirmed(&self, known: Observed) -> Result<Option<Observed>, GatherError> {
        let key = Key::of(&known.claim.metadata);
        let place = Place::namespaced(Kind::SandboxClaim, &key.namespace, &key.name);
        let Some(claim) = self.get(place).await? else {
            return Ok(None);
        };
        let claim: SandboxClaim = parse(place, claim)?;
        if claim.metadata.uid != known.claim.metadata.uid {
            return Ok(None);
        }
        let mut observed = Observed { claim, ..known };
        observed.runtime = match observed.claim.spec.agent_runtime_ref.as_ref() {
            None => Lookup::Missing,
            Some(runtime) => {
                let place = Place::namespaced(Kind::AgentRuntime, &key.namespace, &runtime.name);
                self.lookup(place, |runtime: AgentRuntime| runtime.spec)
                    .await?
            }
        };
        observed.class = self.class(&observed).await?;
        if plan::awaits_proof(&observed.claim) {
            observed.trust = match self.provenance.confirmed(&self.api).await {
                Trust::Unread(why) => return Err(GatherError::Policy(why)),
                trust => trust,
            };
        }
        observed.policy = self.live(&key, ObjectKind::NetworkPolicy).await?;
        observed.service = self.live(&key, ObjectKind::Service).await?;
        observed.deployment = self.live(&key, ObjectKind::Deployment).await?;
        Ok(Some(observed))
    }

    /// Reads the claim anew into the watches' index; whether it still exists.
    pub async fn refreshed(&self, claim: &Key) -> Result<bool, GatherError> {
        let place = Place::namespaced(Kind::SandboxClaim, &claim.namespace, &claim.name);
        let Some(object) = self.get(place).await? else {
            return Ok(false);
        };
        self.watches
            .index
            .wrote_claim(object)
            .map_err(|error| GatherError::Unreadable {
                kind: place.kind,
                name: place.name.to_owned(),
                source: serde::de::Error::custom(error),
            })?;
        Ok(true)
    }

    async fn class(&self, observed: &Observed) -> Result<Lookup<SandboxClassSpec>, GatherError> {
        let class = &observed.claim.spec.class_ref;
        let namespace = observed
            .claim
            .metadata
            .namespace
            .as_deref()
            .unwrap_or_default();
        match class.kind {
            ClassKind::SandboxClass => {
                let place = Place::namespaced(Kind::SandboxClass, namespace, &class.name);
                self.lookup(place, |class: SandboxClass| class.spec).await
            }
            ClassKind::ClusterSandboxClass => {
                let place = Place::cluster(Kind::ClusterSandboxClass, &class.name);
                self.lookup(place, |class: ClusterSandboxClass| class.spec.class)
                    .await
            }
        }
    }

    async fn live(&self, claim: &Key, kind: ObjectKind) -> Result<Option<LiveObject>, GatherError> {
        let name = names::sandbox(&claim.name);
        let place = Place::namespaced(kind.into(), &claim.namespace, &name);
        let object = self.get(place).await?;
        Ok(object
            .and_then(|object| serde_json::to_value(object).ok())
            .as_ref()
            .and_then(LiveObject::read))
    }

    async fn lookup<K: DeserializeOwned, V>(
        &self,
        place: Place<'_>,
        view: impl FnOnce(K) -> V,
    ) -> Result<Lookup<V>, GatherError> {
        let Some(object) = self.get(place).await? else {
            return Ok(Lookup::Missing);
        };
        Ok(Lookup::Found(view(parse(place, object)?)))
    }

    async fn get(&self, place: Place<'_>) -> Result<Option<DynamicObject>, GatherError> {
        self.api
            .get(place)
            .await
            .map_err(|source| GatherError::Call {
                kind: place.kind,
                name: place.name.to_owned(),
                source,
            })
    }
}

impl From<ObjectKind> for Kind {
    fn from(kind: ObjectKind) -> Self {
        match kind {
            ObjectKind::Baseline | ObjectKind::NetworkPolicy => Self::NetworkPolicy,
            ObjectKind::Service => Self::Service,
            ObjectKind::Deployment => Self::Deployment,
        }
    }
}

fn parse<K: DeserializeOwned>(place: Place<'_>, object: DynamicObject) -> Result<K, GatherError> {
    serde_json::to_value(object)
        .and_then(serde_json::from_value)
        .map_err(|source| GatherError::Unreadable {
            kind: place.kind,
            name: place.name.to_owned(),
            source,
        })
}
