//! What is to be told of a claim: its status and Events. Data.

use std::time::Duration;

use sandgate_shared::api::SandboxClaimStatus;

/// What to report on a claim.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatusDecision {
    /// The whole status to stand; `None` when the present one says it already. Written with
    /// [`status_patch`].
    pub status: Option<SandboxClaimStatus>,
    /// Events to publish, once each, after the status is written.
    pub events: Vec<EventDraft>,
    /// When to look again though nothing may have happened; `None` leaves it to the watches.
    pub requeue: Option<Duration>,
}

/// An Event on the claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventDraft {
    /// `Warning` rather than `Normal`.
    pub warning: bool,
    /// One of `sandgate_shared::reason`.
    pub reason: &'static str,
    /// What the controller was doing, such as `Create`.
    pub action: &'static str,
    /// At most 1,000 bytes.
    pub note: String,
}
