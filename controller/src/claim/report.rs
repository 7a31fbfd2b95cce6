//! Tells what was decided: the only writer of claim status and of claims' Events. Does I/O.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use sandgate_shared::api::SandboxClaim;

use super::plan::{EventDraft, StatusDecision, status_patch};
use crate::api_server::{ApiServer, CallError, Place};
use crate::cause::Chain;
use crate::event::{self, Called, event};
use crate::key::Key;
use crate::kind::Kind;
use crate::watch::Watches;

/// The status could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The request failed.
    #[error("failed to write the status of SandboxClaim {claim}")]
    Status {
        /// Whose status.
        claim: Key,
        /// Why it failed.
        #[source]
        source: CallError,
    },
    /// The status could not be written as JSON.
    #[error("failed to express the status of SandboxClaim {claim}")]
    Patch {
        /// Whose status.
        claim: Key,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
}

impl ReportError {
    /// Whether the API server certainly did not carry the write out, and will not.
    pub fn is_no(&self) -> bool {
        match self {
            Self::Status { source, .. } => source.refusal().is_some_and(|no| no.code < 500),
            Self::Patch { .. } => true,
        }
    }
}

/// What became of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reported {
    /// The status says what was decided.
    Done,
    /// The claim changed since it was read: decide again.
    Stale,
    /// There is no such claim any more.
    Gone,
}

/// Writes status and Events.
#[derive(Clone, Debug)]
pub struct Report {
    api: ApiServer,
    watches: Arc<Watches>,
    /// Which process an Event comes from.
    instance: String,
}

impl Report {
    /// A writer that signs Events as `instance`.
    pub fn new(api: ApiServer, watches: Arc<Watches>, instance: &str) -> Self {
        Self {
            api,
            watches,
            instance: instance.to_owned(),
        }
    }

    /// Writes the status, if it is to change, then the Events; `limit`: how long the first may take.
    pub async fn tell(
        &self,
        claim: &SandboxClaim,
        decision: &StatusDecision,
        limit: Duration,
    ) -> Result<Reported, ReportError> {
        let written = self.write(claim, decision, limit).await?;
        if written == Reported::Done {
            self.announce(claim, decision).await;
        }
        Ok(written)
    }

    /// Writes the status, if it is to change. The write carries the resourceVersion that was decided upon, so that
    /// no two controllers undo each other's; `limit`: how long it may take.
    pub async fn write(
        &self,
        claim: &SandboxClaim,
        decision: &StatusDecision,
        limit: Duration,
    ) -> Result<Reported, ReportError> {
        let Some(status) = &decision.status else {
            return Ok(Reported::Done);
        };
        let key = Key::of(&claim.metadata);
        let place = Place::namespaced(Kind::SandboxClaim, &key.namespace, &key.name);
        let patch = status_patch(claim, status).map_err(|source| ReportError::Patch {
            claim: key.clone(),
            source,
        })?;
        let api = self.api.answering_within(limit);
        match api.patch_status(place, &patch).await {
            Ok(object) => match self.watches.index.wrote_claim(object) {
                Ok(concerned) => self.watches.queue.push_all(concerned),
                // The watch will deliver it in a moment, and count it if it cannot be read.
                Err(error) => tracing::debug!(error = %Chain(&error), "unreadable claim"),
            },
            Err(error) if error.is_conflict() => return Ok(Reported::Stale),
            Err(error) if error.is_not_found() => return Ok(Reported::Gone),
            Err(source) => return Err(ReportError::Status { claim: key, source }),
        }
        Ok(Reported::Done)
    }

    /// Writes the Events of what was decided, once the status says it.
    pub async fn announce(&self, claim: &SandboxClaim, decision: &StatusDecision) {
        for event in &decision.events {
            self.publish(claim, event).await;
        }
    }

    async fn publish(&self, claim: &SandboxClaim, draft: &EventDraft) {
        let key = Key::of(&claim.metadata);
        let place = Place::namespaced(Kind::SandboxClaim, &key.namespace, &key.name);
        let uid = claim.metadata.uid.as_deref();
        let called = Called::ByTime(Timestamp::now());
        let event = event(place, uid, draft, called, &self.instance);
        event::publish(&self.api, &event).await;
    }
}
