//! Kubeconfig files, and clients made from them. Does I/O.

use std::path::Path;
use std::sync::Once;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};

use crate::folders::{self, FolderError};
use crate::pki::Pair;

/// Why a client could not be made.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigError {
    /// The file could not be written.
    #[error("failed to write a kubeconfig")]
    Write(#[from] FolderError),
    /// The file could not be understood.
    #[error("failed to read a kubeconfig")]
    Read(#[from] kube::config::KubeconfigError),
    /// The client could not be built.
    #[error("failed to build a client")]
    Client(#[from] kube::Error),
}

/// How the bearer of a kubeconfig proves who it is.
pub enum Credential<'a> {
    /// A client certificate, embedded.
    Certificate(&'a Pair),
    /// A bearer token in a file that is read again and again.
    TokenFile(&'a Path),
}

/// Writes a kubeconfig for `server`, whose certificate `authority` (PEM) signed.
pub fn write(
    path: &Path,
    server: &str,
    authority: &str,
    credential: &Credential<'_>,
) -> Result<(), KubeconfigError> {
    let user = match credential {
        Credential::Certificate(pair) => json!({
            "client-certificate-data": base64(&pair.certificate),
            "client-key-data": base64(&pair.key),
        }),
        Credential::TokenFile(file) => json!({ "tokenFile": file }),
    };
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "sandgate",
        "clusters": [{ "name": "sandgate", "cluster": {
            "server": server,
            "certificate-authority-data": base64(authority),
        }}],
        "users": [{ "name": "sandgate", "user": user }],
        "contexts": [{ "name": "sandgate", "context": { "cluster": "sandgate", "user": "sandgate" } }],
    });
    // JSON is YAML, and every reader of kubeconfigs takes it.
    Ok(folders::write_private(path, &pretty(&config))?)
}

/// The configuration in the file at `path`.
pub async fn config(path: &Path) -> Result<Config, KubeconfigError> {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // An error means that one is installed already, which is as good.
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    });
    let kubeconfig = Kubeconfig::read_from(path)?;
    Ok(Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?)
}

/// A client as whoever the file at `path` says.
pub async fn client(path: &Path) -> Result<Client, KubeconfigError> {
    Ok(Client::try_from(config(path).await?)?)
}

fn pretty(value: &Value) -> String {
    format!("{value:#}")
}

fn base64(text: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(text)
}
