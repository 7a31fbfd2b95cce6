//! What the status says, when it is written, and which Events go with it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use rstest::rstest;
use sandgate_shared::api::{ClaimPhase, SandboxClaimStatus};
use serde_json::{Value, json};

use super::super::{Applied, status, status_patch};
use super::world::{World, at, claim, start};
use crate::claim::observed::{Lookup, ObjectKind};

// Proves: C-027
#[rstest]
#[case::earlier(-600, 0)]
#[case::later(600, 600)]
fn a_phase_change_is_a_use_and_never_moves_last_used_back(
    #[case] stands: i64,
    #[case] expected: i64,
) {
    let mut world = World::codegen();
    world.observed.claim.status = Some(SandboxClaimStatus {
        last_used_at: Some(Time(at(stands))),
        ..SandboxClaimStatus::default()
    });
    world.settle(start());
    assert_eq!(world.status().last_used_at, Some(Time(at(expected))));
}

// Proves: C-027
#[rstest]
fn a_change_within_a_phase_is_no_use() {
    let mut world = World::codegen();
    world.settle(start());
    world.pod_is(|pod| pod.unschedulable = Some("0/1 nodes".to_owned()));
    world.settle(at(60));
    assert_eq!(world.ready().0, "Unschedulable");
    assert_eq!(world.status().last_used_at, Some(Time(start())));
}

// Proves: C-033
#[rstest]
fn a_condition_keeps_its_transition_time_while_its_status_stays() {
    let mut world = World::codegen();
    world.settle(start());
    let since = |world: &World, name: &str| {
        let conditions = world.status().conditions.unwrap();
        let found = conditions.iter().find(|found| found.type_ == name).unwrap();
        found.last_transition_time.0
    };
    world.pod_is(|pod| pod.unschedulable = Some("0/1 nodes".to_owned()));
    world.settle(at(60));
    assert_eq!(since(&world, "Ready"), start());
    world.pod_is(|pod| pod.ready = true);
    world.settle(at(90));
    assert_eq!(since(&world, "Ready"), at(90));
    world.pod_is(|_| {});
    world.settle(at(120));
    world.pod_is(|pod| pod.ready = true);
    world.settle(at(150));
    assert_eq!(since(&world, "Bound"), at(90), "the first bind");
}

// Proves: C-033
#[rstest]
fn a_new_generation_is_observed_by_one_write() {
    let mut world = World::bound();
    let writes = world.writes;
    world.observed.claim.metadata.generation = Some(2);
    world.settle(at(60));
    assert_eq!(world.status().observed_generation, Some(2));
    let conditions = world.status().conditions.unwrap();
    let ready = conditions
        .iter()
        .find(|found| found.type_ == "Ready")
        .unwrap();
    assert_eq!(ready.observed_generation, Some(2));
    assert_eq!(world.writes, writes + 1);
}

// Proves: C-029
#[rstest]
fn a_claim_that_fails_takes_every_address_back() {
    let mut world = World::bound();
    let mut status = world.status();
    status.view_address = Some("10.0.0.1:9000".to_owned());
    world.observed.claim.status = Some(status);
    world.observed.class = Lookup::Missing;
    world.store.remove(&ObjectKind::NetworkPolicy);
    world.look();
    world.settle(at(60));
    assert_eq!(world.phase(), Some(ClaimPhase::Failed));
    assert_eq!(world.status().addresses, None);
    assert_eq!(world.status().view_address, None);
}

// Proves: C-029, C-033
#[rstest]
fn a_failed_claim_is_stalled_as_kstatus_reads_it() {
    let mut world = World::codegen();
    world.observed.class = Lookup::Missing;
    world.settle(start());
    assert_eq!(world.condition("Ready").unwrap().0, "False");
    assert_eq!(world.condition("Stalled").unwrap().0, "True");
    assert_eq!(World::bound().condition("Stalled"), None);
}

// Proves: C-033
#[rstest]
fn what_others_wrote_into_the_status_stays() {
    let mut world = World::codegen();
    let status = json!({
        "releaseAt": "2026-11-20T12:00:00Z",
        "conditions": [{
            "type": "InsecureEgressTestHosts", "status": "False", "reason": "Off", "message": "",
            "lastTransitionTime": "2026-11-20T09:00:00Z",
        }],
    });
    world.observed.claim.status = serde_json::from_value(status).unwrap();
    world.settle(start());
    assert!(world.status().release_at.is_some());
    assert!(world.condition("InsecureEgressTestHosts").is_some());
}

// Proves: C-034
#[rstest]
fn the_template_hash_is_told_by_a_later_pass_when_every_status_write_was_lost() {
    // Where a claim has a directory, its record tells it from one that an earlier version admitted.
    let mut start_from = World::codegen();
    start_from.class_mut().filesystem = None;
    let mut whole = start_from.clone();
    whole.settle(start());
    let mut world = start_from;
    let before = world.observed.claim.clone();
    world.settle(start());
    world.observed.claim = before;
    world.settle(start());
    assert!(world.status().template_hash.is_some());
    assert_eq!(world.status().template_hash, whole.status().template_hash);
}

