//! Reads what the decision about a claim needs. The only reader of `claim`; does I/O.

mod all_claims;
mod bindings;
mod confirmed;
mod directory;
mod storage;

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use kube::core::DynamicObject;
use sandgate_shared::trust::Trust;
use serde::de::DeserializeOwned;

pub use directory::{ContentRoot, Haste};
pub use storage::Volumes;

use super::observed::{AllowedTarget, Guarded, Lookup, Observed, ServiceKey};
use crate::api_server::{ApiServer, CallError, Place};
use crate::key::Key;
use crate::kind::Kind;
use crate::provenance::Provenance;
use crate::watch::Watches;

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
    /// Not all objects of a kind could be read.
    #[error("failed to list every {}", kind.as_str())]
    List {
        /// Which kind.
        kind: Kind,
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
    /// The Secret is not what a Secret should be. What serde says of it may quote a value and is dropped
    /// (K-032).
    #[error("failed to understand Secret {0}")]
    UnreadableSecret(String),
}

/// Reads from the watches, and from the API server where the watches are not good enough.
#[derive(Clone, Debug)]
pub struct Gather {
    api: ApiServer,
    watches: Arc<Watches>,
    provenance: Provenance,
    volumes: Volumes,
}

impl Gather {
    /// A reader.
    pub fn new(
        api: ApiServer,
        watches: Arc<Watches>,
        provenance: Provenance,
        volumes: Volumes,
    ) -> Self {
        Self {
            api,
            watches,
            provenance,
            volumes,
        }
    }

    /// What time it is for the API server, if it told. The times in a status are the API server's, and so
    /// are those they are compared with: another leader, on a host with another clock, reads them.
    pub fn heard(&self) -> Option<Timestamp> {
        Timestamp::try_from(self.api.heard()?).ok()
    }

    /// What the watches know of a claim; `None` if they know no such claim.
    pub fn known(&self, claim: &Key) -> Option<Observed> {
        let observed = self.watches.index.observed(claim)?;
        Some(Observed {
            storage: self.storage(&claim.namespace),
            nested: self.nested(&observed.claim),
            trust: self.provenance.trust(),
            ..observed
        })
    }

    /// What the watches know of Services that serve test hosts.
    pub fn fixtures<'k>(
        &self,
        services: impl Iterator<Item = &'k ServiceKey>,
    ) -> impl Iterator<Item = (ServiceKey, Lookup<AllowedTarget>)> {
        services.map(|service| {
            let key = Key::new(&service.namespace, &service.name);
            (service.clone(), self.watches.index.target(&key).into())
        })
    }

    /// What the watches know of a namespace's baseline; `None` if nothing there needs one.
    pub fn guarded(&self, namespace: &str) -> Option<Guarded> {
        self.watches.index.guarded(namespace)
    }

    /// What is known of the admission policy.
    pub fn trust(&self) -> Trust {
        self.provenance.trust()
    }

    /// Reads the claim anew into the watches' index; whether it still exists.
    pub async fn refreshed(&self, claim: &Key) -> Result<bool, GatherError> {
        let place = Place::namespaced(Kind::SandboxClaim, &claim.namespace, &claim.name);
        let Some(object) = self.get(place).await? else {
            return Ok(false);
        };
        let wrote = self.watches.index.wrote_claim(object);
        let concerned = wrote.map_err(|error| GatherError::Unreadable {
            kind: place.kind,
            name: place.name.to_owned(),
            source: serde::de::Error::custom(error),
        })?;
        self.watches.queue.push_all(concerned);
        Ok(true)
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

fn parse<K: DeserializeOwned>(place: Place<'_>, object: DynamicObject) -> Result<K, GatherError> {
    serde_json::to_value(object)
        .and_then(serde_json::from_value)
        .map_err(|source| GatherError::Unreadable {
            kind: place.kind,
            name: place.name.to_owned(),
            source,
        })
}
