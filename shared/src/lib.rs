//! The vocabulary and the decisions of Sandgate. Pure: no tokio, no kube client, no clock.
//!
//! ```text
//!   api ──schema──▶ render::crds ◀──rows── rules ──rows──▶ render::admission_policy
//!                        │                   │
//!                        └──── deploy/ ◀─────┴──▶ Rulebook::judge (the webhook)
//! ```
//!
//! `trust` says whether policy and binding are in force as rendered, and since when; what that means for
//! a claim.
//!
//! `template` runs the Go templates of Connections and classes; `checks` says what bound Connections place
//! in a sandbox, or why they cannot be.
//!
//! `mounts` reads mount roles, and says which directory a claim mounts.
//!
//! `duration` reads durations as Go writes them.
//!
//! `names` and `reason` hold every label, object name and reason string once; `api` holds one custom
//! resource a file; `rules` is the one table that the CRDs, the policy and the webhook come from.

pub mod api;
pub mod cause;
pub mod checks;
pub mod concealed;
#[cfg(feature = "corpus")]
pub mod corpus;
pub mod duration;
pub mod mounts;
pub mod names;
pub mod net;
pub mod quantity;
pub mod reason;
pub mod render;
pub mod rules;
pub mod template;
pub mod trust;
