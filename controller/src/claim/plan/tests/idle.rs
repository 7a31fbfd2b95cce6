//! A claim that waits too long fails, and one that failed long ago goes.

use std::time::Duration;

use rstest::rstest;
use sandgate_shared::api::ClaimPhase;
use serde_json::json;

use super::super::Verdict;
use super::world::{World, at, start};
use crate::admission_queue::{Admission, Limit};
use crate::claim::observed::Lookup;
use crate::leader::Leaderless;

/// What unset timeouts come to, in seconds.
const LIMIT: i64 = 1800;

fn queued() -> World {
    let mut world = World::codegen();
    world.observed.admission = Admission::Held {
        limit: Limit::Runtime,
        of: Some(3),
    };
    world.settle(start());
    world
}

fn pending() -> World {
    let mut world = World::codegen();
    world.settle(start());
    world
}

fn failed() -> World {
    let mut world = pending();
    world.settle(at(LIMIT + 1));
    world
}

// Proves
#[rstest]
#[case::pending(
    pending(),
    "SandboxNeverReady",
    "the sandbox did not become ready within 30m: spec.sandbox.idleTimeout of the AgentRuntime, and 10 minutes at least; the last that was said of it is "
)]
#[case::queued(
    queued(),
    "QueueWaitExceeded",
    "the claim's turn did not come within 30m: spec.sandbox.idleTimeout of the AgentRuntime, and 10 minutes at least; the last that was said of it is CeilingReached: "
)]
fn a_claim_that_waits_for_longer_than_it_may_fails_and_keeps_nothing(
    #[case] mut world: World,
    #[case] reason: &str,
    #[case] message: &str,
) {
    let (_, decision) = world.reconcile(at(LIMIT));
    assert!(decision.status.is_none(), "{:?}", world.ready());
    world.settle(at(LIMIT + 1));
    assert_eq!(world.phase(), Some(ClaimPhase::Failed));
    let (told, words) = world.ready();
    assert_eq!(told, reason);
    assert!(words.starts_with(message), "{words}");
    assert!(world.observed.deployment.is_none());
    // Q65: having failed is a use.
    assert_eq!(world.status().last_used_at.unwrap().0, at(LIMIT + 1));
}

// Proves: R-003
#[test]
fn a_claim_whose_sandbox_is_ready_at_last_is_bound_however_late() {
    let mut world = pending();
    world.pod_is(|pod| pod.ready = true);
    world.settle(at(LIMIT * 2));
    assert_eq!(
        world.phase(),
        Some(ClaimPhase::Bound),
        "{:?}",
        world.ready()
    );
}

// Proves: R-003
#[test]
fn a_sandbox_that_is_not_ready_again_for_too_long_fails_though_it_was_bound_once() {
    let mut world = World::bound();
    world.pod_is(|pod| pod.ready = false);
    world.settle(at(LIMIT * 5));
    assert_eq!(world.phase(), Some(ClaimPhase::Pending));
    world.settle(at(LIMIT * 6));
    assert_eq!(world.phase(), Some(ClaimPhase::Pending));
    world.settle(at(LIMIT * 6 + 1));
    let (reason, message) = world.ready();
    assert_eq!(reason, "SandboxNeverReady");
    assert!(
        message.starts_with("the sandbox was not ready again within 30m"),
        "{message}"
    );
}

// Proves: R-006
#[test]
fn a_bound_claim_is_not_ended_by_its_age() {
    let mut world = World::bound();
    let (plan, decision) = world.reconcile(at(LIMIT * 1000));
    assert!(matches!(plan.verdict, Verdict::Build(_)));
    assert!(decision.status.is_none());
    assert_eq!(decision.requeue, None);
}

// Proves: R-005
#[test]
fn a_failed_claim_is_deleted_once_its_own_window_is_over() {
    let mut world = failed();
    let claim = world.observed.claim.metadata.clone();
    let (plan, decision) = world.reconcile(at(LIMIT * 2));
    assert_eq!(plan.remove, None);
    assert_eq!(decision.requeue, Some(Duration::from_millis(1001)));
    assert_eq!(world.plan(at(LIMIT * 2 + 1)).remove, None);
    let plan = world.plan(at(LIMIT * 2 + 2));
    assert!(plan.is_final(), "the claim is not read anew before");
    let removed = plan.remove.unwrap();
    assert_eq!(Some(removed.uid), claim.uid);
    assert_eq!(Some(removed.resource_version), claim.resource_version);
}

// Proves
#[rstest]
#[case::pending(pending())]
#[case::queued(queued())]
#[case::failed(failed())]
fn nothing_ends_while_nobody_led_or_the_time_is_not_known(#[case] mut world: World) {
    let before = world.phase();
    let now = at(LIMIT * 3);
    world.observed.leaderless = Some(Leaderless::default().with(at(10), now));
    let plan = world.plan(now);
    assert_eq!(plan.remove, None);
    assert!(!matches!(plan.verdict, Verdict::Fail(_)));
    world.observed.leaderless = None;
    let (plan, decision) = world.reconcile(now);
    assert_eq!(plan.remove, None);
    assert_eq!(world.phase(), before);
    assert!(decision.requeue.is_some(), "nobody would look again");
    world.observed.leaderless = Some(Leaderless::default());
    let plan = world.plan(now);
    assert!(plan.remove.is_some() || matches!(plan.verdict, Verdict::Fail(_)));
}

// Proves: R-003
#[test]
fn an_edit_of_the_runtime_moves_the_end() {
    let mut world = pending();
    let runtime = json!({"sandbox": {"enabled": true, "idleTimeout": "2h"}});
    world.observed.runtime = Lookup::Found(serde_json::from_value(runtime).unwrap());
    let (plan, decision) = world.reconcile(at(LIMIT + 1));
    assert!(!matches!(plan.verdict, Verdict::Fail(_)));
    let left = Duration::from_secs(7200 - 1801) + Duration::from_millis(1);
    assert_eq!(decision.requeue, Some(left));
}

// Proves: R-006
#[test]
fn a_claim_that_tells_no_use_is_left_alone() {
    for mut world in [pending(), queued(), failed()] {
        let mut status = world.status();
        status.last_used_at = None;
        world.observed.claim.status = Some(status);
        let plan = world.plan(at(LIMIT * 1000));
        assert_eq!(plan.remove, None);
        assert!(!matches!(plan.verdict, Verdict::Fail(_)));
    }
}
