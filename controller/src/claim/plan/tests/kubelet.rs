//! What a claim makes of pods as a real kubelet, a container runtime and the cluster's controllers
//! describe them.

use rstest::rstest;
use sandgate_shared::api::ClaimPhase;
use serde_json::{Value, json};

use super::world::{World, at, start};
use crate::claim::observed::ObservedPod;

mod shapes;

use shapes::*;

/// Reason and message of a claim that never bound whose pods are these.
fn told_of_first(pods: Vec<ObservedPod>) -> (String, String) {
    let mut world = World::codegen();
    world.settle(start());
    world.pod_is(|_| {});
    world.observed.pods = pods;
    world.settle(at(1));
    assert_eq!(world.phase(), Some(ClaimPhase::Pending));
    world.ready()
}

/// The same of a claim that was bound, with its one pod.
fn told_of_bound(pod: ObservedPod) -> (String, String) {
    let mut world = World::bound();
    world.observed.pods = vec![pod];
    world.settle(at(1));
    assert_eq!(world.phase(), Some(ClaimPhase::Pending));
    assert_eq!(world.status().addresses, None);
    world.ready()
}

// Proves: C-029, O-036
#[rstest]
#[case::absent_and_never_pulled(
    unready(&waiting("ErrImageNeverPull", "Container image \"sandgate.local/tool:1\" is not present with pull policy of Never"), &json!({}), 0),
    "ImagePullFailed",
    "image \"sandgate.local/tool:1\" is not on the node, and the class says never to pull it (ErrImageNeverPull). It is looked for again by itself; put the image on the nodes, or set the class's imagePullPolicy to IfNotPresent and make the claim again"
)]
#[case::absent_and_not_found(
    unready(&waiting("ErrImagePull", NOT_FOUND), &json!({}), 0),
    "ImagePullFailed",
    "image \"sandgate.local/tool:1\" cannot be pulled: failed to pull and unpack image \"sandgate.local/tool:1\": failed to resolve image: sandgate.local/tool:1: not found (ErrImagePull). It is tried again by itself; let the nodes reach and read its registry, or correct the class's image and make the claim again"
)]
#[case::no_name_of_an_image(
    unready(&waiting("InvalidImageName", "Failed to apply default image tag \"sandgate.local/tool:1\": couldn't parse image name"), &json!({}), 0),
    "ImagePullFailed",
    "image \"sandgate.local/tool:1\" is no name of an image: Failed to apply default image tag \"sandgate.local/tool:1\": couldn't parse image name (InvalidImageName). Correct the class's image and make the claim again"
)]
#[case::wants_root(
    unready(&waiting("CreateContainerConfigError", &format!("container has runAsNonRoot and image will run as root {POD}")), &json!({}), 0),
    "CreateContainerConfigError",
    "the container cannot be started: container has runAsNonRoot and image will run as root; a sandbox never runs as root: give the image a numeric USER other than 0"
)]
#[case::names_its_user(
    unready(&waiting("CreateContainerConfigError", &format!("container has runAsNonRoot and image has non-numeric user (app), cannot verify user is non-root {POD}")), &json!({}), 0),
    "CreateContainerConfigError",
    "the container cannot be started: container has runAsNonRoot and image has non-numeric user (app), cannot verify user is non-root; a sandbox never runs as root: give the image a numeric USER other than 0"
)]
#[case::has_no_such_program(
    unready(&waiting("RunContainerError", NO_PROGRAM), &json!({}), 0),
    "CreateContainerConfigError",
    "the container cannot be started: failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: exec: \"/tool\": stat /tool: no such file or directory: unknown; correct the class, then make the claim again"
)]
#[case::was_killed_for_its_memory(
    unready(&running("2026-11-20T10:00:06Z"), &terminated("OOMKilled", 137, ""), 1),
    "OOMKilled",
    "the sandbox used more memory than resources.limits.memory allows and was killed; it is started again by itself. Raise the class's limit if its work needs more"
)]
#[case::is_held_back_after_its_memory(
    unready(&waiting("CrashLoopBackOff", &format!("back-off 20s restarting failed container=sandbox pod={POD}")), &terminated("OOMKilled", 137, ""), 3),
    "OOMKilled",
    "the sandbox used more memory than resources.limits.memory allows and was killed; it is started again by itself. Raise the class's limit if its work needs more"
)]
#[case::crashes(
    unready(&waiting("CrashLoopBackOff", "back-off 10s restarting failed container=sandbox pod=x"), &terminated("Error", 1, "what the agent's program wrote"), 2),
    "CrashLoopBackOff",
    "the sandbox's program ends by itself (Error, exit code 1) and is started again; see the pod's log, and the class's image, args and env"
)]
#[case::ends(
    unready(&terminated("Completed", 0, ""), &json!({}), 0),
    "CrashLoopBackOff",
    "the sandbox's program ends by itself (Completed, exit code 0) and is started again; see the pod's log, and the class's image, args and env"
)]
#[case::was_made_and_does_not_run_yet(
    unready(&json!({"waiting": {}}), &json!({}), 0),
    "SandboxStarting",
    "the sandbox is being made; its pod has not reported ready yet"
)]
#[case::runs_and_was_not_asked_yet(
    unready(&running("2026-11-20T10:00:01Z"), &json!({}), 0),
    "SandboxStarting",
    "the sandbox is being made; its pod has not reported ready yet"
)]
fn a_first_pod_that_does_not_become_ready_is_told_by_its_cause(
    #[case] pod: ObservedPod,
    #[case] reason: &str,
    #[case] message: &str,
) {
    assert_eq!(
        told_of_first(vec![pod]),
        (reason.to_owned(), message.to_owned())
    );
}

