//! Admission while everything that may happen to Sandgate happens: writers of every kind go on through
//! a rollout, a rotation of the CA, an API server that restarts, an eviction and a crash.

mod calls;
mod hand;
mod ledger;
mod rotation;
mod writers;

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::EvictParams;
use sandgate_e2e::node_cluster::Options;
use sandgate_e2e::progress::Step;
use sandgate_e2e::scene::Scene;
use sandgate_e2e::{Failure, NodeCluster, Outcome, audit};
use sandgate_shared::api::SandboxClaim;
use sandgate_shared::render::Installation as Names;

use crate::replicas::{both_ready, gone, leads, operators, pods, until, webhook};
use crate::workload::{answering, is_ready, pod_of};
use calls::Calls;
use ledger::{CALL_FAILED, Failed, Trouble};
use rotation::Rotation;
use writers::Load;

/// How long writers may find one of two replicas gone that was killed.
const CRASH_COSTS: Duration = Duration::from_secs(3);

/// Replaces every pod, as an administrator does; back when the new ones are ready and one of them leads.
/// The old ones are still answering what comes.
async fn roll_out(cluster: &NodeCluster) -> Outcome<BTreeSet<String>> {
    let names = Names::default();
    let old = operators(cluster).await?;
    assert_eq!(old.len(), 2);
    let deployment = format!("deployment/{}", names.release);
    for command in [
        &["rollout", "restart"][..],
        &["rollout", "status", "--timeout=60s"],
    ] {
        let place = ["--namespace", &names.namespace, &deployment];
        let said = cluster.kubectl(&[command, &place].concat(), None).await?;
        assert!(said.success, "{said:?}");
    }
    let new = operators(cluster).await?;
    let new = new.difference(&old).cloned().collect();
    leads(cluster, &new).await?;
    Ok(old)
}

/// The name of the replica that does not lead.
async fn follower(cluster: &NodeCluster) -> Outcome<String> {
    let both = both_ready(cluster).await?;
    let leader = leads(cluster, &both).await?;
    let follower = both.into_iter().find(|name| *name != leader);
    Ok(follower.expect("there are two"))
}

/// Evicts the replica that does not lead, as the drain of a node does; back when there are two again.
async fn evict_one(cluster: &NodeCluster) -> Outcome {
    let evicted = follower(cluster).await?;
    let how = EvictParams::default();
    pods(cluster).evict(&evicted, &how).await?;
    gone(cluster, &[evicted].into()).await?;
    both_ready(cluster).await?;
    Ok(())
}

/// Kills one replica's webhook; back when the kubelet has started it again. Says from when until when it
/// may cost something.
async fn kill_one(cluster: &NodeCluster) -> Outcome<Range<Instant>> {
    let victim = follower(cluster).await?;
    let pod = pods(cluster).get(&victim).await?;
    let container = webhook(&pod).and_then(|it| it.container_id.clone());
    let killed = Instant::now();
    cluster
        .node
        .kill_container(&container.expect("a container that runs has an id"))?;
    until(cluster, &victim, |pod: &Pod| {
        webhook(pod).is_some_and(|it| it.restart_count == 1) && is_ready(pod)
    })
    .await?;
    Ok(killed..killed + CRASH_COSTS)
}

/// What the audit log says of writes that failed for want of an answer.
async fn failed_by_the_log(scene: &Scene) -> Outcome<Vec<String>> {
    let failed = audit::up_to_now(scene, CALL_FAILED).await?;
    let told = failed
        .iter()
        .map(|it| format!("{}: {}", it.sentence(), it.said()));
    Ok(told.collect())
}

