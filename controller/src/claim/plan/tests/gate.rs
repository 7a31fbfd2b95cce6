//! Which claims get objects at all.

use rstest::rstest;
use sandgate_shared::api::{
    ClaimPhase, SandboxClaim, outside::AgentRuntimeSpec, sandbox_claim::MountBinding,
};
use serde_json::{Value, json};

use super::world::{World, start};
use crate::claim::observed::Lookup;

/// The world's claim with fields of its spec added.
fn with(spec: &Value) -> World {
    let mut world = World::codegen();
    let mut claim = serde_json::to_value(&world.observed.claim).unwrap();
    for (key, value) in spec.as_object().unwrap() {
        claim["spec"][key] = value.clone();
    }
    world.observed.claim = serde_json::from_value::<SandboxClaim>(claim).unwrap();
    world
}

// Proves: P-016, C-036
#[rstest]
#[case::configured_role(json!({"mounts": [{"role": "project", "id": "a", "path": "projects/a"}]}))]
#[case::session_workspace(json!({"mounts": [{"role": "session"}]}))]
#[case::deprecated_mount(json!({"mount": {"role": "project", "id": "a", "path": "projects/a"}}))]
#[case::connection(json!({"connections": [{"role": "git", "connection": "github"}]}))]
#[case::target_path(json!({"targetPath": "projects/checkout-service"}))]
#[case::enrolment(json!({"enrolment": {"connection": "shop"}, "agentRuntimeRef": null}))]
fn a_claim_only_the_operator_may_write_waits_for_proof_without_any_object(#[case] spec: Value) {
    let mut world = with(&spec);
    world.settle(start());
    assert_eq!(world.phase(), Some(ClaimPhase::Pending));
    assert_eq!(world.ready().0, "ProvenanceUnproven");
    assert!(world.store.is_empty());
    assert_eq!(world.status().sandbox_name, None);
    assert_eq!(world.writes, 1, "one status and nothing else");
}

// Proves: P-016, P-024
#[rstest]
#[case::no_mounts(json!({}))]
#[case::empty_mounts(json!({"mounts": []}))]
#[case::explicit_scratch(json!({"mounts": [{"role": "scratch"}]}))]
#[case::empty_role(json!({"mounts": [{"role": ""}]}))]
#[case::no_connections(json!({"connections": []}))]
fn a_scratch_claim_needs_no_proof(#[case] spec: Value) {
    let mut world = with(&spec);
    world.settle(start());
    assert_eq!(world.ready().0, "SandboxStarting");
    assert_eq!(world.store.len(), 4);
}

/// A change to the world, and the reason it fails a claim for.
type Fault = (fn(&mut World), &'static str, &'static str);

const RUNTIME_MISSING: Fault = (
    |world| world.observed.runtime = Lookup::Missing,
    "AgentRuntimeNotFound",
    "AgentRuntime \"my-agent\" does not exist in the claim's namespace",
);
const SANDBOXES_UNSET: Fault = (
    |world| world.observed.runtime = Lookup::Found(AgentRuntimeSpec::default()),
    "SandboxesDisabled",
    "spec.sandbox.enabled",
);
const SANDBOXES_OFF: Fault = (
    |world| {
        let off = json!({"sandbox": {"enabled": false}});
        world.observed.runtime = Lookup::Found(serde_json::from_value(off).unwrap());
    },
    "SandboxesDisabled",
    "spec.sandbox.enabled",
);
const CLASS_MISSING: Fault = (
    |world| world.observed.class = Lookup::Missing,
    "ClassNotFound",
    "ClusterSandboxClass \"codegen-default\" does not exist; create it, or name a SandboxClass",
);
const NO_WORKSPACE: Fault = (
    |world| {
        world.class_mut().filesystem = None;
        world.observed.claim.spec.mounts = Some(vec![MountBinding::default()]);
    },
    "WorkspaceNotSupported",
    "no filesystem.workspace",
);
const SCRATCH_NOT_LISTED: Fault = (
    |world| {
        let listed = json!([{"role": "project"}]);
        world.class_mut().mounts = serde_json::from_value(listed).unwrap();
    },
    "MountNotPermitted",
    "does not list role scratch",
);
const PROBE_OF_NO_PORT: Fault = (
    |world| {
        let readiness = json!({"port": "web"});
        world.class_mut().readiness = serde_json::from_value(readiness).unwrap();
    },
    "InvalidClass",
    "readiness.port \"web\" is none of its ports",
);

