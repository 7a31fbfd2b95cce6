//! What somebody might send to break the webhook, each on creation, on update, on the status and as a
//! dry run: it decides, echoes the uid, does not panic, and takes no more time or memory than it may.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    clippy::too_many_lines,
    reason = "a failing test stops where it stands, and tables are long and pass their rows by value"
)]

mod desk;
mod objects;
mod tables;

mod bulk;
mod bytes;
mod claim_paths;
mod claim_values;
mod class_ports;
mod class_values;
mod components;
mod connection_values;
mod envelopes;
mod identities;
mod immutability;
mod leaving;
mod mutation;
mod ratchet;
mod registration;
mod shapes;
