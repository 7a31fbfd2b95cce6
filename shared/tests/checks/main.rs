//! The checks of Connections: every reason for every audience, their order, what is placed, what is
//! left of a bound claim, and that no value is ever told.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failing test stops where it stands"
)]
#![allow(
    clippy::needless_pass_by_value,
    reason = "a helper that takes what json! makes reads best so"
)]

mod bound;
mod placed;
mod reasons;
mod scene;
mod silence;
