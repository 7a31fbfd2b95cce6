//! A node without a machine: kwok plays the kubelet, and what happens to a pod is chosen by a label
//! or by the image's name. Does I/O.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;

use crate::control_plane;
use crate::folders::FolderError;
use crate::process::Program;

/// The name of the node every fake pod runs on.
pub const NODE: &str = "fake-node";

/// Label of a pod that says what happens to it; changing it on a running pod changes its fate.
pub const STAGE_LABEL: &str = "sandgate.dev/stage";

/// Why there is no fake node.
#[derive(Debug, thiserror::Error)]
pub enum FakeNodeError {
    /// The stage files could not be read.
    #[error("failed to read the stages of the fake node")]
    Stages(#[from] FolderError),
    /// The node could not be registered.
    #[error("failed to register the fake node")]
    Register(#[source] kube::Error),
    /// Nobody made the node ready.
    #[error("the fake node did not become ready: kwok does not answer")]
    NotReady,
    /// It could not be watched.
    #[error("failed to watch the fake node")]
    Watch(#[from] kube::runtime::wait::Error),
}

/// What happens to a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Ready at once; the default.
    Ready,
    /// Runs at once, ready three seconds later.
    Late,
    /// Ready, and a second later ready no more. Relabelled `Ready`, it recovers at once.
    LostReadiness,
    /// The image does not pull.
    ImagePullFailure,
    /// The container ends with code 1 again and again.
    CrashLoop,
    /// The container is killed for its memory, again and again.
    OutOfMemory,
    /// The container cannot be made: its configuration names something missing.
    ConfigError,
    /// Runs and is never ready.
    NeverReady,
    /// Ready at once; deleted, it stays terminating until it is relabelled.
    Lingering,
    /// Ready at once, and a second later its node evicts it for want of memory: it has finished.
    Evicted,
}

impl Stage {
    /// Every stage.
    pub const ALL: [Self; 10] = [
        Self::Ready,
        Self::Late,
        Self::LostReadiness,
        Self::ImagePullFailure,
        Self::CrashLoop,
        Self::OutOfMemory,
        Self::ConfigError,
        Self::NeverReady,
        Self::Lingering,
        Self::Evicted,
    ];

    /// The value of [`STAGE_LABEL`].
    pub fn label(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Late => "late",
            Self::LostReadiness => "lost-readiness",
            Self::ImagePullFailure => "image-pull-failure",
            Self::CrashLoop => "crash-loop",
            Self::OutOfMemory => "out-of-memory",
            Self::ConfigError => "config-error",
            Self::NeverReady => "never-ready",
            Self::Lingering => "lingering",
            Self::Evicted => "evicted",
        }
    }

    /// An image whose name chooses this stage, for pods whose labels somebody else writes. The label
    /// wins where both are there.
    pub fn image(self) -> String {
        format!("sandgate.dev/stage/{}:1", self.label())
    }
}

/// How to run kwok with every stage file of ours.
pub fn program(kwok: &Path, kubeconfig: &Path) -> Result<Program, FakeNodeError> {
    let mut arguments = vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        "--manage-all-nodes=true".to_owned(),
        "--node-ip=127.0.0.1".to_owned(),
        "--node-lease-duration-seconds=40".to_owned(),
        // Room for 65,000 pods.
        "--cidr=10.244.0.0/16".to_owned(),
    ];
    arguments.extend(
        stage_files()?
            .iter()
            .map(|file| format!("--config={}", file.display())),
    );
    Ok(Program::new(kwok, arguments))
}

fn stage_files() -> Result<Vec<PathBuf>, FolderError> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fake-node/stages");
    let entries = fs::read_dir(&folder).map_err(|source| FolderError::at(&folder, source))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "yaml"))
        .collect();
    files.sort();
    Ok(files)
}

/// Registers the node and waits until kwok has made it ready.
pub async fn join(client: Client) -> Result<(), FakeNodeError> {
    let nodes: Api<Node> = Api::all(client);
    let node = serde_json::from_value(json!({
        "metadata": {
            "name": NODE,
            "labels": { "kubernetes.io/hostname": NODE, "kubernetes.io/os": "linux" },
        },
    }))
    .unwrap_or_default();
    match nodes.create(&PostParams::default(), &node).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.is_already_exists() => {}
        Err(error) => return Err(FakeNodeError::Register(error)),
    }
    let ready = kube::runtime::wait::await_condition(nodes, NODE, control_plane::is_ready);
    match tokio::time::timeout(Duration::from_mins(1), ready).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(FakeNodeError::NotReady),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_is_named_in_a_stage_file() {
        let files = stage_files().unwrap();
        let text: String = files
            .iter()
            .map(|file| fs::read_to_string(file).unwrap())
            .collect();
        for stage in Stage::ALL {
            assert!(
                text.contains(&format!("- {}\n", stage.label())),
                "{stage:?} has no stage file"
            );
        }
    }
}
