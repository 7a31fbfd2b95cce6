//! Clusters on which some of the layers judge and others are left out. Does I/O.

use sandgate_e2e::binaries::Version;
use sandgate_e2e::installation::{self, Layers};
use sandgate_e2e::{Cluster, Namespace, Options, Outcome, OwnCluster};
use sandgate_shared::corpus::{Case, Who};

use crate::corpus::{Desk, case, until};
use crate::writers::Writers;

/// A cluster with these layers, and no process of ours where none of them needs one.
pub async fn cluster_with(layers: Layers, version: Version) -> Outcome<OwnCluster> {
    let installation = installation::Options {
        layers,
        start: layers.webhook,
        ..installation::Options::default()
    };
    let mut options = Options {
        installation,
        ..Options::default()
    };
    options.control_plane.version = version;
    Box::pin(Cluster::own(options)).await
}

/// The same, and a namespace on it that all writers may write to.
pub async fn layers_alone(
    layers: Layers,
    version: Version,
) -> Outcome<(OwnCluster, Namespace, Writers)> {
    let cluster = cluster_with(layers, version).await?;
    let namespace = cluster.namespace("alone").await?;
    let writers = Writers::of(&namespace).await?;
    let plain = case("a plain scratch claim by anyone");
    let desk = Desk::new(&namespace, &writers);
    for who in [Who::User, Who::Operator, Who::OperatorWithoutGroups] {
        let plain = Case {
            who,
            ..plain.clone()
        };
        let ask = || desk.answer(0, &plain);
        until("a plain claim is admitted", ask, Option::is_none).await?;
    }
    Ok((cluster, namespace, writers))
}
