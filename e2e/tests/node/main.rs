//! A real node: kubelet, container runtime, DNS, an enforcer, and packets.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on stops where it stands"
)]

mod doctor;
mod isolation;
mod leftovers;
mod life;
mod life_ends;
mod own_admission_load;
mod own_crash;
mod own_disturbed;
mod own_egress;
mod own_egress_clients;
mod own_life;
mod own_network_values;
mod own_two_nodes;
mod own_upgrade;
mod own_workspace;
mod replicas;
mod test_host;
mod workload;
