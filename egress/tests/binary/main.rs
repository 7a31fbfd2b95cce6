//! The binary itself: how it starts, what it says, how it ends, and how much it holds.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failing test stops where it stands"
)]

mod churn;
mod log;
mod process;
mod room;
mod start;
