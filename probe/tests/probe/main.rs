//! The real binary on the loopback interface.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failing test stops where it stands"
)]

mod running;

mod dialling;
mod getting;
mod lasting;
mod serving;
