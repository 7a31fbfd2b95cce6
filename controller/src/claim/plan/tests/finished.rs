//! Pods that finished: which go, what it costs, and what is still said of them.

use rstest::rstest;
use sandgate_shared::api::ClaimPhase;

use super::world::{World, at, start};
use crate::claim::observed::{
    Disruption, Lookup, ObjectKind, ObservedContainer, ObservedPod, Terminated,
};

fn evicted(pod: &mut ObservedPod) {
    pod.finished = true;
    pod.disruption = Some(Disruption {
        reason: "Evicted".to_owned(),
        message:
            "The node was low on resource: memory. Threshold quantity: 100Mi, available: 1Ki. "
                .to_owned(),
    });
}

/// Another pod of the same `ReplicaSet`, made later.
fn successor(pod: &ObservedPod, second: i64) -> ObservedPod {
    ObservedPod {
        name: format!("{}-{second}", pod.name),
        uid: format!("uid-{second}"),
        created: Some(at(second)),
        controller: pod.controller.clone(),
        ..ObservedPod::default()
    }
}

// Proves: O-038
#[rstest]
#[case::evicted(evicted)]
#[case::ended(|pod: &mut ObservedPod| pod.finished = true)]
#[case::ended_while_being_deleted(|pod: &mut ObservedPod| {
    pod.finished = true;
    pod.deleting = true;
})]
fn a_finished_pod_is_deleted_by_its_uid(#[case] ends: fn(&mut ObservedPod)) {
    let mut world = World::bound();
    world.pod_is(ends);
    let finished = world.plan(at(1)).finished;
    assert_eq!(finished.len(), 1);
    assert_eq!(finished[0].namespace, "my-agents");
    assert_eq!(finished[0].name, world.observed.pods[0].name);
    assert_eq!(finished[0].uid, "uid-pod");
}

// Proves: O-038
#[rstest]
#[case::runs(|_: &mut ObservedPod| {})]
#[case::is_ready(|pod: &mut ObservedPod| pod.ready = true)]
#[case::is_being_deleted(|pod: &mut ObservedPod| pod.deleting = true)]
#[case::is_about_to_be_evicted(|pod: &mut ObservedPod| {
    evicted(pod);
    pod.finished = false;
})]
fn a_pod_that_has_not_finished_is_left_alone(#[case] shape: fn(&mut ObservedPod)) {
    let mut world = World::bound();
    world.pod_is(shape);
    assert_eq!(world.plan(at(1)).finished, []);
}

// Proves: O-038
#[rstest]
#[case::of_nobody(|world: &mut World| world.observed.pods[0].controller = None)]
#[case::of_another_replica_set(|world: &mut World| {
    world.observed.pods[0].controller = Some("uid-of-another".to_owned());
})]
#[case::of_a_replica_set_of_nobody(|world: &mut World| {
    world.observed.replica_sets[0].controller = None;
})]
#[case::of_a_replica_set_of_another_deployment(|world: &mut World| {
    world.observed.replica_sets[0].controller = Some("uid-of-another".to_owned());
})]
#[case::of_a_deployment_that_is_gone(|world: &mut World| world.observed.deployment = None)]
fn a_finished_pod_that_only_bears_our_labels_is_left_alone(#[case] forge: fn(&mut World)) {
    let mut world = World::bound();
    world.pod_is(evicted);
    forge(&mut world);
    assert_eq!(world.plan(at(1)).finished, []);
}

// Proves: O-038
#[rstest]
fn a_finished_pod_of_a_deployment_that_is_another_claims_is_left_alone() {
    let mut world = World::codegen();
    world.settle(start());
    world.pod_is(evicted);
    let live = world.observed.deployment.as_mut().unwrap();
    live.controller = Some("uid-of-another-claim".to_owned());
    live.of_claim = false;
    world.observed.memory.applied.clear();
    let stranger = world.observed.deployment.clone();
    assert_eq!(world.plan(at(1)).finished, []);
    world.settle(at(1));
    assert_eq!(world.ready().0, "NameConflict");
    world.observed.deployment = stranger;
    world.observed.memory.applied.clear();
    world.pod_is(evicted);
    assert_eq!(world.plan(at(2)).finished, []);
}