// Proves: C-019
#[rstest]
fn a_ready_pod_binds_nothing_while_its_service_is_not_known_to_stand() {
    let mut world = World::codegen();
    world.settle(start());
    world.pod_is(|pod| pod.ready = true);
    world.store.remove(&ObjectKind::Service);
    world.look();
    let nothing = Applied::default();
    let plan = world.plan(start());
    let decision = status(&world.observed, &plan, &nothing, &world.settings, start());
    assert_eq!(decision.status, None, "still Pending, for the same reason");
}

// Proves: O-040
#[rstest]
fn digests_ride_along_with_a_status_write_and_cause_none() {
    let mut world = World::bound();
    let kinds: Vec<_> = world
        .status()
        .applied
        .unwrap()
        .into_iter()
        .map(|one| one.kind)
        .collect();
    assert_eq!(kinds, ["NetworkPolicy", "Service", "Deployment"]);
    let before = world.status();
    world.class_mut().egress = None;
    world.settle(at(60));
    assert_eq!(
        world.status(),
        before,
        "the policy moved, the status did not"
    );
    world.pod_is(|_| {});
    world.settle(at(90));
    assert_ne!(world.status().applied, before.applied);
}

// Proves: C-029
#[rstest]
fn an_event_is_told_once_for_each_change() {
    let mut world = World::codegen();
    world.settle(start());
    for second in 1..5 {
        world.pod_is(|pod| pod.unschedulable = Some(format!("0/{second} nodes")));
        world.settle(at(second));
    }
    assert_eq!(world.events, ["SandboxStarting", "Unschedulable"]);
    world.pod_is(|pod| pod.ready = true);
    world.settle(at(9));
    assert_eq!(world.events.last(), Some(&"SandboxReady"));
    assert_eq!(world.events.len(), 3);
}

// Proves: C-029
#[rstest]
fn only_what_is_wrong_is_a_warning() {
    let mut world = World::codegen();
    let (_, decision) = world.reconcile(start());
    assert!(!decision.events[0].warning);
    assert_eq!(decision.events[0].action, "Build");
    world.settle(start());
    world.pod_is(|pod| pod.ready = true);
    let (_, decision) = world.reconcile(start());
    assert!(!decision.events[0].warning);
    assert_eq!(decision.events[0].action, "Bind");
    world.pod_is(|_| {});
    let (_, decision) = world.reconcile(start());
    assert!(decision.events[0].warning);

    let mut world = World::codegen();
    world.observed.class = Lookup::Missing;
    let (_, decision) = world.reconcile(start());
    assert!(decision.events[0].warning);
    assert_eq!(decision.events[0].action, "Fail");
}

// Proves: C-029
#[rstest]
fn a_message_of_any_length_fits_condition_and_event() {
    let mut world = World::codegen();
    world.settle(start());
    world.pod_is(|pod| pod.unschedulable = Some("é".repeat(40_000)));
    let (_, decision) = world.reconcile(at(1));
    assert!(world.ready().1.len() <= 2048);
    assert!(decision.events[0].note.len() <= 1000);
    assert_eq!(world.settle(at(2)), 0, "the cut message equals itself");
}

// Proves: C-033
#[rstest]
fn the_patch_carries_changed_fields_alone_nulls_what_goes_and_its_precondition() {
    let mut claim = claim();
    claim.status = Some(SandboxClaimStatus {
        phase: Some(ClaimPhase::Bound),
        addresses: Some([("mcp".to_owned(), "h:1".to_owned())].into()),
        sandbox_name: Some("x-sandbox".to_owned()),
        last_used_at: Some(Time(start())),
        ..SandboxClaimStatus::default()
    });
    let next = SandboxClaimStatus {
        phase: Some(ClaimPhase::Pending),
        addresses: None,
        ..claim.status.clone().unwrap()
    };
    let expected: Value = json!({
        "metadata": {"resourceVersion": "41"},
        "status": {"phase": "Pending", "addresses": null},
    });
    assert_eq!(status_patch(&claim, &next).unwrap(), expected);
}

// Proves: C-019
#[rstest]
fn a_bound_claim_whose_service_was_deleted_and_cannot_be_made_again_withdraws_its_addresses() {
    let mut world = World::bound();
    world.store.remove(&ObjectKind::Service);
    world.look();
    let down = super::super::Refusal {
        code: 503,
        message: "unavailable".to_owned(),
        ..Default::default()
    };
    world.refuses = Some((ObjectKind::Service, down));
    world.settle(at(60));
    assert_eq!(world.phase(), Some(ClaimPhase::Pending));
    assert_eq!(world.status().addresses, None);
    assert_eq!(world.ready().0, "WriteRetried");
}