// Proves: C-029
#[rstest]
#[case::of_a_pull(
    unready(&waiting("ErrImagePull", NOT_FOUND), &json!({}), 0),
    unready(&waiting("ImagePullBackOff", &format!("Back-off pulling image \"{IMAGE}\": ErrImagePull: {NOT_FOUND}")), &json!({}), 0)
)]
#[case::of_a_registry_that_does_not_answer(
    unready(&waiting("ErrImagePull", "dial tcp: lookup r.example on 10.96.0.10:53: read udp 10.1.0.1:41234->10.96.0.10:53: i/o timeout"), &json!({}), 0),
    unready(&waiting("ErrImagePull", "dial tcp: lookup r.example on 10.96.0.10:53: read udp 10.1.0.1:52345->10.96.0.10:53: i/o timeout"), &json!({}), 0)
)]
#[case::of_a_program_that_is_not_there(
    unready(&waiting("RunContainerError", NO_PROGRAM), &json!({}), 0),
    unready(&waiting("CrashLoopBackOff", "back-off 10s restarting failed container=sandbox"), &terminated("StartError", 128, NO_PROGRAM), 1)
)]
#[case::of_a_name_that_is_taken(
    unready(&waiting("CreateContainerError", &format!("failed to reserve container name \"sandbox_0\": name is reserved for \"{}\"", "1e".repeat(32))), &json!({}), 0),
    unready(&waiting("CreateContainerError", &format!("failed to reserve container name \"sandbox_0\": name is reserved for \"{}\"", "9a".repeat(32))), &json!({}), 0)
)]
fn a_fault_and_the_wait_after_it_are_told_alike(
    #[case] fault: ObservedPod,
    #[case] wait: ObservedPod,
) {
    assert_eq!(told_of_first(vec![fault]), told_of_first(vec![wait]));
}

// Proves: C-021, C-029, O-038
#[rstest]
#[case::evicted_for_the_nodes_memory(
    failed(
        "Evicted",
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 92716Ki. Container sandbox was using 411232Ki, request is 128Mi, has larger consumption of memory. "
    ),
    "Evicted",
    "was evicted from its node: The node was low on resource: memory. A new pod is made"
)]
#[case::evicted_for_its_own_files(
    failed(
        "Evicted",
        "Usage of EmptyDir volume \"cache\" exceeds the limit \"4Gi\". "
    ),
    "Evicted",
    "was evicted from its node: Usage of EmptyDir volume \"cache\" exceeds the limit \"4Gi\". A new pod is made"
)]
#[case::ended_with_its_node(
    failed(
        "Terminated",
        "Pod was terminated in response to imminent node shutdown."
    ),
    "Evicted",
    "was ended by its node: Pod was terminated in response to imminent node shutdown (Terminated). A new pod is made"
)]
#[case::ended_by_a_deadline(
    failed(
        "DeadlineExceeded",
        "Pod was active on the node longer than the specified deadline"
    ),
    "Evicted",
    "was ended by its node: Pod was active on the node longer than the specified deadline (DeadlineExceeded). A new"
)]
#[case::preempted_by_the_node(
    failed("Preempting", "Preempted in order to admit critical pod"),
    "Evicted",
    "gave way to a pod of higher priority"
)]
#[case::refused_for_room(
    refused(
        "OutOfcpu",
        "Node didn't have enough resource: cpu, requested: 1000, used: 1950, capacity: 2000"
    ),
    "PodRefusedByNode",
    "the node refuses the sandbox's pod: Node didn't have enough resource: cpu (OutOfcpu)"
)]
#[case::refused_for_the_nodes_state(
    refused("Evicted", "The node had condition: [MemoryPressure]. "),
    "PodRefusedByNode",
    "the node refuses the sandbox's pod: The node had condition: [MemoryPressure] (Evicted)"
)]
#[case::drained(
    deleted("EvictionByEvictionAPI", "Eviction API: evicting"),
    "Evicted",
    "as when a node is drained"
)]
#[case::preempted_by_the_scheduler(
    deleted(
        "PreemptionByScheduler",
        "default-scheduler: preempting to accommodate a higher priority pod"
    ),
    "Evicted",
    "gave way to a pod of higher priority"
)]
#[case::given_up_with_its_node(
    deleted(
        "DeletionByTaintManager",
        "Taint manager: deleting due to NoExecute taint"
    ),
    "NodeLost",
    "the sandbox's node does not answer, or is gone"
)]
fn a_pod_that_node_or_cluster_ended_is_told_by_its_cause(
    #[case] pod: ObservedPod,
    #[case] reason: &str,
    #[case] words: &str,
) {
    let (told, message) = told_of_bound(pod);
    assert_eq!(told, reason);
    assert!(message.contains(words), "{message}");
}

