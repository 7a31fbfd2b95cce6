//! What is read of API objects, odd ones too.

use k8s_openapi::api::{
    apps::v1::ReplicaSet,
    core::v1::{Pod, Service},
};
use rstest::rstest;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::super::{
    AllowedTarget, LiveObject, ObservedPod, ObservedReplicaSet, Target, TargetPort, Terminated,
    Waiting,
};

fn typed<T: DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).unwrap()
}

// Proves: O-002, O-040
#[rstest]
fn a_live_object_is_read_with_its_controller_and_not_with_another_owner() {
    let live = LiveObject::read(&json!({
        "metadata": {
            "uid": "u", "resourceVersion": "7", "deletionTimestamp": "2026-11-20T10:00:00Z",
            "annotations": {"omnia.altairalabs.ai/intent-hash": "h"},
            "ownerReferences": [{"uid": "a"}, {"uid": "b", "controller": true}],
        },
        "spec": {"ports": [{"name": "mcp", "port": 8080}, {"port": 1}, {"name": "x"}]},
    }))
    .unwrap();
    assert_eq!(live.controller.as_deref(), Some("b"));
    assert_eq!(live.intent.as_deref(), Some("h"));
    assert_eq!(live.resource_version, "7");
    assert!(live.deleting);
    assert_eq!(live.ports, [("mcp".to_owned(), 8080)]);
}

// Proves: O-002
#[rstest]
#[case(json!(null))]
#[case(json!([]))]
#[case(json!({"metadata": {"uid": 7}}))]
#[case(json!({"metadata": {"name": "x"}}))]
fn what_is_no_object_reads_as_none(#[case] odd: Value) {
    assert_eq!(LiveObject::read(&odd), None);
}

// Proves: O-040
#[rstest]
#[case(json!({"metadata": {"uid": "u", "ownerReferences": "x", "annotations": []}, "spec": {"ports": 3}}))]
#[case(json!({"metadata": {"uid": "u", "ownerReferences": [1, {"controller": "yes"}]}}))]
fn an_object_with_odd_fields_reads_without_them(#[case] odd: Value) {
    let live = LiveObject::read(&odd).unwrap();
    assert_eq!((live.controller, live.intent), (None, None));
}

// Proves: O-024, O-025
#[rstest]
fn a_service_is_read_with_its_selector_and_target_ports() {
    let service: Service = typed(json!({"spec": {
        "selector": {"app": "db"},
        "clusterIPs": ["10.96.0.9", "fd00:10::9"],
        "ports": [
            {"port": 80},
            {"port": 443, "targetPort": 8443, "protocol": "TCP"},
            {"port": 53, "targetPort": "dns", "protocol": "UDP"},
        ],
    }}));
    let port = |port, target, protocol: &str| TargetPort {
        port,
        target,
        protocol: protocol.to_owned(),
    };
    assert_eq!(
        AllowedTarget::read(&service),
        AllowedTarget {
            selector: [("app".to_owned(), "db".to_owned())].into(),
            addresses: vec!["10.96.0.9".parse().unwrap(), "fd00:10::9".parse().unwrap(),],
            ports: vec![
                port(80, Target::Number(80), "TCP"),
                port(443, Target::Number(8443), "TCP"),
                port(53, Target::Name("dns".to_owned()), "UDP"),
            ],
        }
    );
}

// Proves: O-030
#[rstest]
#[case::external(json!({"spec": {"type": "ExternalName", "selector": {"app": "db"}}}))]
#[case::without_selector(json!({"spec": {"ports": [{"port": 80}]}}))]
#[case::without_spec(json!({}))]
fn a_service_that_selects_no_pods_reads_so(#[case] service: Value) {
    assert!(AllowedTarget::read(&typed(service)).selector.is_empty());
}

// Proves: O-024
#[rstest]
#[case::headless(json!({"clusterIP": "None", "clusterIPs": ["None"]}))]
#[case::external(json!({"type": "ExternalName", "externalName": "db.example"}))]
fn a_service_without_an_address_of_its_own_reads_so(#[case] spec: Value) {
    let service = AllowedTarget::read(&typed(json!({"spec": spec})));
    assert_eq!(service.addresses, Vec::<std::net::IpAddr>::new());
}

