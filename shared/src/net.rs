//! Names of hosts: one canonical form, what covers what, and whose domain it is. Pure.

pub mod domain;
pub mod host;
