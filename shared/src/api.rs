//! The custom resources, one kind a file. The CRDs are generated from these types and from nothing
//! else (T-001); what the types cannot say is added by the rule table.
//!
//! A list that the rules walk has `maxItems`, a string they read has `maxLength`: without bounds the
//! API server estimates a rule's cost as unaffordable and refuses the whole CRD.

#![allow(
    clippy::duplicated_attributes,
    reason = "each printcolumn of kube's derive has its own type_; the lint reads them as one"
)]

pub mod connection;
pub mod outside;
pub(crate) mod pattern;
pub mod sandbox_claim;
pub mod sandbox_class;
mod schema;

pub use connection::{Connection, ConnectionSpec};
pub use sandbox_claim::{
    ClaimPhase, ClassKind, SandboxClaim, SandboxClaimSpec, SandboxClaimStatus,
};
pub use sandbox_class::{
    ClusterSandboxClass, ClusterSandboxClassSpec, SandboxClass, SandboxClassSpec,
};
