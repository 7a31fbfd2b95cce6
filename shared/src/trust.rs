//! Are policy and binding in force as this version renders them, since when, and what does that say
//! about who wrote a claim (P-006 to P-013, P-029, P-030)? Pure: whoever can read a cluster asks.
//!
//! ```text
//!   live policy, binding ──Expected::examine──▶ Stood | Distrust ─┐
//!   answers to dry runs ──Answer::of──▶ evidence ─────────────────┴─▶ Trust ──about(claim)──▶ Verdict
//! ```
//!
//! Every moment here is one that the API server wrote. Nobody's own clock decides.

mod answer;
#[cfg(feature = "corpus")]
pub mod edits;
mod expected;
mod verdict;

pub use answer::{Answer, Call, probe_claim};
pub use expected::{Distrust, Expected, Stood};
pub use verdict::{Trust, Verdict};
