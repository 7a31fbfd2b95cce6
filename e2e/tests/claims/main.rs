//! The claim controller against a real API server, scheduler and garbage collector, as its own
//! ServiceAccount. Most tests share one cluster and have a namespace each; modules called `own_…`
//! start a cluster of their own, because they kill processes or edit what is cluster-wide.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on stops where it stands"
)]

mod bad_input;
mod baseline;
mod building;
mod conflicts;
mod deletion;
mod egress;
mod finished;
mod healing;
mod life;
mod own_bad_input;
mod own_certificates;
mod own_configurations;
mod own_edited_class;
mod own_faults;
mod own_idle;
mod own_leaders;
mod own_network_values;
mod own_queue;
mod own_rbac;
mod own_webhook_down;
mod own_without_policy;
mod previous;
mod proxy;
mod queue;
mod rbac;
mod readiness;
mod reasons;
mod refusals;
mod storage;
mod widened;

use sandgate_e2e::scene::{self, manifests};
use sandgate_e2e::{audit, controllers};
