//! The objects of a claim, field by field.

use rstest::rstest;
use serde_json::{Value, json};

use super::world::{CLAIM_UID, World};
use crate::claim::digest::digest;
use crate::claim::observed::ObjectKind;

fn manifest(world: &World, kind: ObjectKind) -> Value {
    let plan = world.planned();
    let mut intents = plan.ensure.into_iter();
    let intent = intents.find(|intent| intent.kind == kind).unwrap();
    intent.object
}

fn pod(world: &World) -> Value {
    manifest(world, ObjectKind::Deployment)["spec"]["template"]["spec"].clone()
}

fn sandbox(world: &World) -> Value {
    pod(world)["containers"][0].clone()
}

// Proves: O-001, O-002, O-003
#[rstest]
#[case(ObjectKind::NetworkPolicy, "networking.k8s.io/v1", "NetworkPolicy")]
#[case(ObjectKind::Service, "v1", "Service")]
#[case(ObjectKind::Deployment, "apps/v1", "Deployment")]
fn each_object_bears_the_claims_name_and_is_owned_by_it(
    #[case] kind: ObjectKind,
    #[case] api_version: &str,
    #[case] name: &str,
) {
    let object = manifest(&World::codegen(), kind);
    assert_eq!(object["apiVersion"], api_version);
    assert_eq!(object["kind"], name);
    assert_eq!(object["metadata"]["name"], "my-agent-sbx-7k2qp-sandbox");
    assert_eq!(object["metadata"]["namespace"], "my-agents");
    assert_eq!(
        object["metadata"]["ownerReferences"],
        json!([{
            "apiVersion": "omnia.altairalabs.ai/v1alpha1",
            "kind": "SandboxClaim",
            "name": "my-agent-sbx-7k2qp",
            "uid": CLAIM_UID,
            "controller": true,
            "blockOwnerDeletion": true,
        }])
    );
}

