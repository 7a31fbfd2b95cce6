//! Who wrote a claim: the admission policy, the proof that it is in force, and what follows for claims
//! that only the operator may write. Each test edits what is cluster-wide and so has a cluster of its
//! own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on stops where it stands"
)]

mod foreign_webhook;
mod own_before_policy;
mod own_connections;
mod own_edits;
mod own_egress;
mod own_leaders;
mod own_mounts;
mod own_parts;
mod own_repair;
mod own_strangers;
mod own_upgrade;
mod own_versions;

use sandgate_e2e::Options;
use sandgate_e2e::pair::GRACE;

/// An installation that wants claims to have been made [`GRACE`] after policy and proof.
fn options() -> Options {
    let mut options = Options::default();
    let grace = format!("--claim-policy-grace={}s", GRACE.as_secs());
    options.installation.controller_arguments = vec![grace];
    options
}