/// Everything that may happen, one after the other. Says when the API server was away, and when one
/// replica had crashed. What was called up to `calls` is taken from what was called before the API server
/// went.
async fn disturb(cluster: &mut NodeCluster, calls: &mut Calls) -> Outcome<[Range<Instant>; 2]> {
    let step = Step::begin("rolling out");
    let old = roll_out(cluster).await?;
    step.done();
    // A leader that changes waits anew for the new CA to be known everywhere.
    let rotation = Rotation::begin(cluster).await?;
    gone(cluster, &old).await?;
    let step = Step::begin("restarting the API server");
    *calls = Calls::counted(&cluster.client()).await?.since(calls);
    let absence = cluster.node.restart_api_server().await?;
    step.done();
    let step = Step::begin("evicting one replica");
    evict_one(cluster).await?;
    step.done();
    let step = Step::begin("killing one webhook");
    let crash = kill_one(cluster).await?;
    step.done();
    let step = Step::begin("rotating the CA");
    rotation.end(cluster).await?;
    step.done();
    Ok([absence, crash])
}

/// Whether something that failed is what an API server that is away, or a webhook that was killed, costs.
fn is_explained(failed: &Failed, [absence, crash]: &[Range<Instant>; 2]) -> bool {
    match failed.trouble {
        Trouble::NoServer => failed.within(absence),
        Trouble::CallFailed => failed.within(crash),
        Trouble::WronglyRefused | Trouble::WronglyAdmitted => false,
    }
}

fn told<'a>(failures: impl IntoIterator<Item = &'a Failed>) -> String {
    let lines = failures.into_iter().map(|it| format!("\n{it}"));
    lines.collect()
}

// Proves: X-012, C-001, C-034, W-001
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_write_is_lost_or_misjudged_while_sandgate_is_rolled_out_evicted_rotated_and_crashes()
-> Outcome {
    let mut cluster = Box::pin(NodeCluster::start(Options::default())).await?;
    let scene = Scene::on(&cluster, "load").await?;
    scene.claims_class("runs", &answering("box")).await?;
    let runs = scene.bound("runs").await?;
    let pod = pod_of(&scene, "runs").await?;

    // An installation that begins may be asked before its webhooks answer.
    let installing = failed_by_the_log(&scene).await?.len();
    let (began, mut before) = (Instant::now(), Calls::counted(&cluster.client()).await?);
    let load = Load::start(&scene).await?;
    let disturbed = Box::pin(disturb(&mut cluster, &mut before)).await;
    let failures = load.ledger.failures();
    let disturbed =
        disturbed.map_err(|why| Failure::saying(format!("{why}{}", told(&failures))))?;
    let ledger = load.stop().await?;
    let lasted = began.elapsed();
    let after = Calls::counted(&cluster.client()).await?;

    let failures = ledger.failures();
    let unexplained: Vec<&Failed> = failures
        .iter()
        .filter(|it| !is_explained(it, &disturbed))
        .collect();
    assert!(unexplained.is_empty(), "{}", told(unexplained));
    // The API server and its log say the same.
    let failed = |it: &&Failed| it.trouble == Trouble::CallFailed;
    let failed = failures.iter().filter(failed).count();
    let mut logged = failed_by_the_log(&scene).await?;
    logged.drain(..installing);
    assert_eq!(logged.len(), failed, "{logged:?}");
    assert_eq!(before.failed, 0, "before the API server was restarted");
    assert_eq!(after.failed, failed, "{logged:?}");
    assert_eq!((before.failed_open, after.failed_open), (0, 0));
    let counts = ledger.counts();
    let writes: usize = counts.values().sum();
    assert!(
        before.answered > 0 && after.answered > 0,
        "{before:?} {after:?} {counts:?}"
    );

    let [absence, crash] = &disturbed;
    let (gap, who) = ledger.longest_gap(crash);
    assert!(gap <= CRASH_COSTS, "{who} was held up for {gap:?}");
    println!(
        "{writes} writes in {lasted:?} {counts:?}; the API server was away for {:?}; the crash cost {failed} \
         calls and at most {gap:?}; {before:?}, {after:?}",
        absence.end - absence.start
    );
    let same: SandboxClaim = scene.api().get("runs").await?;
    assert_eq!(same.status, runs.status);
    assert_eq!(pod_of(&scene, "runs").await?.uid(), pod.uid());
    cluster.check()
}
