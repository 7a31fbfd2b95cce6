//! A client of the cluster that is asked about. Does I/O.

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::flags::Reach;
use crate::isolation::trouble::{Trouble, chain};

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
    let client = Client::try_from(config).map_err(|error| no_cluster(&error))?;
    match client.apiserver_version().await {
        Ok(_) => Ok(client),
        Err(error) => Err(Trouble::Unreachable(chain(&error))),
    }
}
