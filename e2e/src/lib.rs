//! Starts a real control plane and Sandgate's binaries as their own ServiceAccounts, and lets a test
//! read as sentences: `accepts`, `rejects`, `becomes`.
//!
//! From the bottom up: [`binaries`] builds what is missing, [`process`] keeps children from
//! outliving us, [`control_plane`] starts etcd, API server, controllers, scheduler and a
//! [`fake_node`]; [`installation`] puts Sandgate on it; [`cluster`] and [`namespace`] are what a test
//! touches.

pub mod audit;
mod background;
pub mod binaries;
pub mod chaos;
pub mod clients;
pub mod cluster;
pub mod control_plane;
pub mod controllers;
pub mod debian;
pub mod failure;
pub mod fake_node;
pub mod fault_proxy;
pub mod folders;
pub mod helm;
pub mod identity;
pub mod installation;
pub mod kubeconfig;
pub mod manifests;
pub mod namespace;
pub mod node_cluster;
pub mod oci;
pub mod own_binaries;
pub mod pair;
pub mod pki;
pub mod ports;
pub mod process;
pub mod progress;
pub mod real_node;
pub mod rights;
pub mod room;
pub mod scene;
pub mod service;

pub use cluster::{Cluster, Options, OwnCluster};
pub use failure::{Failure, Outcome};
pub use fake_node::Stage;
pub use identity::Identity;
pub use namespace::{Namespace, Writer};
pub use node_cluster::NodeCluster;
