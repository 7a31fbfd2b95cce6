//! A client of the cluster that is asked about. Does I/O.

use std::time::Duration;

use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tower::timeout::TimeoutLayer;

use crate::flags::Reach;
use crate::isolation::trouble::{Trouble, chain};

/// How long an answer may take to begin; how long it lasts, as logs and watches do, is up to whoever
/// reads it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Reaches the cluster and makes sure that it answers.
pub async fn reach(reach: &Reach) -> Result<Client, Trouble> {
    let no_cluster = |error: &dyn std::error::Error| Trouble::NoCluster(chain(error));
    let options = KubeConfigOptions {
        context: reach.context.clone(),
        ..KubeConfigOptions::default()
    };
    let config = match &reach.kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path).map_err(|error| no_cluster(&error))?;
            Config::from_custom_kubeconfig(file, &options).await
        }
        None => Config::from_kubeconfig(&options).await,
    };
    let mut config = config.map_err(|error| no_cluster(&error))?;
    // Logs are followed for minutes in which nothing is said.
    config.read_timeout = None;
    let client = bounded(config).map_err(|error| no_cluster(&error))?;
    match client.apiserver_version().await {
        Ok(_) => Ok(client),
        Err(error) => Err(Trouble::Unreachable(chain(&error))),
    }
}

/// Whoever accepts a connection and says nothing is not waited for without end.
fn bounded(config: Config) -> Result<Client, kube::Error> {
    let client = ClientBuilder::try_from(config)?;
    Ok(client.with_layer(&TimeoutLayer::new(PATIENCE)).build())
}
