//! A claim that is made again under its old name while objects of the one before it still stand.

use std::time::Duration;

use rstest::rstest;
use sandgate_shared::api::ClaimPhase;
use serde_json::{Value, json};

use super::super::Verdict;
use super::connections;
use super::world::{World, at, start};
use crate::claim::observed::ObjectKind;

const CLAIM: &str = "my-agent-sbx-7k2qp";

/// The controller of what the controller made for the claim before this one.
fn owner() -> Value {
    json!({
        "apiVersion": "omnia.altairalabs.ai/v1alpha1", "kind": "SandboxClaim", "name": CLAIM,
        "uid": "uid-of-the-claim-before", "controller": true, "blockOwnerDeletion": true,
    })
}

fn owned(kind: ObjectKind, owner: &Value) -> Value {
    json!({
        "metadata": {"name": kind.name(CLAIM), "ownerReferences": [owner]},
        "spec": {"template": {
            "metadata": {"annotations": {"omnia.altairalabs.ai/allowlist": "of old"}},
            "spec": {},
        }},
    })
}

/// It stands, whether or not the watch shows it yet.
fn remains(world: &mut World, kind: ObjectKind) {
    world.store.remove(&kind);
    world.put(kind, owned(kind, &owner()));
}

fn waits_for(world: &World, kind: ObjectKind) {
    let (reason, message) = world.ready();
    assert_eq!(reason, "PreviousObjectsRemain", "{message}");
    assert_eq!(world.phase(), Some(ClaimPhase::Pending));
    let named = format!("{} {} ", kind.as_str(), kind.name(CLAIM));
    assert!(message.starts_with(&named), "{message}");
}

// Proves: O-001, O-002, C-016, C-029
#[rstest]
#[case(ObjectKind::NetworkPolicy)]
#[case(ObjectKind::Service)]
#[case(ObjectKind::Deployment)]
fn what_is_left_of_the_claim_before_is_waited_for_in_its_place_and_untouched(
    #[case] kind: ObjectKind,
) {
    let mut world = World::codegen();
    remains(&mut world, kind);
    world.look();
    let stood = world.store.clone();
    world.settle(start());
    waits_for(&world, kind);
    assert_eq!(world.store, stood, "nothing built, nothing touched");
    assert!(world.condition("Admitted").is_some(), "it has its place");
    let (plan, decision) = world.reconcile(at(1));
    assert!(matches!(plan.verdict, Verdict::Wait(_)), "{plan:?}");
    assert_eq!(decision.status, None);

    world.store.remove(&kind);
    world.look();
    world.settle(at(2));
    assert_eq!(world.ready().0, "SandboxStarting");
    world.pod_is(|pod| pod.ready = true);
    world.settle(at(3));
    assert_eq!(world.phase(), Some(ClaimPhase::Bound));
}

// Proves: O-001, O-002
#[rstest]
#[case::of_a_claim_of_another_name("name", json!("my-agent-sbx-other"))]
#[case::of_another_kind("kind", json!("SandboxClass"))]
#[case::of_another_group("apiVersion", json!("example.com/v1alpha1"))]
#[case::of_an_owner_that_does_not_control_it("controller", json!(false))]
fn what_was_not_made_for_a_claim_of_the_name_fails_the_claim(
    #[case] field: &str,
    #[case] value: Value,
    #[values(true, false)] seen: bool,
) {
    let mut world = World::codegen();
    let mut owner = owner();
    owner[field] = value;
    world.put(ObjectKind::Service, owned(ObjectKind::Service, &owner));
    if seen {
        world.look();
    }
    let stood = world.store[&ObjectKind::Service].clone();
    world.settle(start());
    assert_eq!(world.ready().0, "NameConflict");
    assert_eq!(world.phase(), Some(ClaimPhase::Failed));
    assert_eq!(world.store[&ObjectKind::Service], stood);
}

// Proves: O-001, O-002
#[test]
fn what_no_watch_shows_of_the_claim_before_is_found_by_the_write_and_looked_at_again() {
    let mut world = World::admitted();
    remains(&mut world, ObjectKind::Service);
    let stood = world.store[&ObjectKind::Service].clone();
    let (_, decision) = world.reconcile(start());
    waits_for(&world, ObjectKind::Service);
    assert_eq!(decision.requeue, Some(Duration::from_secs(10)));
    assert_eq!(world.store[&ObjectKind::Service], stood);
    assert!(!world.store.contains_key(&ObjectKind::Deployment));

    world.store.remove(&ObjectKind::Service);
    world.look();
    world.settle(at(10));
    assert_eq!(world.ready().0, "SandboxStarting");
    assert!(world.store.contains_key(&ObjectKind::Deployment));
}

// Proves: E-002
#[rstest]
#[case(ObjectKind::EgressNetworkPolicy)]
#[case(ObjectKind::EgressAllowlist)]
#[case(ObjectKind::EgressService)]
#[case(ObjectKind::EgressDeployment)]
fn what_is_left_of_its_proxy_is_waited_for_by_a_claim_that_is_to_have_one_and_no_other(
    #[case] kind: ObjectKind,
) {
    let mut connected = connections::world();
    remains(&mut connected, kind);
    connected.look();
    let stood = connected.store.clone();
    connected.settle(at(62));
    waits_for(&connected, kind);
    assert_eq!(connected.store, stood, "nothing built, nothing touched");
    connected.store.remove(&kind);
    connected.look();
    connected.settle(at(63));
    assert_eq!(connected.ready().0, "SandboxStarting");

    let mut plain = World::codegen();
    remains(&mut plain, kind);
    plain.look();
    plain.settle(start());
    assert_eq!(plain.ready().0, "SandboxStarting");
}

// Proves: C-034
#[test]
fn a_bound_claim_one_of_whose_names_goes_to_the_claim_before_waits_and_keeps_the_rest() {
    let mut world = World::bound();
    remains(&mut world, ObjectKind::Service);
    world.look();
    let stood = world.store.clone();
    world.reconcile(at(60));
    waits_for(&world, ObjectKind::Service);
    assert_eq!(world.status().addresses, None);
    assert_eq!(world.store, stood);
    world.stranger(ObjectKind::NetworkPolicy, |policy| {
        policy["spec"]["egress"] = json!([{}]);
    });
    world.reconcile(at(61));
    let healed = &world.store[&ObjectKind::NetworkPolicy]["spec"];
    assert_eq!(healed, &stood[&ObjectKind::NetworkPolicy]["spec"]);

    world.store.remove(&ObjectKind::Service);
    world.look();
    world.settle(at(70));
    assert_eq!(world.phase(), Some(ClaimPhase::Bound));
}
