//! What an administrator asks of a cluster with Sandgate on it.
//!
//! [`isolation`] measures who reaches whom. The binary `sandgate` is [`flags`] around it; whoever
//! owns a node calls [`isolation::run`] with power over it ([`isolation::disturb::Disturb`]).

pub mod canvas;
pub mod cluster;
pub mod flags;
pub mod isolation;
pub mod output;
pub mod stops;
