//! The claim controller.
//!
//! ```text
//!   watch ──claims──▶ queue ──▶ workers (of the leader) ──▶ claim: gather → plan → apply → report
//!     └─▶ index ───────────────────────────────────────────────┘ (reads)
//!   admission_queue: whose turn it is under a runtime's limits
//!   leader: the Lease            certificates: Secret, caBundle, files for the webhook
//!   provenance: is the admission policy in force, and since when
//!   webhook_config (of the leader): what the chart rendered, put right; foreign mutators told of
//!   health: /livez /readyz /metrics
//! ```
//!
//! Only [`claim`]'s `apply` writes a claim's objects, only its `report` writes status; what to do is
//! decided in [`claim::plan`], which can reach no client.

pub mod admission_queue;
pub mod api_server;
pub mod cause;
pub mod certificates;
pub mod claim;
pub mod event;
pub mod flags;
pub mod health;
pub mod identity;
pub mod key;
pub mod kind;
pub mod leader;
pub mod metrics;
pub mod provenance;
pub mod queue;
pub mod run;
pub mod watch;
pub mod webhook_config;
pub mod workers;
