//! Why a sandbox is not ready, in words a person understands.

use rstest::rstest;
use sandgate_shared::api::ClaimPhase;

use super::world::{World, at, start};
use crate::claim::observed::{ObservedContainer, ObservedPod, Terminated, Waiting};

fn waits(reason: &str, message: &str) -> impl Fn(&mut ObservedPod) {
    let waiting = Waiting {
        reason: reason.to_owned(),
        message: message.to_owned(),
    };
    move |pod| {
        pod.containers = vec![ObservedContainer {
            name: "sandbox".to_owned(),
            image: "registry.example/tool:1".to_owned(),
            waiting: Some(waiting.clone()),
            ..ObservedContainer::default()
        }];
    }
}

fn ended(reason: &str, exit_code: i32) -> impl Fn(&mut ObservedPod) {
    let terminated = Terminated {
        reason: reason.to_owned(),
        exit_code,
        ..Terminated::default()
    };
    move |pod| {
        pod.containers = vec![ObservedContainer {
            name: "sandbox".to_owned(),
            terminated: Some(terminated.clone()),
            ..ObservedContainer::default()
        }];
    }
}

fn pending(shape: impl Fn(&mut ObservedPod)) -> World {
    let mut world = World::codegen();
    world.settle(start());
    world.pod_is(shape);
    world.settle(start());
    assert_eq!(world.phase(), Some(ClaimPhase::Pending));
    world
}

// Proves: C-022
#[rstest]
fn a_pod_the_scheduler_cannot_place_says_the_schedulers_words_and_waits() {
    let words =
        "0/3 nodes are available: 3 Insufficient memory. preemption: 0/3 nodes are available.";
    let world = pending(|pod| pod.unschedulable = Some(words.to_owned()));
    assert_eq!(
        world.ready(),
        ("Unschedulable".to_owned(), words.to_owned())
    );
}

// Proves: C-029
#[rstest]
#[case::pull(
    "ErrImagePull",
    "not found",
    "ImagePullFailed",
    "not found (ErrImagePull)"
)]
#[case::name(
    "InvalidImageName",
    "bad",
    "ImagePullFailed",
    "\"registry.example/tool:1\""
)]
#[case::never(
    "ErrImageNeverPull",
    "absent",
    "ImagePullFailed",
    "the class says never to pull it"
)]
#[case::root(
    "CreateContainerConfigError",
    "container has runAsNonRoot and image will run as root",
    "CreateContainerConfigError",
    "give the image a numeric USER other than 0"
)]
#[case::config(
    "CreateContainerError",
    "no such file",
    "CreateContainerConfigError",
    "no such file"
)]
fn a_container_that_cannot_start_says_why(
    #[case] why: &str,
    #[case] kubelet: &str,
    #[case] reason: &str,
    #[case] words: &str,
) {
    let world = pending(waits(why, kubelet));
    assert_eq!(world.ready().0, reason);
    assert!(world.ready().1.contains(words), "{}", world.ready().1);
}

// Proves: C-029
#[rstest]
#[case::oom("OOMKilled", 137, "OOMKilled", "resources.limits.memory")]
#[case::crash("Error", 2, "CrashLoopBackOff", "exit code 2")]
#[case::done("Completed", 0, "CrashLoopBackOff", "exit code 0")]
fn a_container_that_ends_says_how(
    #[case] why: &str,
    #[case] code: i32,
    #[case] reason: &str,
    #[case] words: &str,
) {
    let world = pending(ended(why, code));
    assert_eq!(world.ready().0, reason);
    assert!(world.ready().1.contains(words), "{}", world.ready().1);
}

// Proves: C-029
#[rstest]
#[case::creating("ContainerCreating")]
#[case::initializing("PodInitializing")]
fn a_container_that_is_merely_being_made_is_no_news(#[case] why: &str) {
    let world = pending(waits(why, ""));
    assert_eq!(world.ready().0, "SandboxStarting");
    assert_eq!(world.events, ["SandboxStarting"]);
}

// Proves: C-029
#[rstest]
fn back_off_and_restarts_cost_no_further_writes() {
    let mut world = pending(waits("ErrImagePull", "not found"));
    let writes = world.writes;
    for second in 1..10 {
        let (why, words) = match second % 2 {
            0 => ("ErrImagePull", "not found"),
            _ => ("ImagePullBackOff", "Back-off pulling image"),
        };
        world.pod_is(waits(why, words));
        world.settle(at(second));
    }
    assert_eq!(world.writes, writes);
    assert!(
        world.ready().1.contains("not found"),
        "the fault, not the back-off"
    );

    let mut world = pending(ended("Error", 1));
    let writes = world.writes;
    for second in 1..10 {
        world.pod_is(|pod| {
            ended("Error", 1)(pod);
            pod.containers[0].waiting = (second % 2 == 0).then(|| Waiting {
                reason: "CrashLoopBackOff".to_owned(),
                message: format!("back-off {second}0s restarting failed container"),
            });
        });
        world.settle(at(second));
    }
    assert_eq!(world.writes, writes);
}

// Proves: C-029
#[rstest]
fn another_fault_of_the_same_kind_is_told() {
    let mut world = pending(waits("ErrImagePull", "not found"));
    world.pod_is(waits("ErrImagePull", "unauthorized"));
    world.settle(at(1));
    assert!(world.ready().1.contains("unauthorized"));
}

// Proves: C-021
#[rstest]
fn how_a_container_ended_once_is_no_news_while_it_is_ready() {
    let world = pending(|pod| {
        ended("Error", 1)(pod);
        pod.containers[0].ready = true;
    });
    assert_eq!(world.ready().0, "SandboxStarting");
}

// Proves: C-032
#[rstest]
fn a_pod_that_is_refused_says_what_the_replica_set_was_told() {
    let mut world = World::codegen();
    world.settle(start());
    world.pod_is(|_| {});
    world.observed.pods.clear();
    world.observed.replica_sets[0].failure =
        Some("pods \"x\" is forbidden: exceeded quota: small".to_owned());
    world.settle(start());
    assert_eq!(world.phase(), Some(ClaimPhase::Pending));
    assert_eq!(world.ready().0, "PodRefused");
    assert!(world.ready().1.contains("exceeded quota: small"));
}

// Proves: C-018, C-021
#[rstest]
#[case::terminating(|pod: &mut ObservedPod| pod.deleting = true)]
#[case::finished(|pod: &mut ObservedPod| pod.finished = true)]
fn a_pod_on_its_way_out_is_not_ready_whatever_it_says(#[case] going: fn(&mut ObservedPod)) {
    let mut world = World::bound();
    world.pod_is(|pod| {
        pod.ready = true;
        going(pod);
    });
    world.settle(start());
    assert_eq!(world.phase(), Some(ClaimPhase::Pending));
    assert_eq!(world.status().addresses, None);
}

// Proves: C-021
#[rstest]
fn of_two_pods_the_ready_one_counts_and_else_the_newest_speaks() {
    let mut world = World::bound();
    world.pod_is(|pod| {
        ended("Error", 1)(pod);
        pod.created = Some(at(1));
    });
    let mut newer = world.observed.pods[0].clone();
    waits("ErrImagePull", "gone")(&mut newer);
    newer.created = Some(at(2));
    newer.uid = "a".to_owned();
    world.observed.pods.push(newer);
    world.settle(at(3));
    assert_eq!(world.ready().0, "ImagePullFailed");

    world.observed.pods[0].ready = true;
    world.settle(at(4));
    assert_eq!(world.phase(), Some(ClaimPhase::Bound));
}
