//! Pods that finished, against an API server in memory: in which order what is written, and cut off.

use serde_json::{Value, json};

use super::{UNTIL_THE_TIME_IS_KNOWN, World};
use crate::api_server::fake::Fault;
use crate::kind::Kind;
use crate::queue::Next;

impl World {
    /// A bound claim whose pod is then evicted.
    async fn evicted() -> Self {
        let world = Self::new();
        Box::pin(world.look()).await;
        world.pod_becomes_ready();
        world.list();
        Box::pin(world.look()).await;
        assert_eq!(world.status()["phase"], "Bound");
        let mut pod = world.server.get(Kind::Pod, "ns", "pod").unwrap();
        pod["status"] = json!({"phase": "Failed", "reason": "Evicted",
            "message": "The node was low on resource: memory. "});
        world.server.put(Kind::Pod, pod);
        world.list();
        world.server.log();
        world
    }
}

// Proves: O-038, C-029
#[tokio::test]
async fn an_evicted_pods_cause_is_told_before_it_is_deleted() {
    let world = World::evicted().await;
    assert_eq!(world.look().await, UNTIL_THE_TIME_IS_KNOWN);
    assert_eq!(
        world.server.log(),
        [
            "PATCH /apis/omnia.altairalabs.ai/v1alpha1/namespaces/ns/sandboxclaims/a/status",
            "POST /apis/events.k8s.io/v1/namespaces/ns/events",
            "DELETE /api/v1/namespaces/ns/pods/pod",
        ]
    );
    assert_eq!(world.ready()["reason"], "Evicted");
    assert_eq!(world.server.all(Kind::Pod), Vec::<Value>::new());
    world.list();
    assert_eq!(world.look().await, UNTIL_THE_TIME_IS_KNOWN);
    assert_eq!(world.ready()["reason"], "Evicted");
    assert_eq!(world.server.log(), Vec::<String>::new());
}

// Proves: O-038
#[tokio::test]
async fn a_controller_cut_off_while_it_deletes_a_finished_pod_deletes_it_later() {
    for nth in 1..=3 {
        for fault in [Fault::Before, Fault::After] {
            let mut world = World::evicted().await;
            world.server.fail(nth, fault);
            world.look().await;
            world = world.restarted();
            world.look().await;
            let left = world.server.all(Kind::Pod);
            assert_eq!(left, Vec::<Value>::new(), "request {nth}, {fault:?}");
            assert_eq!(world.ready()["reason"], "Evicted");
        }
    }
}

// Proves: O-038
#[tokio::test]
async fn another_pod_by_the_name_of_a_finished_one_stays() {
    let world = World::evicted().await;
    let mut other = world.server.get(Kind::Pod, "ns", "pod").unwrap();
    other["metadata"]["uid"] = json!("another");
    world.server.put(Kind::Pod, other);
    // The watch has not shown it yet.
    assert_eq!(world.look().await, Next::Retry);
    assert_eq!(world.server.all(Kind::Pod).len(), 1);
}

// Proves: O-038
#[tokio::test]
async fn a_finished_pod_that_moved_meanwhile_is_deleted_all_the_same() {
    let world = World::evicted().await;
    let mut moved = world.server.get(Kind::Pod, "ns", "pod").unwrap();
    moved["metadata"]["annotations"] = json!({"somebody": "wrote"});
    world.server.put(Kind::Pod, moved);
    assert_eq!(world.look().await, UNTIL_THE_TIME_IS_KNOWN);
    assert_eq!(world.server.all(Kind::Pod), Vec::<Value>::new());
}
