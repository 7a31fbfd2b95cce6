//! A real node: kubelet, container runtime, DNS, an enforcer, and packets.

mod leftovers;
mod own_crash;
mod own_disturbed;
mod own_two_nodes;
