//! The proxy on loopback: its own port, an allowlist that is a file, a DNS server that says what a test
//! wants said, and servers that stand for addresses of the internet.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failing test stops where it stands"
)]

mod bounds;
mod breaks;
mod client;
mod dialling;
mod dns;
mod drain;
mod origin;
mod proxy;
mod reloads;
mod requests;
mod resolving;
mod sni;
mod tunnels;
