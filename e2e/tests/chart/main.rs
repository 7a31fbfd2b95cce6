//! The chart, rendered and installed by the real Helm. Does I/O.
//!
//! Most tests only render. Modules called `own_…` install on a control plane of their own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failing test stops where it stands"
)]

mod egress;
mod generated;
mod network;
mod notes;
mod own_doctor;
mod own_life;
mod own_without_policy;
mod pods;
mod rendered;
mod values;