const KEPT_VOLUME_NAME: Fault = (
    |world| {
        let scratch = json!({"scratch": [
            {"name": "sandgate-workspace", "mountPath": "/x", "sizeLimit": "1Gi"},
        ]});
        world.class_mut().filesystem = serde_json::from_value(scratch).unwrap();
    },
    "InvalidClass",
    "sandgate-workspace, a name the operator keeps",
);

// Proves: C-002, C-004, C-005, C-029
#[rstest]
#[case::kept_volume_name(KEPT_VOLUME_NAME)]
#[case::runtime_missing(RUNTIME_MISSING)]
#[case::sandboxes_unset(SANDBOXES_UNSET)]
#[case::sandboxes_off(SANDBOXES_OFF)]
#[case::class_missing(CLASS_MISSING)]
#[case::no_workspace(NO_WORKSPACE)]
#[case::scratch_not_listed(SCRATCH_NOT_LISTED)]
#[case::probe_of_no_port(PROBE_OF_NO_PORT)]
fn a_claim_that_cannot_be_served_fails_with_a_reason_and_the_way_out(#[case] fault: Fault) {
    let (break_it, reason, words) = fault;
    let mut world = World::codegen();
    break_it(&mut world);
    world.settle(start());
    assert_eq!(world.phase(), Some(ClaimPhase::Failed));
    assert_eq!(world.ready().0, reason);
    assert!(world.ready().1.contains(words), "{}", world.ready().1);
    assert!(world.store.is_empty());
    assert_eq!(world.events, [reason]);
}

// Proves: C-034
#[rstest]
#[case::runtime_missing(RUNTIME_MISSING)]
#[case::sandboxes_off(SANDBOXES_OFF)]
#[case::class_missing(CLASS_MISSING)]
#[case::scratch_not_listed(SCRATCH_NOT_LISTED)]
#[case::probe_of_no_port(PROBE_OF_NO_PORT)]
fn a_bound_claim_survives_the_same_fault(#[case] fault: Fault) {
    let mut world = World::bound();
    let before = (world.status(), world.store.clone());
    fault.0(&mut world);
    world.settle(start());
    assert_eq!((world.status(), world.store.clone()), before);
}

// Proves: C-034
#[rstest]
#[case::built(None)]
#[case::with_a_bound_condition_that_is_not_true(Some("False"))]
fn a_claim_that_never_bound_fails_when_its_class_no_longer_renders(#[case] bound: Option<&str>) {
    let mut world = World::codegen();
    world.settle(start());
    if let Some(bound) = bound {
        let mut claim = serde_json::to_value(&world.observed.claim).unwrap();
        let conditions = claim["status"]["conditions"].as_array_mut().unwrap();
        conditions.push(json!({
            "type": "Bound", "status": bound, "reason": "X", "message": "",
            "lastTransitionTime": "2026-11-20T09:00:00Z",
        }));
        world.observed.claim = serde_json::from_value(claim).unwrap();
    }
    PROBE_OF_NO_PORT.0(&mut world);
    world.settle(start());
    assert_eq!(world.phase(), Some(ClaimPhase::Failed));
    assert_eq!(world.ready().0, "InvalidClass");
}

// Proves: C-028
#[rstest]
fn a_failed_claim_stays_failed_when_its_fault_is_gone() {
    let mut world = World::codegen();
    world.observed.class = Lookup::Missing;
    world.settle(start());
    let failed = world.status();
    world.observed.class = World::codegen().observed.class;
    world.settle(start());
    assert_eq!(world.status(), failed);
    assert!(world.store.is_empty());
}

// Proves: C-032
#[rstest]
#[case::namespace(|world: &mut World| world.observed.namespace_terminating = true)]
#[case::claim(|world: &mut World| {
    let mut claim = serde_json::to_value(&world.observed.claim).unwrap();
    claim["metadata"]["deletionTimestamp"] = json!("2026-11-20T10:00:00Z");
    world.observed.claim = serde_json::from_value(claim).unwrap();
})]
#[case::claim_without_uid(|world: &mut World| world.observed.claim.metadata.uid = None)]
fn a_claim_on_its_way_out_is_left_alone(#[case] going: fn(&mut World)) {
    let mut world = World::codegen();
    going(&mut world);
    world.settle(start());
    assert_eq!(world.writes, 0);
}
