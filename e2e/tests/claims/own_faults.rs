//! A controller that is killed between any two of its requests and started again.

use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::ListParams;
use sandgate_e2e::{Cluster, Options, Outcome, OwnCluster, Stage};
use sandgate_shared::api::SandboxClaim;
use serde_json::{Value, json};

use crate::audit;
use crate::controllers::{self, Controller, Wanted};
use crate::manifests;
use crate::proxy::{Cut, Proxy};
use crate::scene::{Scene, uid};

/// How long a controller may take to be ready.
const SOON: Duration = Duration::from_secs(30);

/// The first controller's pod: under the same identity nobody has to wait for its Lease to run out.
const POD: &str = "sandgate-controller-0";

/// What a controller writes of the first claim of a namespace: that it is admitted, the baseline, the
/// claim's three objects, and that it is bound.
const WRITES: [&str; 8] = [
    "status",
    "events",
    "networkpolicies",
    "networkpolicies",
    "services",
    "deployments",
    "status",
    "events",
];

async fn controller(cluster: &OwnCluster, name: &str, server: &str) -> Outcome<Controller> {
    let wanted = Wanted {
        name,
        pod: POD,
        release: "sandgate",
        server,
    };
    controllers::start(cluster, &wanted).await
}

/// Makes the claim `plain` in a namespace of its own, through a proxy that cuts where told, and waits
/// for the cut or for the bind.
async fn begin(cluster: &OwnCluster, proxy: &Proxy, cut: Cut) -> Outcome<Scene> {
    let scene = Scene::on(cluster, "cut").await?;
    proxy.watch(scene.name(), cut);
    scene.claims("plain", Stage::Ready).await?;
    if cut == Cut::Never {
        scene.bound("plain").await?;
    } else {
        tokio::time::timeout(SOON, proxy.was_cut()).await?;
    }
    Ok(scene)
}

/// All that is left of the claim, without what differs between any two claims: names that the API
/// server gives, times, and hashes of them.
async fn end_state(scene: &Scene) -> Outcome<Value> {
    let claim: SandboxClaim = scene.api().get("plain").await?;
    let every = ListParams::default();
    let replica_sets = scene.api::<ReplicaSet>().list(&every).await?;
    let pods = scene.api::<Pod>().list(&every).await?;
    let policies = scene.api::<NetworkPolicy>().list(&every).await?;
    let services = scene.api::<Service>().list(&every).await?;
    let deployments = scene.api::<Deployment>().list(&every).await?;
    let mut state = json!({
        "status": claim.status,
        "policies": policies.items,
        "services": services.items,
        "deployments": deployments.items.iter().map(|it| json!([it.metadata, it.spec])).collect::<Vec<_>>(),
        "replica sets": replica_sets.items.len(),
        "pods": pods.items.iter().map(|it| &it.metadata.labels).collect::<Vec<_>>(),
    });
    forget(&mut state);
    let text = state.to_string().replace(&uid(&claim), "UID");
    Ok(serde_json::from_str(
        &text.replace(scene.name(), "NAMESPACE"),
    )?)
}

fn forget(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for gone in [
                "uid",
                "resourceVersion",
                "creationTimestamp",
                "managedFields",
                "clusterIP",
                "clusterIPs",
                "lastTransitionTime",
                "lastUsedAt",
                "digest",
                "templateHash",
                "pod-template-hash",
                "omnia.altairalabs.ai/intent-hash",
                // Its controller's.
                "deployment.kubernetes.io/revision",
            ] {
                fields.remove(gone);
            }
            fields.values_mut().for_each(forget);
        }
        Value::Array(items) => items.iter_mut().for_each(forget),
        _ => {}
    }
}

// Proves: O-001, O-037, C-001
#[tokio::test]
async fn a_controller_killed_between_any_two_requests_ends_where_an_undisturbed_one_does() -> Outcome
{
    let mut cluster = Cluster::own(Options::default()).await?;
    cluster
        .installation
        .controller
        .as_mut()
        .unwrap()
        .service
        .kill();
    let proxy = Proxy::start(&cluster).await?;
    let mut through = controller(&cluster, "proxied", &proxy.server).await?;
    let mut straight = controller(&cluster, "straight", cluster.control_plane.server()).await?;
    straight.service.kill();

    // A claim made and bound after another one: nothing of the earlier one is still to come.
    let others = Scene::on(&cluster, "others").await?;
    others
        .accepts(&manifests::class("plain", Stage::Ready))
        .await?;
    let later = async |name: &str| {
        let claim = manifests::claim(name, "plain");
        others.user().accepts(&claim).await?;
        others.bound(name).await.map(drop)
    };

    let undisturbed = begin(&cluster, &proxy, Cut::Never).await?;
    later("undisturbed").await?;
    let expected = end_state(&undisturbed).await?;
    let writes = proxy.writes();
    let kinds = writes.iter().map(|it| it.rsplit('/').next().unwrap());
    assert_eq!(kinds.collect::<Vec<_>>(), WRITES, "{writes:?}");

    for cut in (1..=WRITES.len()).flat_map(|turn| [Cut::Before(turn), Cut::After(turn)]) {
        through.service.start()?;
        let scene = begin(&cluster, &proxy, cut).await?;
        through.service.kill();
        straight.service.start()?;
        scene.bound("plain").await?;
        later(scene.name()).await?;
        straight.service.kill();
        assert_eq!(end_state(&scene).await?, expected, "{cut:?}");
    }
    let ours = audit::up_to_now(&undisturbed, audit::CONTROLLER).await?;
    audit::assert_nothing_was_forbidden(&ours);
    Ok(())
}
