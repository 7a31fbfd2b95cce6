//! Two controllers at once: one that stands by and takes over, and two that both work.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::jiff::SignedDuration;
use kube::Api;
use kube::api::ListParams;
use kube::runtime::wait::await_condition;
use sandgate_e2e::namespace::DEADLINE;
use sandgate_e2e::{Cluster, Options, Outcome, Stage, manifests as applied};
use sandgate_shared::api::SandboxClaim;
use sandgate_shared::render::{self, Installation as Names};
use serde_json::{Value, json};

use crate::audit::{self, Request};
use crate::controllers::{self, Wanted};
use crate::manifests;
use crate::scene::{Scene, condition};

/// How long a silent leader keeps the Lease.
const LEASE: Duration = Duration::from_secs(4);

/// Longest that whoever stands by may need to hear of something and to take the Lease.
const TAKING: Duration = Duration::from_secs(1);

const LEASE_NAME: &str = "sandgate-controller";

async fn lease_of(cluster: &Cluster) -> Outcome<LeaseSpec> {
    let leases: Api<Lease> = Api::namespaced(cluster.client(), &Names::default().namespace);
    Ok(leases.get(LEASE_NAME).await?.spec.unwrap_or_default())
}

/// resourceVersion of every object a controller writes in the namespace.
async fn versions(scene: &Scene) -> Outcome<BTreeMap<String, String>> {
    let every = ListParams::default();
    let claims = serde_json::to_value(scene.api::<SandboxClaim>().list(&every).await?)?;
    let policies = serde_json::to_value(scene.api::<NetworkPolicy>().list(&every).await?)?;
    let services = serde_json::to_value(scene.api::<Service>().list(&every).await?)?;
    let deployments = serde_json::to_value(scene.api::<Deployment>().list(&every).await?)?;
    let mut versions = BTreeMap::new();
    for (kind, list) in [
        ("claim", claims),
        ("policy", policies),
        ("service", services),
        ("deployment", deployments),
    ] {
        for object in list["items"].as_array().unwrap() {
            let metadata = |field: &str| object["metadata"][field].as_str().unwrap().to_owned();
            let name = format!("{kind} {}", metadata("name"));
            versions.insert(name, metadata("resourceVersion"));
        }
    }
    Ok(versions)
}

/// Which controllers asked for something in the namespace.
async fn askers(scene: &Scene) -> Outcome<BTreeSet<String>> {
    let asked = audit::of_controller(scene).await?;
    Ok(asked.iter().map(|it| it.pod().to_owned()).collect())
}

fn one(pod: &str) -> BTreeSet<String> {
    BTreeSet::from([pod.to_owned()])
}

// Proves: C-001
#[tokio::test]
async fn a_controller_that_stands_by_takes_over_from_a_killed_one_and_touches_nothing_that_stands()
-> Outcome {
    let mut options = Options::default();
    let lease = format!("--lease-duration={}s", LEASE.as_secs());
    options.installation.controller_arguments = vec![lease];
    let mut cluster = Cluster::own(options).await?;
    let (first, second) = ("sandgate-controller-0", "sandgate-controller-1");
    let mut standby = cluster.second_controller().await?;
    standby.service.answers("/readyz", DEADLINE).await?;

    // While the first leads, the second does nothing.
    let before = Scene::on(&cluster, "before").await?;
    before.claims("plain", Stage::Ready).await?;
    before.claims("stuck", Stage::CrashLoop).await?;
    before.bound("plain").await?;
    before.pending("stuck", "CrashLoopBackOff").await?;
    // The Deployment is its controller's, too: its status has its last word before we look.
    before
        .becomes(
            "plain-sandbox",
            "is available",
            |deployment: &Deployment| {
                deployment
                    .status
                    .as_ref()
                    .is_some_and(|it| it.available_replicas == Some(1))
            },
        )
        .await?;
    assert_eq!(askers(&before).await?, one(first));
    let stood = versions(&before).await?;

    let leader = &mut cluster.installation.controller.as_mut().unwrap().service;
    leader.kill();
    let began = Instant::now();
    let left = lease_of(&cluster).await?;
    assert_eq!(left.holder_identity.as_deref(), Some(first));
    let after = Scene::on(&cluster, "after").await?;
    after.claims("plain", Stage::Ready).await?;
    after.bound("plain").await?;
    assert!(began.elapsed() < LEASE * 2, "took {:?}", began.elapsed());
    assert_eq!(askers(&after).await?, one(second));
    // Both tell the time by the clock of this machine.
    let taken = lease_of(&cluster).await?.acquire_time.unwrap().0;
    let silent = taken.duration_since(left.renew_time.unwrap().0);
    let due = SignedDuration::try_from(LEASE)?;
    let late = SignedDuration::try_from(TAKING)?;
    assert!(
        (due..=due + late).contains(&silent),
        "the Lease was taken {silent:?} after its last renewal, not {due:?} or up to {late:?} later"
    );
    // It has looked at what stood before, since that came first, and had nothing to write.
    assert_eq!(versions(&before).await?, stood);
    assert_eq!(askers(&before).await?, one(first));

    // The first comes back and stands by; the second says goodbye, and nobody has to wait.
    let leader = &mut cluster.installation.controller.as_mut().unwrap().service;
    leader.start()?;
    leader.answers("/readyz", DEADLINE).await?;
    standby.service.stop()?;
    let began = Instant::now();
    let again = Scene::on(&cluster, "again").await?;
    again.claims("plain", Stage::Ready).await?;
    again.bound("plain").await?;
    assert!(began.elapsed() < LEASE, "took {:?}", began.elapsed());
    assert_eq!(askers(&again).await?, one(first));
    assert_eq!(versions(&before).await?, stood);
    assert_eq!(askers(&before).await?, one(first));
    let ours = audit::up_to_now(&again, audit::CONTROLLER).await?;
    audit::assert_nothing_was_forbidden(&ours);
    Ok(())
}

