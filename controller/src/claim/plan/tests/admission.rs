//! A claim is admitted by its status before anything is made for it.

use rstest::rstest;
use sandgate_shared::api::ClaimPhase;
use sandgate_shared::reason::condition;
use serde_json::json;

use super::super::Verdict;
use super::world::{World, at, start};
use crate::claim::observed::{Lookup, ObjectKind};

fn admitted(world: &World) -> bool {
    let found = world.condition(condition::ADMITTED);
    found.is_some_and(|(status, reason, _)| status == "True" && reason == "Admitted")
}

/// Takes the record of the admission out of the status, as if an earlier version had written it.
fn forget_admission(world: &mut World) {
    let status = world.observed.claim.status.as_mut().unwrap();
    let conditions = status.conditions.as_mut().unwrap();
    conditions.retain(|found| found.type_ != condition::ADMITTED);
}

// Proves: C-018
#[test]
fn the_status_says_that_a_claim_is_admitted_before_any_object_is_made() {
    let mut world = World::codegen();
    let (plan, _) = world.reconcile(start());
    assert!(matches!(plan.verdict, Verdict::Admit(_)), "{plan:?}");
    assert!(world.store.is_empty());
    assert!(admitted(&world));
    assert_eq!(world.phase(), Some(ClaimPhase::Pending));
    assert_eq!(world.ready().0, "SandboxStarting");
    assert_eq!(
        world.status().sandbox_name.unwrap(),
        "my-agent-sbx-7k2qp-sandbox"
    );
    assert!(world.status().template_hash.is_some());

    let before = world.status();
    let (_, decision) = world.reconcile(start());
    assert_eq!(world.store.len(), 4);
    assert_eq!(decision.status, None, "the record costs no further write");
    assert_eq!(world.status(), before);
}

// Proves: C-012
#[test]
fn a_claim_whose_controller_died_after_the_admission_is_built_and_not_admitted_again() {
    let mut world = World::admitted();
    world.restart();
    let (plan, decision) = world.reconcile(at(60));
    assert!(matches!(plan.verdict, Verdict::Build(_)));
    assert_eq!(decision.events, []);
    assert_eq!(world.store.len(), 4);
}

// Proves: C-012
#[rstest]
#[case::built(false)]
#[case::bound(true)]
fn a_claim_of_an_earlier_version_without_the_record_keeps_its_place(#[case] bound: bool) {
    let mut world = World::codegen();
    world.settle(start());
    if bound {
        world = World::bound();
    }
    forget_admission(&mut world);
    let (store, before) = (world.store.clone(), world.status());
    world.restart();
    let (plan, decision) = world.reconcile(at(60));
    assert!(matches!(plan.verdict, Verdict::Build(_)), "{plan:?}");
    assert_eq!(decision.events, []);
    assert_eq!(world.store, store);
    // Of one that never bound it is recorded now; that another one bound is record enough.
    assert_eq!(admitted(&world), !bound);
    assert_eq!(world.status() == before, bound);
}

// Proves: C-012
#[test]
fn a_foreign_object_of_the_name_is_no_admission() {
    let mut world = World::codegen();
    let foreign = json!({"metadata": {"name": "x"}, "spec": {"template": {"spec": {}}}});
    world.put(ObjectKind::Deployment, foreign);
    world.look();
    world.settle(start());
    assert_eq!(world.ready().0, "NameConflict");
    assert!(!admitted(&world));
}

// Proves: C-028
#[test]
fn an_admitted_claim_that_cannot_be_built_any_more_fails_and_keeps_the_record() {
    let mut world = World::admitted();
    world.observed.class = Lookup::Missing;
    world.settle(start());
    assert_eq!(world.phase(), Some(ClaimPhase::Failed));
    assert!(admitted(&world));
    assert!(world.store.is_empty());
}

// Proves: C-033
#[test]
fn the_admission_keeps_its_time_through_all_that_follows() {
    let mut world = World::bound();
    world.pod_is(|_| {});
    world.settle(at(60));
    world.pod_is(|pod| pod.ready = true);
    world.settle(at(90));
    let conditions = world.status().conditions.unwrap();
    let found = conditions
        .iter()
        .find(|found| found.type_ == condition::ADMITTED);
    assert_eq!(found.unwrap().last_transition_time.0, start());
}
