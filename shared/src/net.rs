//! Names of hosts: one canonical form, what covers what, and whose domain it is; and the labels that
//! names in Kubernetes are made of. Pure.

pub mod domain;
pub mod host;
pub mod label;
