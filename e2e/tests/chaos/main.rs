//! Two controllers under faults and blows: what one seed does is told in `sandgate_e2e::chaos`.
//! `cargo xtask chaos --seed N` plays one again.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on stops where it stands"
)]

mod own_seeds;
