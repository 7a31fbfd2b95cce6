//! How a round can fail. Pure.

use sandgate_certs::directory::DirectoryError;
use sandgate_certs::issue::IssueError;

use crate::api_server::{CallError, Place};
use crate::kind::Kind;

/// A round failed; it is repeated.
#[derive(Debug, thiserror::Error)]
pub enum CertificatesError {
    /// A request failed.
    #[error("failed to {action} {} {name}", kind.as_str())]
    Call {
        /// What was tried.
        action: &'static str,
        /// On what kind.
        kind: Kind,
        /// On which object.
        name: String,
        /// Why it failed.
        #[source]
        source: CallError,
    },
    /// An object is not what its kind should be.
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
    /// A certificate could not be made.
    #[error("failed to make certificates")]
    Issue(#[source] IssueError),
    /// The TLS directory could not be written.
    #[error("failed to hand the certificates to the webhook")]
    Directory(#[source] DirectoryError),
    /// The task that writes files was lost.
    #[error("failed to wait for the files to be written")]
    Task(#[source] tokio::task::JoinError),
}

impl CertificatesError {
    /// Whether another replica wrote first.
    pub(super) fn is_conflict(&self) -> bool {
        matches!(self, Self::Call { source, .. } if source.is_conflict() || source.is_already_exists())
    }
}

/// A request failed.
pub(super) fn failed(
    action: &'static str,
    place: Place<'_>,
    source: CallError,
) -> CertificatesError {
    CertificatesError::Call {
        action,
        kind: place.kind,
        name: place.name.to_owned(),
        source,
    }
}

/// An object could not be read.
pub(super) fn unreadable(place: Place<'_>, source: serde_json::Error) -> CertificatesError {
    CertificatesError::Unreadable {
        kind: place.kind,
        name: place.name.to_owned(),
        source,
    }
}
