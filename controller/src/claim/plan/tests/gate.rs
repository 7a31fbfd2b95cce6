//! Which claims get objects at all.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use rstest::rstest;
use sandgate_shared::api::{
    ClaimPhase, SandboxClaim, outside::AgentRuntimeSpec, sandbox_claim::MountBinding,
};
use sandgate_shared::trust::{Answer, Distrust, Stood, Trust};
use serde_json::{Value, json};

use super::super::may_be_promoted;
use super::world::{World, at, proven, start, stood};
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

/// What each of these holds only the operator may write, and a claim that nobody can vouch for fails.
fn reserved() -> [(Value, &'static str); 7] {
    let project = json!({"role": "project", "id": "a", "path": "projects/a"});
    let connections = json!([{"role": "git", "connection": "github"}]);
    [
        (json!({"mounts": [project]}), "MountNotGranted"),
        (json!({"mounts": [{"role": "session"}]}), "MountNotGranted"),
        (json!({"mount": project}), "MountNotGranted"),
        (json!({"connections": connections}), "ConnectionsNotGranted"),
        (
            json!({"targetPath": "projects/checkout-service"}),
            "TargetPathNotGranted",
        ),
        (
            json!({"enrolment": {"connection": "shop"}, "agentRuntimeRef": null}),
            "EnrolmentNotGranted",
        ),
        // The first of enrolment, mount, Connections and targetPath is spoken of.
        (
            json!({"mounts": [project], "connections": connections, "targetPath": "a"}),
            "MountNotGranted",
        ),
    ]
}

/// A claim made so many seconds after policy and proof, with [`Settings`]' grace of a minute.
fn made_after(spec: &Value, seconds: i64) -> World {
    let mut world = with(spec);
    world.observed.claim.metadata.creation_timestamp = Some(Time(at(seconds)));
    world.observed.trust = proven();
    world
}

// Proves: P-016, P-029
#[test]
fn a_claim_only_the_operator_may_write_waits_for_proof_without_any_object() {
    for (spec, _) in reserved() {
        for trust in [
            Trust::Unknown,
            Trust::Unread("it is down".to_owned()),
            Trust::Held {
                sibling: "other".to_owned(),
            },
            Trust::Unproven {
                stood: stood(),
                answered: Some(Answer::Policy("theirs".to_owned())),
            },
            Trust::Stopped {
                stood: stood(),
                answered: Answer::Admitted,
            },
        ] {
            let mut world = made_after(&spec, 3600);
            world.observed.trust = trust;
            world.settle(start());
            assert_eq!(world.phase(), Some(ClaimPhase::Pending));
            assert_eq!(world.ready().0, "ProvenanceUnproven");
            assert!(world.store.is_empty());
            assert_eq!(world.status().sandbox_name, None);
            assert_eq!(world.writes, 1, "one status and nothing else");
        }
    }
}

// Proves: P-013, P-020, P-021, P-022, P-023
#[test]
fn a_claim_that_nothing_can_prove_any_more_fails_without_any_object_and_says_what_it_holds() {
    for (spec, reason) in reserved() {
        let within_the_grace = made_after(&spec, 60);
        let mut without_policy = made_after(&spec, 3600);
        without_policy.observed.trust = Trust::Broken(Distrust::NotServed);
        for mut world in [within_the_grace, without_policy] {
            world.settle(at(3601));
            assert_eq!(world.phase(), Some(ClaimPhase::Failed));
            assert_eq!(world.ready().0, reason);
            assert!(world.store.is_empty());
            assert_eq!(world.events, [reason]);
        }
    }
}

fn verified(world: &World) -> bool {
    let conditions = world.status().conditions.unwrap_or_default();
    conditions
        .iter()
        .any(|it| it.type_ == "ProvenanceVerified" && it.reason == "WrittenByOperator")
}

// Proves: P-013, P-015, C-036
#[test]
fn a_claim_made_after_the_grace_is_recorded_first_and_then_gets_what_this_version_can_build() {
    for (spec, reason) in reserved() {
        let mut world = made_after(&spec, 61);
        world.reconcile(at(62));
        assert!(verified(&world));
        assert!(world.store.is_empty(), "recorded before anything is made");
        world.settle(at(62));
        assert!(verified(&world));
        let (objects, phase, told) = match reason {
            "TargetPathNotGranted" => (4, ClaimPhase::Pending, "SandboxStarting"),
            // Its class declares no role.
            "ConnectionsNotGranted" => (0, ClaimPhase::Failed, "ConnectionRoleUndeclared"),
            // Its class lists no role, and this installation sees no content.
            "MountNotGranted" => {
                let told = ["MountNotPermitted", "SessionWorkspaceUnavailable"];
                assert!(told.contains(&world.ready().0.as_str()), "{spec}");
                (0, ClaimPhase::Failed, "")
            }
            _ => (0, ClaimPhase::Pending, "PartNotBuilt"),
        };
        assert_eq!(world.store.len(), objects);
        assert_eq!(world.phase(), Some(phase));
        assert!(told.is_empty() || world.ready().0 == told);
    }
}

// Proves: P-017
#[test]
fn a_verified_claim_outlives_the_policy_that_proved_it_bound_or_not() {
    for (spec, _) in reserved() {
        let mut world = made_after(&spec, 61);
        world.settle(at(62));
        let (before, store) = (world.status(), world.store.clone());
        for trust in [
            Trust::Broken(Distrust::NotServed),
            Trust::Unproven {
                stood: Stood {
                    since: at(600),
                    ..stood()
                },
                answered: None,
            },
            Trust::Unknown,
        ] {
            world.observed.trust = trust;
            world.settle(at(601));
            assert_eq!(
                (world.status(), world.store.clone()),
                (before.clone(), store.clone())
            );
        }
    }
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
const SYNC_WITHOUT_WORKSPACE: Fault = (
    |world| {
        world.class_mut().filesystem = None;
        let claim = &mut world.observed.claim;
        claim.spec.target_path = Some("projects/a".to_owned());
        claim.metadata.creation_timestamp = Some(Time(at(61)));
        world.observed.trust = Trust::Proven {
            stood: stood(),
            proof: start(),
        };
    },
    "WorkspaceNotSupported",
    "the claim sets targetPath",
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
#[case::sync_without_workspace(SYNC_WITHOUT_WORKSPACE)]
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

/// A claim that was bound by an operator without the policy, `seconds` after that came.
fn bound_unverified(spec: &Value, seconds: i64) -> World {
    let mut world = made_after(spec, seconds);
    let conditions = json!([{"type": "Bound", "status": "True", "reason": "SandboxReady",
        "message": "the sandbox was ready once", "lastTransitionTime": at(0).to_string()}]);
    let status = json!({"phase": "Bound", "conditions": conditions});
    world.observed.claim.status = Some(serde_json::from_value(status).unwrap());
    world
}

// Proves: P-018, P-019, P-025
#[test]
fn a_claim_bound_before_the_policy_keeps_running_is_marked_once_and_promotes_nothing() {
    for (spec, _) in &reserved()[3..5] {
        let mut world = bound_unverified(spec, -10);
        world.settle(at(0));
        world.pod_is(|pod| pod.ready = true);
        world.settle(at(1));
        assert_eq!(
            world.phase(),
            Some(ClaimPhase::Bound),
            "{:?}",
            world.ready()
        );
        let (status, reason, _) = world.condition("ProvenanceVerified").unwrap();
        assert_eq!(
            (status.as_str(), reason.as_str()),
            ("True", "BoundBeforePolicy")
        );
        assert!(!may_be_promoted(&world.observed.claim));
        let (_, decision) = world.reconcile(at(100));
        assert!(decision.status.is_none());
    }
}

// Proves: P-018
#[test]
fn a_bound_claim_as_young_as_the_policy_or_without_anything_to_prove_is_not_marked() {
    let (spec, _) = reserved()[4].clone();
    for (spec, seconds) in [(spec.clone(), 0), (spec, 10), (json!({}), -10)] {
        let mut world = bound_unverified(&spec, seconds);
        world.settle(at(11));
        assert_eq!(
            world.condition("ProvenanceVerified"),
            None,
            "{spec} {seconds}"
        );
        assert!(!may_be_promoted(&world.observed.claim));
    }
}

// Proves: P-025
#[test]
fn only_the_work_of_a_claim_that_the_operator_is_known_to_have_written_is_promoted() {
    let (spec, _) = reserved()[4].clone();
    let mut world = made_after(&spec, 61);
    assert!(!may_be_promoted(&world.observed.claim));
    world.settle(at(62));
    assert!(
        may_be_promoted(&world.observed.claim),
        "{:?}",
        world.status()
    );
}