// Proves: C-021, C-029
#[rstest]
fn a_pod_that_somebody_deleted_is_no_crash() {
    let status = json!({
        "phase": "Failed", "conditions": conditions("False", "False", SCHEDULED),
        "containerStatuses": [container(&terminated("Error", 143, ""), &json!({}), 0)],
    });
    let gone = pod(&json!({"deletionTimestamp": SCHEDULED}), &status);
    assert_eq!(told_of_bound(gone).0, "SandboxNotReady");
}

// Proves: C-021, C-029
#[rstest]
#[case::by_its_probe("False", "2026-11-20T10:05:00Z", json!({}), "SandboxNotReady", "does not answer its readiness probe any more")]
#[case::by_its_probe_long_after_it_was_killed(
    "False",
    "2026-11-20T10:05:00Z",
    terminated("OOMKilled", 137, ""),
    "SandboxNotReady",
    "does not answer its readiness probe any more"
)]
#[case::by_being_killed(
    "False",
    "2026-11-20T10:00:10Z",
    terminated("OOMKilled", 137, ""),
    "OOMKilled",
    "resources.limits.memory"
)]
#[case::by_a_reboot(
    "False",
    "2026-11-20T10:00:09Z",
    terminated("Unknown", 255, ""),
    "ContainerLost",
    "lost together with its node or container runtime (Unknown, exit code 255)"
)]
#[case::by_what_nobody_saw(
    "False",
    "2026-11-20T10:00:09Z",
    terminated(
        "ContainerStatusUnknown",
        137,
        "The container could not be located when the pod was terminated"
    ),
    "ContainerLost",
    "(ContainerStatusUnknown, exit code 137)"
)]
#[case::by_its_nodes_silence("True", "2026-11-20T10:05:00Z", json!({}), "NodeLost", "the sandbox's node does not answer")]
fn a_running_pod_that_lost_its_readiness_says_how(
    #[case] containers: &str,
    #[case] since: &str,
    #[case] last: Value,
    #[case] reason: &str,
    #[case] words: &str,
) {
    let (told, message) = told_of_bound(runs_unready("False", containers, since, &last));
    assert_eq!(told, reason);
    assert!(message.contains(words), "{message}");
}

// Proves: C-021
#[rstest]
fn a_pod_that_its_node_is_about_to_end_has_not_lost_its_probe() {
    let mut conditions = conditions("False", "False", "2026-11-20T10:05:00Z");
    for condition in conditions.as_array_mut().unwrap() {
        if condition["status"] == "False" {
            condition["reason"] = json!("PodFailed");
        }
    }
    let runs = container(&running("2026-11-20T10:00:10Z"), &json!({}), 0);
    let status = json!({"phase": "Running", "conditions": conditions, "containerStatuses": [runs]});
    let (told, message) = told_of_bound(pod(&Value::Null, &status));
    assert_eq!(told, "SandboxNotReady");
    assert!(!message.contains("probe"), "{message}");
}

// Proves: C-018, C-029
#[rstest]
#[case::at_work(running(SCHEDULED), "SandboxStarting", "is being made")]
#[case::done(terminated("Completed", 0, ""), "SandboxStarting", "is being made")]
#[case::failed(
    terminated("Error", 2, ""),
    "CrashLoopBackOff",
    "container \"mesh-init\", which is not the class's, ends by itself (Error, exit code 2)"
)]
fn a_container_that_initialises_the_pod_is_told_of_while_it_fails(
    #[case] first: Value,
    #[case] reason: &str,
    #[case] words: &str,
) {
    let waits = json!({"waiting": {"reason": "PodInitializing"}});
    let (told, message) = told_of_first(vec![initialised(&first, &waits, false)]);
    assert_eq!(told, reason);
    assert!(message.contains(words), "{message}");
}

// Proves: C-018
#[rstest]
fn a_ready_pod_binds_its_claim_whatever_initialised_it() {
    let done = terminated("Completed", 0, "");
    let mut world = World::codegen();
    world.settle(start());
    world.pod_is(|_| {});
    world.observed.pods = vec![initialised(&done, &running(SCHEDULED), true)];
    world.settle(at(1));
    assert_eq!(world.phase(), Some(ClaimPhase::Bound));
}

// Proves: C-029
#[rstest]
fn what_a_registry_answers_reaches_no_terminal_as_it_is() {
    let words = "rpc error: code = Unknown desc = unexpected status: \u{1b}[2J\r\n418";
    let pod = unready(&waiting("ErrImagePull", words), &json!({}), 0);
    let (_, message) = told_of_first(vec![pod]);
    assert!(
        message.contains("unexpected status:  [2J  418"),
        "{message}"
    );
}
