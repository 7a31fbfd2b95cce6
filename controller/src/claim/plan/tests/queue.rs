//! A claim that waits for its turn: what is made of it, and what it says.

use std::time::Duration;

use rstest::rstest;
use sandgate_shared::api::ClaimPhase;
use serde_json::json;

use super::super::Verdict;
use super::world::{World, at, start};
use crate::admission_queue::{Admission, Limit};
use crate::claim::observed::Lookup;

fn held(limit: Limit, of: Option<u32>) -> World {
    let mut world = World::codegen();
    world.observed.admission = Admission::Held { limit, of };
    world
}

// Proves: C-008, C-009, C-010, C-015, C-029
#[rstest]
#[case::runtime(
    Limit::Runtime,
    Some(3),
    "CeilingReached",
    "AgentRuntime \"my-agent\" has all the sandboxes that it may have: spec.sandbox.maxConcurrent of AgentRuntime \"my-agent\" is 3."
)]
#[case::session(
    Limit::Session,
    Some(2),
    "SessionLimitReached",
    "session \"session-7\" has all the sandboxes that it may have: spec.sandbox.maxPerSession of AgentRuntime \"my-agent\" is 2."
)]
#[case::instance(
    Limit::Instance,
    Some(1),
    "InstanceLimitReached",
    "session \"session-7\" has all the instances of this sandbox that it may have: the claim's spec.maxInstances is 1."
)]
#[case::none_at_all(
    Limit::Runtime,
    Some(0),
    "CeilingReached",
    "spec.sandbox.maxConcurrent of AgentRuntime \"my-agent\" is 0, so nothing is admitted"
)]
#[case::unreadable(
    Limit::Runtime,
    None,
    "CeilingReached",
    "spec.sandbox.maxConcurrent of AgentRuntime \"my-agent\" is not a whole number, so nothing is admitted"
)]
#[case::unreadable_of_a_session(
    Limit::Session,
    None,
    "SessionLimitReached",
    "spec.sandbox.maxPerSession of AgentRuntime \"my-agent\" is not a whole number, so nothing is admitted"
)]
fn a_claim_that_waits_is_queued_without_an_object_and_says_for_what(
    #[case] limit: Limit,
    #[case] of: Option<u32>,
    #[case] reason: &str,
    #[case] says: &str,
) {
    let mut world = held(limit, of);
    let (plan, decision) = world.reconcile(start());
    assert!(matches!(plan.verdict, Verdict::Queue(_)), "{plan:?}");
    assert_eq!(decision.requeue, Some(Duration::from_secs(10)));
    assert_eq!(world.phase(), Some(ClaimPhase::Queued));
    let (said, message) = world.ready();
    assert_eq!(said, reason);
    assert!(message.starts_with(says), "{message}");
    assert_eq!(world.condition("Admitted"), None);
    assert!(world.store.is_empty());
    assert_eq!(world.events, [reason]);
    // It says the same until its turn comes.
    let (_, decision) = world.reconcile(at(10));
    assert_eq!(decision.status, None);
    assert_eq!(decision.events, []);
    assert_eq!(decision.requeue, Some(Duration::from_secs(10)));
}

// Proves: C-018
#[test]
fn a_claim_whose_turn_comes_is_admitted_and_built() {
    let mut world = held(Limit::Runtime, Some(1));
    world.settle(start());
    world.observed.admission = Admission::Granted;
    world.settle(at(30));
    assert_eq!(world.phase(), Some(ClaimPhase::Pending));
    assert_eq!(world.condition("Admitted").unwrap().0, "True");
    assert_eq!(world.store.len(), 4);
    assert_eq!(world.events, ["CeilingReached", "SandboxStarting"]);
}

// Proves: C-012
#[test]
fn a_claim_that_was_admitted_is_never_queued_again() {
    for mut world in [World::admitted(), World::bound()] {
        world.observed.admission = Admission::Held {
            limit: Limit::Session,
            of: Some(1),
        };
        world.restart();
        let (plan, _) = world.reconcile(at(60));
        assert!(matches!(plan.verdict, Verdict::Build(_)), "{plan:?}");
        assert_ne!(world.phase(), Some(ClaimPhase::Queued));
    }
}

// Proves: C-002, C-004
#[rstest]
#[case::without_a_runtime(|world: &mut World| world.observed.runtime = Lookup::Missing, "AgentRuntimeNotFound")]
#[case::without_a_class(|world: &mut World| world.observed.class = Lookup::Missing, "ClassNotFound")]
#[case::of_a_runtime_without_sandboxes(
    |world: &mut World| {
        let runtime = serde_json::from_value(json!({"sandbox": {"maxConcurrent": 1}})).unwrap();
        world.observed.runtime = Lookup::Found(runtime);
    },
    "SandboxesDisabled"
)]
fn a_claim_that_can_never_be_served_does_not_wait(
    #[case] spoil: fn(&mut World),
    #[case] reason: &str,
) {
    // Neither one that was never in the queue nor one that is.
    for waited in [false, true] {
        let mut world = held(Limit::Runtime, Some(1));
        if waited {
            world.settle(start());
        }
        spoil(&mut world);
        world.settle(at(10));
        assert_eq!(world.phase(), Some(ClaimPhase::Failed));
        assert_eq!(world.ready().0, reason);
    }
}