// Proves: C-032
#[rstest]
#[case("True", Some("exceeded quota: small"))]
#[case("False", None)]
fn a_replica_set_is_read_with_what_it_was_refused(
    #[case] status: &str,
    #[case] failure: Option<&str>,
) {
    let set: ReplicaSet = typed(json!({
        "metadata": {"uid": "r", "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "d", "controller": true},
        ]},
        "status": {"replicas": 0, "conditions": [
            {"type": "ReplicaFailure", "status": status, "message": "exceeded quota: small"},
        ]},
    }));
    let read = ObservedReplicaSet::read(&set);
    assert_eq!(read.controller.as_deref(), Some("d"));
    assert_eq!(read.failure.as_deref(), failure);
}

// Proves: C-018, C-022
#[rstest]
fn a_pod_is_read_with_what_keeps_it_from_being_ready() {
    let pod: Pod = typed(json!({
        "metadata": {"name": "p", "uid": "u", "creationTimestamp": "2026-11-20T10:00:00Z"},
        "status": {
            "phase": "Pending",
            "conditions": [
                {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"},
                {"type": "Ready", "status": "False"},
            ],
            "containerStatuses": [{
                "name": "sandbox", "image": "i", "imageID": "", "ready": false, "restartCount": 2,
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
                "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137}},
            }],
        },
    }));
    let read = ObservedPod::read(&pod);
    assert_eq!(read.unschedulable.as_deref(), Some("0/1 nodes"));
    assert!(!read.ready && !read.finished && !read.deleting);
    let container = &read.containers[0];
    assert_eq!(
        container.waiting,
        Some(Waiting {
            reason: "CrashLoopBackOff".to_owned(),
            message: "back-off".to_owned(),
        })
    );
    assert_eq!(
        container.terminated,
        Some(Terminated {
            reason: "OOMKilled".to_owned(),
            exit_code: 137,
            message: String::new(),
        })
    );
}

// Proves: C-029
#[rstest]
#[case::never_started("StartError", "exec: no such file")]
#[case::ended("Error", "")]
fn of_a_program_that_ran_its_own_last_words_are_not_read(#[case] reason: &str, #[case] read: &str) {
    let pod: Pod = typed(json!({"status": {"containerStatuses": [{
        "name": "sandbox", "image": "i", "imageID": "", "ready": false, "restartCount": 1,
        "lastState": {"terminated": {"reason": reason, "exitCode": 1, "message": "exec: no such file"}},
    }]}}));
    let container = &ObservedPod::read(&pod).containers[0];
    assert_eq!(container.terminated.as_ref().unwrap().message, read);
}

// Proves: C-022
#[rstest]
#[case::gated("False", "SchedulingGated")]
#[case::scheduled("True", "Unschedulable")]
fn only_a_pod_the_scheduler_cannot_place_is_unschedulable(
    #[case] status: &str,
    #[case] reason: &str,
) {
    let pod: Pod = typed(json!({"status": {"conditions": [
        {"type": "PodScheduled", "status": status, "reason": reason, "message": "m"},
    ]}}));
    assert_eq!(ObservedPod::read(&pod).unschedulable, None);
}

// Proves: C-018
#[rstest]
#[case("Running", "True", true, false)]
#[case("Failed", "True", true, true)]
#[case("Succeeded", "False", false, true)]
fn a_pods_phase_tells_whether_it_will_ever_run_again(
    #[case] phase: &str,
    #[case] condition: &str,
    #[case] ready: bool,
    #[case] finished: bool,
) {
    let pod: Pod = typed(json!({"status": {"phase": phase, "conditions": [
        {"type": "Ready", "status": condition},
    ]}}));
    let read = ObservedPod::read(&pod);
    assert_eq!((read.ready, read.finished), (ready, finished));
}
