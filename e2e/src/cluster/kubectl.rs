//! The real `kubectl`, for what people will see. Runs a process.

use std::process::Stdio;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::Cluster;
use crate::failure::Outcome;

/// What `kubectl` printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Whether it ended with 0.
    pub success: bool,
}

impl Cluster {
    /// How the pinned `kubectl` is run as the administrator, in the folder of the run: a relative path is taken
    /// from there. It ends when nobody waits for it any more.
    pub fn kubectl_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.access.kubectl);
        command
            .arg(format!("--kubeconfig={}", self.access.kubeconfig.display()))
            .arg(format!(
                "--cache-dir={}",
                self.access.folder.join("kubectl-cache").display()
            ))
            .args(arguments)
            .current_dir(&self.access.folder)
            // What the user of this machine set for their own kubectl changes nothing here.
            .env_remove("KUBECONFIG")
            .env("KUBERC", "off")
            .kill_on_drop(true);
        command
    }

    /// Runs it with `input` (if any) on standard input.
    pub async fn kubectl(&self, arguments: &[&str], input: Option<&str>) -> Outcome<Said> {
        let mut child = self
            .kubectl_command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin
                .write_all(input.unwrap_or_default().as_bytes())
                .await?;
        }
        let output = child.wait_with_output().await?;
        Ok(Said {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            success: output.status.success(),
        })
    }
}
