//! Admission through a real API server: what each layer refuses and with which words, that schemas
//! keep every field, and that what is admitted can be rendered. Does I/O.
//!
//! Modules called `own_…` start a control plane of their own, the others share one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failing test stops where it stands"
)]

mod corpus;
mod denials;
mod foreign_webhook;
mod generated;
mod layers;
mod own_parity;
mod own_random_parity;
mod own_ratcheting;
mod own_round_trip;
mod own_second_mutator;
mod own_switched_off;
mod own_taken_away;
mod parity;
mod references;
mod rendering_accepted;
mod schema;
mod warnings;
mod writers;
