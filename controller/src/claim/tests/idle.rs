//! Claims that were left alone for too long, as the API server tells the time.

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Leaderless, World, server};
use crate::kind::Kind;

const CLAIM: &str = "/apis/omnia.altairalabs.ai/v1alpha1/namespaces/ns/sandboxclaims/a";

/// A claim in this phase, last used as long ago as this.
async fn aged(phase: &str, hours: i64) -> World {
    let world = World::keeping_time(server());
    world.look().await;
    world.edit_status(|status| {
        status["phase"] = json!(phase);
    });
    world.used_hours_ago(hours);
    world.list();
    world.server.log();
    world
}

impl World {
    fn edit_status(&self, edit: impl FnOnce(&mut Value)) {
        let mut claim = self.server.get(Kind::SandboxClaim, "ns", "a").unwrap();
        edit(&mut claim["status"]);
        self.server.put(Kind::SandboxClaim, claim);
    }

    fn used_hours_ago(&self, hours: i64) {
        let used = self.server.now() - SignedDuration::from_hours(hours);
        self.edit_status(|status| status["lastUsedAt"] = json!(used.to_string()));
    }

    fn stands(&self) -> bool {
        self.server.get(Kind::SandboxClaim, "ns", "a").is_some()
    }
}

// Proves: R-005
#[tokio::test(start_paused = true)]
async fn a_claim_that_failed_long_ago_is_read_anew_and_deleted() {
    let world = aged("Failed", 1).await;
    world.look().await;
    assert!(!world.stands());
    let log = world.server.log();
    let place = |verb: &str| {
        let line = format!("{verb} {CLAIM}");
        log.iter().position(|found| *found == line)
    };
    assert!(place("GET") < place("DELETE"), "{log:#?}");
    assert!(place("GET").is_some(), "{log:#?}");
}

// Proves: R-005
#[tokio::test(start_paused = true)]
async fn a_failed_claim_that_was_used_meanwhile_stays_though_the_watch_does_not_know() {
    let world = aged("Failed", 1).await;
    world.used_hours_ago(0);
    world.look().await;
    assert!(world.stands());
    assert!(
        !world
            .server
            .log()
            .iter()
            .any(|line| line == &format!("DELETE {CLAIM}"))
    );
}

// Proves: R-005
#[tokio::test(start_paused = true)]
async fn a_claim_made_again_under_the_name_is_not_deleted_for_the_one_before() {
    let world = aged("Failed", 1).await;
    world.server.edit(Kind::SandboxClaim, "ns", "a", |claim| {
        claim["metadata"]["uid"] = json!("another");
    });
    world.look().await;
    assert!(world.stands());
}

// Proves: R-003
#[tokio::test(start_paused = true)]
async fn a_pending_claim_fails_when_it_is_due_by_the_clock_of_the_api_server() {
    let world = aged("Pending", 0).await;
    world.look().await;
    assert_eq!(world.status()["phase"], "Pending");
    world.used_hours_ago(1);
    world.list();
    world.look().await;
    assert_eq!(world.status()["phase"], "Failed");
    assert_eq!(world.ready()["reason"], "SandboxNeverReady");
}

// Proves
#[tokio::test(start_paused = true)]
async fn a_leader_who_does_not_know_when_nobody_led_ends_nothing() {
    for phase in ["Pending", "Failed"] {
        let world = aged(phase, 1).await;
        world.fence.knows(None);
        world.look().await;
        assert_eq!(world.status()["phase"], phase);
        let now = world.server.now();
        let whole = Leaderless::default().with(Timestamp::UNIX_EPOCH, now);
        world.fence.knows(Some(whole));
        world.look().await;
        assert_eq!(world.status()["phase"], phase);
    }
}