// Proves: O-004, O-006, O-007, O-008, O-009, O-011, O-012, O-013, O-014, O-015, O-016, O-017, O-018, O-020, O-035, O-036
#[rstest]
fn the_example_class_renders_to_this_deployment() {
    let deployment = manifest(&World::codegen(), ObjectKind::Deployment);
    let selector = json!({
        "omnia.altairalabs.ai/sandbox-session": "session-7",
        "omnia.altairalabs.ai/sandbox-claim": "my-agent-sbx-7k2qp",
        "omnia.altairalabs.ai/sandbox-claim-uid": CLAIM_UID,
    });
    let expected = json!({
        "replicas": 1,
        "revisionHistoryLimit": 1,
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": selector},
        "template": {
            "metadata": {
                "labels": {
                    "omnia.altairalabs.ai/sandbox-session": "session-7",
                    "omnia.altairalabs.ai/sandbox-claim": "my-agent-sbx-7k2qp",
                    "omnia.altairalabs.ai/sandbox-claim-uid": CLAIM_UID,
                    "omnia.altairalabs.ai/sandbox-agent-runtime": "my-agent",
                    "omnia.altairalabs.ai/sandbox-pod": "true",
                    "omnia.altairalabs.ai/component": "sandbox",
                    "istio.io/dataplane-mode": "none",
                    "kuma.io/sidecar-injection": "disabled",
                    "sidecar.istio.io/inject": "false",
                },
                "annotations": {
                    "consul.hashicorp.com/connect-inject": "false",
                    "linkerd.io/inject": "disabled",
                    "sidecar.istio.io/inject": "false",
                },
            },
            "spec": {
                "automountServiceAccountToken": false,
                "enableServiceLinks": false,
                "runtimeClassName": "kata-containers",
                "securityContext": {
                    "runAsNonRoot": true,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "containers": [{
                    "name": "sandbox",
                    "image": "ghcr.io/altairalabs/codegen-sandbox:latest",
                    "imagePullPolicy": "IfNotPresent",
                    "args": ["-addr=:8080", "-workspace=/workspace"],
                    "env": [
                        {"name": "HOME", "value": "/sandbox-cache"},
                        {"name": "GOCACHE", "value": "/sandbox-cache/go-build"},
                    ],
                    "ports": [{"name": "mcp", "containerPort": 8080, "protocol": "TCP"}],
                    "readinessProbe": {
                        "tcpSocket": {"port": 8080},
                        "periodSeconds": 1,
                        "failureThreshold": 10,
                    },
                    "resources": {
                        "requests": {"cpu": "50m", "memory": "128Mi"},
                        "limits": {"cpu": "1", "memory": "512Mi"},
                    },
                    "securityContext": {
                        "allowPrivilegeEscalation": false,
                        "capabilities": {"drop": ["ALL"]},
                        "readOnlyRootFilesystem": false,
                    },
                    "volumeMounts": [
                        {
                            "name": "sandgate-workspace",
                            "mountPath": "/workspace",
                            "subPath": format!("sandboxes/{CLAIM_UID}"),
                        },
                        {"name": "cache", "mountPath": "/sandbox-cache"},
                    ],
                }],
                "volumes": [
                    {
                        "name": "sandgate-workspace",
                        "persistentVolumeClaim": {"claimName": "workspace-my-workspace-content"},
                    },
                    {"name": "cache", "emptyDir": {"sizeLimit": "4Gi"}},
                ],
            },
        },
    });
    assert_eq!(deployment["spec"], expected);
}

// Proves: O-004, O-005, O-013
#[rstest]
fn the_service_offers_each_class_port_under_its_name_and_number() {
    let mut world = World::codegen();
    let ports = json!([{"name": "mcp", "port": 8080}, {"name": "web", "port": 9000}]);
    world.class_mut().ports = serde_json::from_value(ports).unwrap();
    assert_eq!(
        manifest(&world, ObjectKind::Service)["spec"],
        json!({
            "type": "ClusterIP",
            "selector": {
                "omnia.altairalabs.ai/sandbox-session": "session-7",
                "omnia.altairalabs.ai/sandbox-claim": "my-agent-sbx-7k2qp",
                "omnia.altairalabs.ai/sandbox-claim-uid": CLAIM_UID,
            },
            "ports": [
                {"name": "mcp", "port": 8080, "targetPort": 8080, "protocol": "TCP"},
                {"name": "web", "port": 9000, "targetPort": 9000, "protocol": "TCP"},
            ],
        })
    );
}

// Proves: O-014
#[rstest]
#[case::tcp_of_a_named_port(json!({"port": "web"}), json!({"tcpSocket": {"port": 9000}}))]
#[case::http(
    json!({"port": "web", "httpGet": {"path": "/healthz"}}),
    json!({"httpGet": {"path": "/healthz", "port": 9000}})
)]
#[case::http_of_the_first_port(
    json!({"httpGet": {"path": "/"}}),
    json!({"httpGet": {"path": "/", "port": 8080}})
)]
fn readiness_is_probed_as_the_class_says(#[case] readiness: Value, #[case] action: Value) {
    let mut world = World::codegen();
    let ports = json!([{"name": "mcp", "port": 8080}, {"name": "web", "port": 9000}]);
    world.class_mut().ports = serde_json::from_value(ports).unwrap();
    world.class_mut().readiness = serde_json::from_value(readiness).unwrap();
    let mut expected = action;
    expected["periodSeconds"] = json!(1);
    expected["failureThreshold"] = json!(10);
    assert_eq!(sandbox(&world)["readinessProbe"], expected);
}

