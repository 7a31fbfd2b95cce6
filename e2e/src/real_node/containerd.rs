//! The container runtime: its configuration, and images from archives. Does I/O.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::cri;
use super::images::PAUSE;
use super::machine::{Machine, MachineError};
use super::support::PLUGINS;
use super::tools;
use crate::binaries::NodeBinaries;
use crate::folders::{self, FolderError};
use crate::process::{ProcessError, Program};
use crate::progress::PATIENCE;

/// What it is called among the parts of the machine.
pub(super) const PART: &str = "containerd";

/// Where it listens, on the machine.
pub(super) const SOCKET: &str = "/run/containerd/containerd.sock";

/// It is asked whether it serves this often: there is no event for that.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// Why there is no container runtime.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// A file could not be written.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// It did not start.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// It, or the machine, ended.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// It could not be asked.
    #[error("failed to ask containerd")]
    Ask(#[source] io::Error),
    /// It does not answer.
    #[error("containerd did not answer within {} s; the end of its log:\n{tail}", PATIENCE.as_secs())]
    Silent {
        /// The end of its log; the log itself goes with the run.
        tail: String,
    },
    /// It did not take an image.
    #[error("containerd did not take the image {}: {said}", archive.display())]
    Import {
        /// The image.
        archive: PathBuf,
        /// What was said.
        said: String,
    },
}

/// Writes its configuration into the folder of the run; how to run it. Pods get addresses of `pods`.
pub(super) fn program(
    binaries: &NodeBinaries,
    folder: &Path,
    pods: &str,
) -> Result<Program, FolderError> {
    let networks = folder.join("cni");
    folders::make(&networks)?;
    folders::write_private(&networks.join("10-pods.conflist"), &network(folder, pods))?;
    let file = folder.join("containerd.toml");
    folders::write_private(&file, &configuration(binaries, folder, &networks))?;
    Ok(Program::new(
        &binaries.containerd,
        [format!("--config={}", file.display())],
    ))
}

fn configuration(binaries: &NodeBinaries, folder: &Path, networks: &Path) -> String {
    let runc = tools::find("runc").unwrap_or_default();
    let plugins = tools::plugins(&PLUGINS).unwrap_or(Path::new("/usr/lib/cni"));
    let none = folder.join("no-plugins");
    let paths = [&runc, &binaries.shim, plugins, networks, &none];
    let [runc, shim, plugins, networks, none] = paths.map(Path::display);
    // An enforcer that answers too late is let go for good, and from then on learns of a pod's address only
    // after the pod has begun: on a busy machine pods had better wait.
    //
    // Without the right to lower it, runc dies at a pod's negative oom_score_adj. An AppArmor profile would
    // be loaded into the kernel of everybody, and stay.
    format!(
        "version = 3
[plugins.'io.containerd.cri.v1.images']
  snapshotter = 'overlayfs'
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = '{PAUSE}'
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = 'io.containerd.runc.v2'
    runtime_path = '{shim}'
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      BinaryName = '{runc}'
      SystemdCgroup = false
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ['{plugins}']
    conf_dir = '{networks}'
[plugins.'io.containerd.nri.v1.nri']
  disable = false
  plugin_path = '{none}'
  plugin_config_path = '{none}'
  plugin_request_timeout = '1m'
"
    )
}

/// One cable for each pod and no bridge: every packet between pods is routed, and so is judged.
fn network(folder: &Path, pods: &str) -> String {
    json!({
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [{
            "type": "ptp",
            "ipMasq": false,
            "ipam": {
                "type": "host-local",
                "dataDir": folder.join("addresses"),
                "ranges": [[{ "subnet": pods }]],
                "routes": [{ "dst": "0.0.0.0/0" }],
            },
        }],
    })
    .to_string()
}

/// Waits until it serves kubelets; an error at once if it ends.
pub(super) async fn answers(machine: &mut Machine) -> Result<(), RuntimeError> {
    let deadline = Instant::now() + PATIENCE;
    let mut turn = tokio::time::interval(ASK_EVERY);
    loop {
        turn.tick().await;
        machine.check()?;
        let connected = machine.room().run(|| UnixStream::connect(SOCKET));
        if let Ok(stream) = connected.map_err(RuntimeError::Ask)?
            && matches!(cri::serves(stream).await, Ok(true))
        {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let tail = machine.tail(PART);
            return Err(RuntimeError::Silent { tail });
        }
    }
}

/// Puts the images of `archive` where pods find them.
pub(super) async fn import(
    machine: &Machine,
    ctr: &Path,
    archive: &Path,
) -> Result<(), RuntimeError> {
    let mut command = Command::new(ctr);
    command
        .args(["--namespace=k8s.io", "images", "import", "--local"])
        .arg(archive)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = machine.room().spawn(command).map_err(RuntimeError::Ask)?;
    let output = tokio::task::spawn_blocking(move || child.wait_with_output())
        .await
        .map_err(io::Error::other)
        .and_then(|output| output)
        .map_err(RuntimeError::Ask)?;
    if output.status.success() {
        return Ok(());
    }
    Err(RuntimeError::Import {
        archive: archive.to_owned(),
        said: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}
