//! Why there is no real node, or it does not do what it should. Pure.

use std::io;
use std::path::PathBuf;

use super::containerd::RuntimeError;
use super::images::ImagesError;
use super::machine::MachineError;
use super::network::NetworkError;
use super::probe::ProbeError;
use super::support::Unsupported;
use crate::binaries::BinariesError;
use crate::control_plane::ControlPlaneError;
use crate::folders::FolderError;
use crate::kubeconfig::KubeconfigError;
use crate::manifests::ManifestError;
use crate::ports::PortError;
use crate::process::ProcessError;
use crate::progress::PATIENCE;

/// Why there is no real node.
#[derive(Debug, thiserror::Error)]
pub enum RealNodeError {
    /// Not on this machine.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// A binary could not be built.
    #[error(transparent)]
    Binaries(#[from] BinariesError),
    /// No folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// No port.
    #[error(transparent)]
    Port(#[from] PortError),
    /// No networks, or none that are shut in.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The control plane did not come up.
    #[error(transparent)]
    ControlPlane(#[from] ControlPlaneError),
    /// There is no way in.
    #[error("failed to open the way to the node's API server")]
    Door(#[source] io::Error),
    /// No machine.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// No container runtime, or it did not take an image.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// An image could not be written.
    #[error(transparent)]
    Images(#[from] ImagesError),
    /// A process ended.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// No client.
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    /// What makes the node work was refused.
    #[error(transparent)]
    Manifests(#[from] ManifestError),
    /// The API server could not be asked.
    #[error("failed to ask the API server about the node")]
    Ask(#[from] kube::Error),
    /// It could not be watched.
    #[error("failed to watch the node")]
    Watch(#[from] kube::runtime::wait::Error),
    /// Something was never ready.
    #[error("{what} within {} s; the logs are in {}", PATIENCE.as_secs(), folder.display())]
    NotReady {
        /// What did not happen.
        what: &'static str,
        /// The folder of the run.
        folder: PathBuf,
    },
    /// The program that stands in for workloads is not there.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// A thread that did something for us is gone.
    #[error("a thread that worked for the node is gone")]
    Background(#[from] io::Error),
}
