//! The baseline policy of a namespace, against an API server in memory.

use std::time::Duration;

use rstest::rstest;
use sandgate_shared::names;
use serde_json::{Value, json};

use super::World;
use crate::api_server::fake::Fault;
use crate::key::Key;
use crate::kind::Kind;
use crate::queue::Next;
use crate::watch::Subject;

impl World {
    /// A claim whose pod runs.
    async fn running() -> Self {
        let world = Self::new();
        Box::pin(world.look()).await;
        world.pod_becomes_ready();
        world.list();
        world
    }

    /// The claim and all that it owns is gone; its pod is not.
    fn pod_left_behind(&self) {
        self.server.take(Kind::SandboxClaim, "ns", "a");
        for kind in [Kind::Deployment, Kind::Service, Kind::NetworkPolicy] {
            self.server.take(kind, "ns", "a-sandbox");
        }
        self.server.take(Kind::ReplicaSet, "ns", "set");
    }

    fn baseline(&self) -> Option<Value> {
        let name = names::BASELINE_POLICY;
        self.server.get(Kind::NetworkPolicy, "ns", name)
    }

    async fn guard(&self) -> Next {
        self.list();
        self.server.log();
        let subject = Subject::Baseline("ns".to_owned());
        self.reconciler.look_after(&subject).await
    }
}

fn open(world: &World) {
    let mut baseline = world.baseline().unwrap();
    baseline["spec"]["egress"] = json!([{}]);
    world.server.put(Kind::NetworkPolicy, baseline);
}

fn delete(world: &World) {
    let name = names::BASELINE_POLICY;
    world.server.take(Kind::NetworkPolicy, "ns", name);
}

// Proves: O-037
#[rstest]
#[case::opened(open)]
#[case::deleted(delete)]
#[tokio::test]
async fn the_baseline_is_put_in_order_by_one_write_while_a_claim_or_its_pod_is_there(
    #[case] disturb: fn(&World),
    #[values(false, true)] left_behind: bool,
) {
    let world = World::running().await;
    let intended = world.baseline().unwrap()["spec"].clone();
    if left_behind {
        world.pod_left_behind();
    }
    disturb(&world);
    assert_eq!(world.guard().await, Next::Settled);
    assert_eq!(world.baseline().unwrap()["spec"], intended);
    let log = world.server.log();
    let writes = log.iter().filter(|line| !line.starts_with("GET"));
    assert_eq!(writes.count(), 1, "{log:?}");
    assert_eq!(world.guard().await, Next::Settled);
    assert_eq!(world.server.log(), Vec::<String>::new());
}

// Proves: O-037
#[rstest]
#[case::opened(open)]
#[case::deleted(delete)]
#[tokio::test]
async fn a_namespace_without_a_claim_and_without_a_pod_is_its_owners(#[case] edit: fn(&World)) {
    let world = World::running().await;
    world.pod_left_behind();
    world.server.take(Kind::Pod, "ns", "pod");
    edit(&world);
    let stands = world.baseline();
    assert_eq!(world.guard().await, Next::Settled);
    assert_eq!(world.baseline(), stands);
    assert_eq!(world.server.log(), Vec::<String>::new());
}

// Proves: O-037, C-032
#[rstest]
#[case::opened(open, true)]
#[case::deleted(delete, false)]
#[tokio::test]
async fn in_a_namespace_that_goes_the_baseline_is_put_in_order_but_not_made(
    #[case] disturb: fn(&World),
    #[case] writes: bool,
) {
    let world = World::running().await;
    let namespace = json!({"metadata": {"name": "ns", "uid": "ns",
        "deletionTimestamp": "2026-11-20T10:00:00Z"}});
    world.server.put(Kind::Namespace, namespace);
    disturb(&world);
    assert_eq!(world.guard().await, Next::Settled);
    assert_eq!(!world.server.log().is_empty(), writes);
}

// Proves: O-037, C-032
#[tokio::test(start_paused = true)]
async fn a_baseline_that_cannot_be_put_in_order_is_tried_again_and_its_claims_are_looked_at() {
    let world = World::running().await;
    world.watches.queue.open();
    open(&world);
    world.server.fail(1, Fault::Before);
    assert_eq!(world.guard().await, Next::Retry);
    let next = tokio::time::timeout(Duration::from_secs(1), world.watches.queue.next()).await;
    assert_eq!(next.unwrap(), Subject::Claim(Key::new("ns", "a")));
    assert_eq!(world.guard().await, Next::Settled);
}
