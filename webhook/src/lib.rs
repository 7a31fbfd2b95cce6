//! The admission webhook: `AdmissionReview` in over HTTPS, verdict of the rule table out.
//!
//! ```text
//!  API server ══TLS══▶ server (accept, handshake, pace, drain) ─▶ handler (limits, deadline, panics)
//!                        ▲ resolver                                  │ bytes
//!                        │                                           ▼
//!   TLS directory ─▶ reload ─▶ readiness                          review ─▶ sandgate_shared::rules
//!  (written by the       │         │                                 │ answer
//!   controller)          ▼         ▼                                 ▼
//!                     metrics ◀─ health (/livez /readyz /metrics)  bytes
//! ```
//!
//! It holds no cluster credential and calls nobody: everything it says follows from the review, its
//! flags and the files of the TLS directory. All judgement is `sandgate_shared::rules`; `review` is
//! pure and `handler` is where bytes meet it.

pub mod handler;
pub mod health;
pub mod metrics;
pub mod options;
pub mod reload;
pub mod review;
pub mod run;
pub mod server;
