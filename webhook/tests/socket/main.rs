//! The webhook through its real sockets, without an API server.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failing test stops where it stands"
)]

mod client;
mod webhook;

mod bodies;
mod certificates;
mod contents;
mod ending;
mod envelopes;
mod flags;
mod load;
mod transport;
