//! The egress proxy of a claim: CONNECT to the hosts of its Connections, at public addresses, on port
//! 443, and nothing else.
//!
//! ```text
//!  sandbox ──CONNECT──▶ accept ─▶ session ──bytes──▶ head ─▶ target ─▶ decide ◀─ allowlist ◀─ reload ◀─ file
//!                                   │                            pure, before DNS
//!                                   ├─ resolve ─▶ screen ─▶ dial (the addresses that passed, no other)
//!                                   └─ tunnel ─▶ carrier (splice through pipes, or a buffer)
//! ```
//!
//! `head`, `target`, `decide`, `allowlist`, `pins`, `screen`, `client_hello` and `refusal` are pure; the
//! rest does I/O. TLS is not terminated, so no credential and no request inside is ever seen.

mod accept;
mod admin;
pub mod allowlist;
mod carrier;
pub mod client_hello;
pub mod decide;
pub mod dial;
pub mod head;
pub mod limits;
pub mod log;
pub mod metrics;
pub mod options;
pub mod pins;
pub mod policy;
pub mod refusal;
pub mod reload;
pub mod resolve;
pub mod run;
pub mod screen;
mod session;
pub mod target;
mod tunnel;
pub mod tunnels;
mod watch;
