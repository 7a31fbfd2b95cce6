//! Names of hosts: one canonical form, what covers what, and whose domain it is; the labels that names
//! in Kubernetes are made of; and which addresses are public. Pure.

pub mod address;
pub mod domain;
pub mod host;
pub mod label;
pub mod nat64;