// Proves: O-011, O-012, O-016, O-017, O-020
#[rstest]
fn a_class_with_everything_is_copied_as_written() {
    let mut world = World::codegen();
    let class = world.class_mut();
    *class = serde_json::from_value(json!({
        "image": "registry.example/tool@sha256:0",
        "imagePullPolicy": "Always",
        "ports": [{"name": "mcp", "port": 1}],
        "trusted": true,
        "filesystem": {"readOnlyRoot": true, "scratch": [
            {"name": "ram", "mountPath": "/ram", "sizeLimit": "64Mi", "medium": "Memory"},
        ]},
        "nodeSelector": {"pool": "sandboxes"},
        "tolerations": [{"key": "sandbox", "operator": "Exists", "effect": "NoSchedule"}],
    }))
    .unwrap();
    let pod = pod(&world);
    let sandbox = sandbox(&world);
    assert_eq!(sandbox["imagePullPolicy"], "Always");
    assert_eq!(sandbox.get("args"), None);
    assert_eq!(sandbox.get("env"), None);
    assert_eq!(
        sandbox.get("resources"),
        None,
        "the namespace's LimitRange applies"
    );
    assert_eq!(sandbox["securityContext"]["readOnlyRootFilesystem"], true);
    assert_eq!(
        sandbox["volumeMounts"],
        json!([{"name": "ram", "mountPath": "/ram"}])
    );
    assert_eq!(
        pod["volumes"],
        json!([{"name": "ram", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}}])
    );
    assert_eq!(pod["nodeSelector"], json!({"pool": "sandboxes"}));
    assert_eq!(
        pod["tolerations"],
        json!([{"key": "sandbox", "operator": "Exists", "effect": "NoSchedule"}])
    );
    assert_eq!(pod.get("runtimeClassName"), None);
}

// Proves: O-016
#[rstest]
#[case(json!({"limits": {}, "requests": {"cpu": "1"}}), json!({"requests": {"cpu": "1"}}))]
#[case(json!({"limits": {}, "requests": {}}), json!(null))]
#[case(json!({}), json!(null))]
fn empty_resources_are_left_out(#[case] written: Value, #[case] sent: Value) {
    let mut world = World::codegen();
    world.class_mut().resources = serde_json::from_value(written).unwrap();
    assert_eq!(sandbox(&world)["resources"], sent);
}

// Proves: O-019
#[rstest]
#[case("ReadOnly", json!(true))]
#[case("ReadWrite", json!(null))]
fn the_class_decides_whether_a_scratch_workspace_may_be_written(
    #[case] access: &str,
    #[case] read_only: Value,
) {
    let mut world = World::codegen();
    let mounts = json!([{"role": "scratch", "access": access}]);
    world.class_mut().mounts = serde_json::from_value(mounts).unwrap();
    assert_eq!(sandbox(&world)["volumeMounts"][0]["readOnly"], read_only);
}

// Proves: O-037
#[rstest]
fn the_baseline_policy_shuts_every_sandbox_pod_and_belongs_to_nobody() {
    let baseline = manifest(&World::codegen(), ObjectKind::Baseline);
    assert_eq!(baseline["metadata"]["name"], "sandgate-baseline");
    assert_eq!(baseline["metadata"]["namespace"], "my-agents");
    assert_eq!(baseline["metadata"].get("ownerReferences"), None);
    assert_eq!(
        baseline["spec"],
        json!({
            "podSelector": {"matchLabels": {"omnia.altairalabs.ai/sandbox-pod": "true"}},
            "policyTypes": ["Ingress", "Egress"],
        })
    );
}

// Proves: O-040
#[rstest]
fn a_digest_stays_the_same_for_the_same_object_across_versions() {
    let object = json!({
        "metadata": {
            "name": "a",
            "resourceVersion": "7",
            "labels": {"app.kubernetes.io/managed-by": "sandgate", "theirs": "x"},
            "annotations": {"theirs": "y"},
            "ownerReferences": [{"uid": "u", "controller": true}],
        },
        "spec": {"b": [1, "2", null, true], "a": {}},
        "status": {"replicas": 1},
    });
    assert_eq!(
        digest(&object),
        "f684ac718fc79868fcd24f34e0108cc12c43fd2d9b4a483537444c2e8187e033"
    );
}

// Proves: O-040
#[rstest]
#[case(json!({"ownerReferences": []}))]
#[case(json!({"ownerReferences": null, "labels": null}))]
#[case(json!({"labels": {"theirs": "x"}, "resourceVersion": "8"}))]
fn what_is_not_ours_does_not_move_the_digest(#[case] metadata: Value) {
    let spec = json!({"replicas": 1});
    assert_eq!(
        digest(&json!({"metadata": metadata, "spec": spec, "status": {"x": 1}})),
        digest(&json!({"metadata": {}, "spec": spec})),
    );
}
