//! What an administrator asks of a cluster with Sandgate on it.
//!
//! [`isolation`] measures who reaches whom, [`doctor`] looks who could forge a claim. The binary
//! `sandgate` is [`flags`] around both; whoever owns a node calls [`isolation::run`] with power over it
//! ([`isolation::disturb::Disturb`]).

pub mod canvas;
pub mod cluster;
pub mod doctor;
pub mod flags;
pub mod isolation;
pub mod output;
pub mod stops;