// Proves: O-038, C-021, C-029
#[rstest]
fn an_eviction_costs_one_report_and_one_deletion_and_its_cause_stands_until_a_new_pod_is_ready() {
    let mut world = World::bound();
    let writes = world.writes;
    world.pod_is(evicted);
    let new = successor(&world.observed.pods[0], 2);
    world.settle(at(1));
    assert_eq!(world.observed.pods, [], "gone");
    assert_eq!(world.writes, writes + 2);
    assert_eq!(world.phase(), Some(ClaimPhase::Pending));
    assert_eq!(world.status().addresses, None);
    let told = world.ready();
    assert_eq!(told.0, "Evicted");
    assert!(told.1.contains("low on resource: memory"), "{}", told.1);

    // Its successor comes, is placed and started.
    world.observed.pods = vec![new];
    world.settle(at(2));
    world.restart();
    world.settle(at(3));
    assert_eq!(world.ready(), told);
    assert_eq!(world.writes, writes + 2);
    assert_eq!(world.events, ["SandboxStarting", "SandboxReady", "Evicted"]);

    world.observed.pods[0].ready = true;
    world.settle(at(4));
    assert_eq!(world.phase(), Some(ClaimPhase::Bound));
    // Another loss, of another cause, is not told by the old one.
    world.observed.pods[0].ready = false;
    world.settle(at(5));
    assert_eq!(world.ready().0, "SandboxNotReady");
}

// Proves: O-038, C-029
#[rstest]
fn a_successor_that_cannot_be_placed_or_is_refused_says_so_instead() {
    let mut world = World::bound();
    world.pod_is(evicted);
    let new = successor(&world.observed.pods[0], 2);
    world.settle(at(1));
    world.observed.replica_sets[0].failure = Some("exceeded quota: small".to_owned());
    world.settle(at(2));
    assert_eq!(world.ready().0, "PodRefused");

    world.observed.replica_sets[0].failure = None;
    world.observed.pods = vec![ObservedPod {
        unschedulable: Some("0/1 nodes are available".to_owned()),
        ..new
    }];
    world.settle(at(3));
    assert_eq!(world.ready().0, "Unschedulable");
}

// Proves: O-038
#[rstest]
fn a_sandbox_evicted_again_and_again_costs_one_request_a_pod_and_no_more() {
    let mut world = World::bound();
    world.pod_is(evicted);
    let first = world.observed.pods[0].clone();
    world.settle(at(1));
    let (writes, events) = (world.writes, world.events.len());
    for second in 2..12_u8 {
        let mut next = successor(&first, second.into());
        world.observed.pods = vec![next.clone()];
        world.settle(at(second.into()));
        evicted(&mut next);
        let disruption = next.disruption.as_mut().unwrap();
        disruption.message = disruption.message.replace("1Ki", &format!("{second}Ki"));
        world.observed.pods = vec![next];
        world.settle(at(second.into()));
    }
    assert_eq!(world.writes, writes + 10, "ten pods");
    assert_eq!(world.events.len(), events);
    assert_eq!(world.ready().0, "Evicted");
}

// Proves: O-038, C-029
#[rstest]
fn a_pod_that_ended_for_its_memory_says_so_after_it_went() {
    let mut world = World::bound();
    world.pod_is(|pod| {
        pod.finished = true;
        pod.containers = vec![ObservedContainer {
            name: "sandbox".to_owned(),
            terminated: Some(Terminated {
                reason: "OOMKilled".to_owned(),
                exit_code: 137,
                message: String::new(),
            }),
            ..ObservedContainer::default()
        }];
    });
    world.settle(at(1));
    assert_eq!(world.observed.pods, []);
    assert_eq!(world.ready().0, "OOMKilled");
}

// Proves: O-038
#[rstest]
fn finished_pods_go_when_the_class_is_gone_and_when_the_claim_has_failed() {
    let mut world = World::bound();
    world.observed.class = Lookup::Missing;
    world.pod_is(evicted);
    assert_eq!(world.plan(at(1)).finished.len(), 1);

    world.store.remove(&ObjectKind::NetworkPolicy);
    world.look();
    world.reconcile(at(2));
    assert_eq!(world.phase(), Some(ClaimPhase::Failed));
    world.pod_is(evicted);
    assert_eq!(world.plan(at(3)).finished.len(), 1);
}

// Proves: O-038, O-002
#[rstest]
fn finished_pods_of_a_claim_that_is_leaving_are_the_garbage_collectors() {
    let mut world = World::bound();
    world.pod_is(evicted);
    world.observed.namespace_terminating = true;
    assert_eq!(world.plan(at(1)).finished, []);
}