// Proves: C-001
#[tokio::test]
async fn a_leader_that_is_told_to_end_is_succeeded_long_before_the_next_regular_look_at_the_lease()
-> Outcome {
    let mut options = Options::default();
    // Looked at every ten minutes.
    options.installation.controller_arguments = vec!["--lease-duration=3600s".to_owned()];
    let mut cluster = Cluster::own(options).await?;
    let mut standby = cluster.second_controller().await?;
    standby.service.answers("/readyz", DEADLINE).await?;
    let scene = Scene::on(&cluster, "told").await?;
    scene.claims("before", Stage::Ready).await?;
    scene.bound("before").await?;

    let leader = &mut cluster.installation.controller.as_mut().unwrap().service;
    let told = Instant::now();
    leader.stop()?;
    let leases: Api<Lease> = Api::namespaced(cluster.client(), &Names::default().namespace);
    let held = await_condition(leases, LEASE_NAME, |lease: Option<&Lease>| {
        let holder = lease.and_then(|it| it.spec.as_ref()?.holder_identity.as_deref());
        holder == Some("sandgate-controller-1")
    });
    tokio::time::timeout(DEADLINE, held).await??;
    let took = told.elapsed();
    assert!(took < Duration::from_secs(5), "took {took:?}");
    scene.claims("after", Stage::Ready).await?;
    scene.bound("after").await?;
    Ok(())
}

// Proves: C-001, O-001, O-040
#[tokio::test]
async fn two_controllers_that_both_work_make_nothing_twice_and_undo_nothing_of_each_other()
-> Outcome {
    let cluster = Cluster::own(Options::default()).await?;
    // Another release has another Lease, so both lead.
    let release = "another";
    let names = Names {
        release: release.to_owned(),
        ..Names::default()
    };
    applied::apply(&cluster.client(), &render::rbac(&names)).await?;
    let wanted = Wanted {
        name: "another",
        pod: "sandgate-controller-another",
        release,
        server: cluster.control_plane.server(),
        ..Wanted::default()
    };
    let mut second = controllers::start(&cluster, &wanted).await?;
    second.service.answers("/readyz", DEADLINE).await?;
    let leases: Api<Lease> = Api::namespaced(cluster.client(), &names.namespace);
    let held = await_condition(leases, "another-controller", |lease: Option<&Lease>| {
        let holder = lease.and_then(|it| it.spec.as_ref()?.holder_identity.clone());
        holder.as_deref() == Some("sandgate-controller-another")
    });
    tokio::time::timeout(DEADLINE, held).await??;

    let scene = Scene::on(&cluster, "both").await?;
    let claims: Vec<String> = (0..6).map(|turn| format!("claim-{turn}")).collect();
    scene
        .accepts(&manifests::class("box", Stage::Ready))
        .await?;
    for claim in &claims {
        scene
            .user()
            .accepts(&manifests::claim(claim, "box"))
            .await?;
    }
    for claim in &claims {
        scene.bound(claim).await?;
    }
    let open = json!({ "spec": { "egress": [{}] } });
    scene
        .merge::<NetworkPolicy>("claim-0-sandbox", open)
        .await?;
    scene
        .becomes(
            "claim-0",
            "says that it was modified",
            |claim: &SandboxClaim| condition(claim, "SandboxModified").is_some(),
        )
        .await?;
    // Made last and bound: what was to be done before has been done, by both.
    scene
        .user()
        .accepts(&manifests::claim("last", "box"))
        .await?;
    scene.bound("last").await?;

    let asked = audit::of_controller(&scene).await?;
    let pods: BTreeSet<&str> = asked.iter().map(Request::pod).collect();
    assert_eq!(pods.len(), 2, "both had a hand in it");
    let mut moved: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for write in asked
        .iter()
        .filter(|it| it.wrote() && it.resource() != "events")
    {
        // A write that says what stands already moves no resourceVersion.
        moved
            .entry(write.sentence())
            .or_default()
            .insert(write.version());
    }
    for claim in &claims {
        let count = |write: &str| moved.get(write).map_or(0, BTreeSet::len);
        for resource in ["networkpolicies", "services", "deployments"] {
            assert_eq!(
                count(&format!("create {resource} {claim}-sandbox")),
                1,
                "{moved:?}"
            );
            let healed = usize::from(claim == "claim-0" && resource == "networkpolicies");
            assert_eq!(
                count(&format!("update {resource} {claim}-sandbox")),
                healed,
                "{moved:?}"
            );
        }
        // Pending and Bound, and for the first what was healed.
        let told = count(&format!("patch sandboxclaims/status {claim}"));
        let most = if claim == "claim-0" { 3 } else { 2 };
        assert!(told <= most, "{claim} was written {told} times: {moved:?}");
        let claim: SandboxClaim = scene.api().get(claim).await?;
        let modified = condition(&claim, "SandboxModified").is_some();
        assert_eq!(modified, claim.metadata.name.as_deref() == Some("claim-0"));
    }
    let every = ListParams::default();
    let deployments = scene.api::<Deployment>().list(&every).await?.items;
    assert_eq!(deployments.len(), 7);
    let generation = |it: &Deployment| it.metadata.generation;
    assert!(deployments.iter().all(|it| generation(it) == Some(1)));
    let baseline: Value = scene.get::<NetworkPolicy>("sandgate-baseline").await?;
    assert_eq!(baseline["metadata"]["generation"], 1);
    Ok(())
}
