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

/// A DNS-1123 label: lower case letters, digits and `-`, at most 63 characters.
pub const DNS_LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/// A DNS-1123 subdomain: labels joined by dots.
pub const DNS_SUBDOMAIN: &str =
    "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/// A label value that is not empty (T-010, Q9).
pub const LABEL_VALUE: &str = "^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$";
