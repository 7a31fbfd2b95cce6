//! Claims that leave while the watch of claims does not know it yet.

use rstest::rstest;
use serde_json::json;

use super::{UNTIL_THE_TIME_IS_KNOWN, World};
use crate::kind::Kind;
use crate::queue::Next;
use crate::watch::Source;

/// A claim that was built; the garbage collector took its policy, which the watch of policies knows.
async fn world(goes: fn(&World)) -> World {
    let world = World::new();
    Box::pin(world.look()).await;
    world.list();
    goes(&world);
    world.server.take(Kind::NetworkPolicy, "ns", "a-sandbox");
    world.list_only(Source::NetworkPolicies);
    world.server.log();
    world
}

// Proves: O-002
#[rstest]
#[case::gone(|world: &World| world.server.take(Kind::SandboxClaim, "ns", "a"))]
#[case::on_its_way_out(|world: &World| {
    let mut claim = world.server.get(Kind::SandboxClaim, "ns", "a").unwrap();
    claim["metadata"]["deletionTimestamp"] = json!("2026-11-20T10:00:00Z");
    world.server.put(Kind::SandboxClaim, claim);
})]
#[case::another_by_its_name(|world: &World| {
    let mut claim = world.server.get(Kind::SandboxClaim, "ns", "a").unwrap();
    claim["metadata"]["uid"] = json!("another");
    world.server.put(Kind::SandboxClaim, claim);
})]
#[tokio::test]
async fn nothing_is_made_again_for_a_claim_that_is_gone_or_leaving(#[case] goes: fn(&World)) {
    let world = world(goes).await;
    assert_eq!(world.look().await, Next::Settled);
    let log = world.server.log();
    assert!(log.iter().all(|line| line.starts_with("GET")), "{log:?}");
    assert_eq!(world.sandbox(Kind::NetworkPolicy), None);
}

// Proves: O-040
#[tokio::test]
async fn what_a_stranger_deleted_is_made_again_for_a_claim_that_stays() {
    let world = world(|_| {}).await;
    assert_eq!(world.look().await, UNTIL_THE_TIME_IS_KNOWN);
    assert!(world.sandbox(Kind::NetworkPolicy).is_some());
}
