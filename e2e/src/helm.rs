//! The real Helm and the chart in `deploy/chart`. Runs a process.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::binaries::{self, BinariesError};
use crate::folders::{FolderError, RunFolder};
use crate::manifests::{self, ManifestError};

/// The chart, seen from this crate.
const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/chart");

/// Why Helm did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum HelmError {
    /// There is no Helm.
    #[error(transparent)]
    Binary(#[from] BinariesError),
    /// It has no folder to work in.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// It could not be run or heard.
    #[error("failed to run helm")]
    Run(#[source] io::Error),
    /// It refused or failed.
    #[error("helm {command} failed; it said: {said}")]
    Failed {
        /// What it was asked to do.
        command: String,
        /// Its own words.
        said: String,
    },
    /// What it rendered are no manifests.
    #[error("failed to read what helm rendered")]
    Rendered(#[source] ManifestError),
}

/// Helm, with a home of its own: it reads and writes nothing of whoever runs it.
#[derive(Debug)]
pub struct Helm {
    binary: PathBuf,
    home: RunFolder,
}

impl Helm {
    /// Finds Helm or builds it, which is told on standard error. Blocks: minutes the first time.
    pub fn ensure() -> Result<Self, HelmError> {
        Ok(Self {
            binary: binaries::ensure_helm()?,
            home: RunFolder::create()?,
        })
    }

    /// The folder of the chart.
    pub fn chart() -> &'static Path {
        Path::new(CHART)
    }

    /// Installs the chart as `release` into `namespace`, which is made. With `wait` returns only once
    /// everything is ready, and fails if that takes longer. Returns what Helm printed, the chart's notes
    /// among it.
    pub async fn install(
        &self,
        kubeconfig: &Path,
        release: &str,
        namespace: &str,
        values: &Value,
        wait: Option<Duration>,
    ) -> Result<String, HelmError> {
        let mut arguments = vec!["install", release, CHART, "--create-namespace"];
        let place = at(kubeconfig, namespace);
        let patience = patience(wait);
        arguments.extend(place.iter().chain(&patience).map(String::as_str));
        self.run(&arguments, Some(values)).await
    }

    /// Upgrades `release` to the chart as it is now, with these values and no others.
    pub async fn upgrade(
        &self,
        kubeconfig: &Path,
        release: &str,
        namespace: &str,
        values: &Value,
        wait: Option<Duration>,
    ) -> Result<String, HelmError> {
        let mut arguments = vec!["upgrade", release, CHART];
        let place = at(kubeconfig, namespace);
        let patience = patience(wait);
        arguments.extend(place.iter().chain(&patience).map(String::as_str));
        self.run(&arguments, Some(values)).await
    }

    /// Removes `release`, but for what the chart says is kept.
    pub async fn uninstall(
        &self,
        kubeconfig: &Path,
        release: &str,
        namespace: &str,
    ) -> Result<String, HelmError> {
        let mut arguments = vec!["uninstall", release];
        let place = at(kubeconfig, namespace);
        arguments.extend(place.iter().map(String::as_str));
        self.run(&arguments, None).await
    }

    /// The objects of a release, without asking any API server. `more` are further arguments, such as
    /// `--api-versions`.
    pub async fn template(
        &self,
        release: &str,
        namespace: &str,
        values: &Value,
        more: &[&str],
    ) -> Result<Vec<Value>, HelmError> {
        let mut arguments = vec!["template", release, CHART, "--namespace", namespace];
        arguments.extend(more);
        let text = self.run(&arguments, Some(values)).await?;
        manifests::parse(&text).map_err(HelmError::Rendered)
    }

    /// Runs Helm with any arguments and, if there are `values`, these in place of a values file.
    /// Returns what it printed.
    pub async fn run(
        &self,
        arguments: &[&str],
        values: Option<&Value>,
    ) -> Result<String, HelmError> {
        let mut command = Command::new(&self.binary);
        command.args(arguments);
        if values.is_some() {
            command.args(["--values", "-"]);
        }
        // Of the environment only what finds programs: a user's HELM_… and KUBECONFIG are not ours.
        command.env_clear();
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        let home = self.home.path();
        command.env("HOME", home);
        for (variable, folder) in [
            ("HELM_CACHE_HOME", "helm-cache"),
            ("HELM_CONFIG_HOME", "helm-config"),
            ("HELM_DATA_HOME", "helm-data"),
        ] {
            command.env(variable, home.join(folder));
        }
        let mut child = command
            .current_dir(home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(HelmError::Run)?;
        if let (Some(mut stdin), Some(values)) = (child.stdin.take(), values) {
            // JSON is YAML. A Helm that refuses its arguments does not listen: its words say why.
            drop(stdin.write_all(values.to_string().as_bytes()).await);
        }
        let output = child.wait_with_output().await.map_err(HelmError::Run)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(HelmError::Failed {
            command: arguments.first().copied().unwrap_or_default().to_owned(),
            said: said.trim().trim_start_matches("Error: ").to_owned(),
        })
    }
}

fn at(kubeconfig: &Path, namespace: &str) -> [String; 2] {
    [
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--namespace={namespace}"),
    ]
}

fn patience(wait: Option<Duration>) -> Vec<String> {
    wait.map_or_else(Vec::new, |limit| {
        vec![
            "--wait".to_owned(),
            format!("--timeout={}s", limit.as_secs().max(1)),
        ]
    })
}
