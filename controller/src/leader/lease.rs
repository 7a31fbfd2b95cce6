//! The Lease as it is kept. Does I/O.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::core::DynamicObject;
use sandgate_shared::names;
use serde_json::json;

use super::Record;
use crate::api_server::{ApiServer, CallError, Place};
use crate::kind::Kind;

/// The Lease could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LeaderError {
    /// The request failed.
    #[error("failed to {action} Lease {name}")]
    Call {
        /// What was tried.
        action: &'static str,
        /// Name of the Lease.
        name: String,
        /// Why it failed.
        #[source]
        source: CallError,
    },
    /// What stands under the name is not a Lease we can read.
    #[error("failed to read Lease {name}")]
    Unreadable {
        /// Name of the Lease.
        name: String,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// Somebody else leads, or may by now.
    #[error("failed to lead: Lease {name} is not ours any more, or was not renewed in time")]
    NotHeld {
        /// Name of the Lease.
        name: String,
    },
}

/// Where the Lease is.
#[derive(Clone, Debug)]
pub(super) struct StoredLease {
    pub(super) api: ApiServer,
    pub(super) namespace: String,
    pub(super) name: String,
    /// The duration of one that does not say its own.
    pub(super) duration: Duration,
}

impl StoredLease {
    pub(super) async fn read(&self) -> Result<Option<(DynamicObject, Record)>, LeaderError> {
        let live = self.api.get(self.place()).await;
        let live = live.map_err(|source| self.failed("read", source))?;
        let Some(live) = live else { return Ok(None) };
        let lease: Lease = live
            .clone()
            .try_parse()
            .map_err(|error| LeaderError::Unreadable {
                name: self.name.clone(),
                source: serde::ser::Error::custom(error),
            })?;
        let record = Record::read(lease.spec.as_ref(), self.duration);
        Ok(Some((live, record)))
    }

    /// Writes the record, and when nobody led as far as that is known; `false` if somebody else was first.
    pub(super) async fn write(
        &self,
        live: Option<&DynamicObject>,
        record: &Record,
        leaderless: Option<String>,
    ) -> Result<bool, LeaderError> {
        let spec: LeaseSpec = record.to_spec();
        // A live object carries uid and resourceVersion: of two writers one gets a conflict.
        let mut next = live.cloned().unwrap_or_else(|| {
            DynamicObject::new(&self.name, &Kind::Lease.resource()).within(&self.namespace)
        });
        next.data = json!({ "spec": spec });
        let annotations = next.metadata.annotations.get_or_insert_default();
        match leaderless {
            Some(text) => annotations.insert(names::ANNOTATION_LEADERLESS.to_owned(), text),
            None => annotations.remove(names::ANNOTATION_LEADERLESS),
        };
        let written = if live.is_some() {
            self.api.replace(self.place(), &next).await
        } else {
            let namespace = Some(self.namespace.as_str());
            self.api.create(Kind::Lease, namespace, &next).await
        };
        match written {
            Ok(_) => Ok(true),
            Err(error) if error.is_conflict() => Ok(false),
            Err(source) => Err(self.failed("write", source)),
        }
    }

    pub(super) fn place(&self) -> Place<'_> {
        Place::namespaced(Kind::Lease, &self.namespace, &self.name)
    }

    fn failed(&self, action: &'static str, source: CallError) -> LeaderError {
        LeaderError::Call {
            action,
            name: self.name.clone(),
            source,
        }
    }
}
