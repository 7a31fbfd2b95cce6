//! How a look at the configurations can fail. Pure.

use crate::api_server::CallError;
use crate::kind::Kind;

/// A look failed; it is repeated.
#[derive(Debug, thiserror::Error)]
pub enum WebhookConfigError {
    /// A request failed.
    #[error("failed to {action} {}", kind.as_str())]
    Call {
        /// What was tried.
        action: &'static str,
        /// On what kind.
        kind: Kind,
        /// Why it failed.
        #[source]
        source: CallError,
    },
    /// An object is no JSON of its kind.
    #[error("failed to understand {}", kind.as_str())]
    Unreadable {
        /// Kind of the object.
        kind: Kind,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
}

impl WebhookConfigError {
    /// A request failed.
    pub(super) fn call(action: &'static str, kind: Kind, source: CallError) -> Self {
        Self::Call {
            action,
            kind,
            source,
        }
    }

    /// Whether somebody else wrote first: what they wrote is looked at in a moment.
    pub(super) fn is_conflict(&self) -> bool {
        matches!(self, Self::Call { source, .. } if source.is_conflict())
    }
}
