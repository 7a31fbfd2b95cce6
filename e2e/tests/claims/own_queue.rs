//! Ceilings under leaders that die, or that were away and come back.

use std::time::Duration;

use sandgate_e2e::namespace::DEADLINE;
use sandgate_e2e::{Cluster, Options, Outcome, OwnCluster};
use sandgate_shared::api::{ClaimPhase, SandboxClaim};
use serde_json::json;

use crate::audit;
use crate::queue::{admissions, claims, delete, limited};
use crate::scene::{Scene, phase};

/// How long a silent leader keeps the Lease.
const LEASE: Duration = Duration::from_secs(4);

/// A cluster whose first controller leads and whose second stands by; two claims that are bound, which is
/// as many as may be, and four that wait.
async fn full() -> Outcome<(OwnCluster, sandgate_e2e::installation::Controller, Scene)> {
    let mut options = Options::default();
    let lease = format!("--lease-duration={}s", LEASE.as_secs());
    options.installation.controller_arguments = vec![lease];
    let cluster = Cluster::own(options).await?;
    let standby = cluster.second_controller().await?;
    let scene = Scene::on(&cluster, "full").await?;
    let scene = limited(scene, json!({ "maxConcurrent": 2 })).await?;
    // One after the other: of two that find a place at once either may be let in first.
    for name in ["x", "y"] {
        claims(&scene, &[name]).await?;
        scene.bound(name).await?;
    }
    let waiting = ["w1", "w2", "w3", "w4"];
    claims(&scene, &waiting).await?;
    for name in waiting {
        scene.queued(name, "CeilingReached").await?;
    }
    Ok((cluster, standby, scene))
}

// Proves: C-001, C-008, C-011, C-012
#[tokio::test]
async fn a_leader_that_is_killed_leaves_its_places_and_its_line_to_the_next() -> Outcome {
    let (mut cluster, mut standby, scene) = full().await?;
    standby.service.answers("/readyz", DEADLINE).await?;
    let leader = &mut cluster.installation.controller.as_mut().unwrap().service;
    leader.kill();
    delete(&scene, "x").await?;
    scene.bound("w1").await?;
    delete(&scene, "y").await?;
    scene.bound("w2").await?;
    let (admitted, writes) = admissions(&scene).await?;
    assert_eq!(admitted, ["x", "y", "w1", "w2"]);
    assert_eq!((writes["w3"], writes["w4"]), (1, 1), "{writes:?}");
    Ok(())
}

// Proves: C-001, C-008
#[tokio::test]
async fn a_leader_that_was_stopped_over_its_term_admits_nobody_when_it_goes_on() -> Outcome {
    let (cluster, mut standby, scene) = full().await?;
    standby.service.answers("/readyz", DEADLINE).await?;
    let first = &cluster.installation.controller.as_ref().unwrap().service;
    first.pause()?;
    // To its eyes both places are free once it goes on; to the second they are taken again.
    delete(&scene, "x").await?;
    delete(&scene, "y").await?;
    scene.bound("w1").await?;
    scene.bound("w2").await?;
    first.resume()?;
    // It has heard of all that happened, and taken its time over it, once it stands by and is asked to lead
    // again: that is when the second is gone.
    standby.service.stop()?;
    delete(&scene, "w1").await?;
    scene.bound("w3").await?;
    let last: SandboxClaim = scene.api().get("w4").await?;
    assert_eq!(phase(&last), Some(ClaimPhase::Queued));

    let (mut admitted, _) = admissions(&scene).await?;
    // The second may find both places free at once, and then either claim may be written first.
    if let Some(both) = admitted.get_mut(2..4) {
        both.sort_unstable();
    }
    assert_eq!(admitted, ["x", "y", "w1", "w2", "w3"]);
    let asked = audit::of_controller(&scene).await?;
    let writers = ["w1", "w2", "w3"].map(|name| {
        let admitted = |it: &&audit::Request| {
            let pending = it.returned::<SandboxClaim>().as_ref().and_then(phase);
            it.wrote() && it.name() == name && pending == Some(ClaimPhase::Pending)
        };
        asked.iter().find(admitted).map(|it| it.pod().to_owned())
    });
    let pods = [
        "sandgate-controller-1",
        "sandgate-controller-1",
        "sandgate-controller-0",
    ];
    assert_eq!(writers, pods.map(|pod| Some(pod.to_owned())));
    Ok(())
}
