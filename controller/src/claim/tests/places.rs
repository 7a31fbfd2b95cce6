//! Places under a runtime's limits, against an API server in memory.

use std::collections::BTreeSet;
use std::pin::pin;
use std::task::Poll;

use rstest::rstest;
use serde_json::{Value, json};

use super::{LEASE, UNTIL_THE_TIME_IS_KNOWN, World, claim};
use crate::api_server::fake::Fault;
use crate::api_server::fake::gate::Gate;
use crate::key::Key;
use crate::kind::Kind;
use crate::queue::Next;
use crate::watch::{Source, Subject};

impl World {
    /// Claims `a` and `b` of a runtime that may have this many at once.
    fn limited(most: &Value) -> Self {
        let world = Self::new();
        world.server.put(Kind::SandboxClaim, claim("b", "other"));
        world.limit(most);
        world
    }

    fn limit(&self, most: &Value) {
        let runtime = json!({"metadata": {"namespace": "ns", "name": "rt", "uid": "rt"},
            "spec": {"sandbox": {"enabled": true, "maxConcurrent": most}}});
        self.server.put(Kind::AgentRuntime, runtime);
        self.list();
    }

    async fn look_at(&self, name: &str) -> Next {
        let claim = Subject::Claim(Key::new("ns", name));
        Box::pin(self.reconciler.look_after(&claim)).await
    }

    fn phase_of(&self, name: &str) -> Value {
        let claim = self.server.get(Kind::SandboxClaim, "ns", name).unwrap();
        claim["status"]["phase"].clone()
    }

    /// What the queue holds now.
    async fn woken(&self) -> BTreeSet<Subject> {
        let queue = &self.watches.queue;
        let mut woken = BTreeSet::new();
        while !queue.is_empty() {
            let subject = queue.next().await;
            queue.done(&subject, Next::Settled);
            woken.insert(subject);
        }
        woken
    }
}

fn places() -> BTreeSet<Subject> {
    BTreeSet::from([Subject::Places(Key::new("ns", "rt"))])
}

// Proves: C-008, C-015
#[tokio::test]
async fn a_claim_beyond_the_ceiling_is_queued_without_an_object_and_looked_at_every_ten_seconds() {
    let world = World::limited(&json!(1));
    assert_eq!(world.look_at("a").await, UNTIL_THE_TIME_IS_KNOWN);
    let again = Next::After(std::time::Duration::from_secs(10));
    assert_eq!(world.look_at("b").await, again);
    assert_eq!(
        (world.phase_of("a"), world.phase_of("b")),
        (json!("Pending"), json!("Queued"))
    );
    let made = world.server.get(Kind::NetworkPolicy, "ns", "b-sandbox");
    assert_eq!(made, None);
    world.server.log();
    assert_eq!(world.look_at("b").await, again);
    assert_eq!(
        world.server.log(),
        Vec::<String>::new(),
        "a look costs nothing"
    );
}

// Proves: C-014
#[rstest]
#[case::deleted(|world: &World| world.server.take(Kind::SandboxClaim, "ns", "a"))]
#[case::failed(|world: &World| {
    let mut claim = world.server.get(Kind::SandboxClaim, "ns", "a").unwrap();
    claim["status"]["phase"] = json!("Failed");
    world.server.put(Kind::SandboxClaim, claim);
})]
#[case::being_deleted(|world: &World| {
    let mut claim = world.server.get(Kind::SandboxClaim, "ns", "a").unwrap();
    claim["metadata"]["deletionTimestamp"] = json!("2026-11-20T10:00:00Z");
    world.server.put(Kind::SandboxClaim, claim);
})]
#[tokio::test]
async fn a_place_that_is_left_wakes_who_is_next_and_nobody_else(#[case] leave: fn(&World)) {
    let world = World::limited(&json!(1));
    for name in ["c", "d"] {
        world.server.put(Kind::SandboxClaim, claim(name, name));
    }
    world.list();
    for name in ["a", "b", "c", "d"] {
        world.look_at(name).await;
    }
    leave(&world);
    let mut concerned = world.list_only(Source::Claims);
    concerned.remove(&Subject::Claim(Key::new("ns", "a")));
    assert_eq!(concerned, places());
    world.watches.queue.open();
    world
        .reconciler
        .look_after(&concerned.pop_first().unwrap())
        .await;
    let next = Subject::Claim(Key::new("ns", "b"));
    assert_eq!(world.woken().await, BTreeSet::from([next]));
    world.look_at("b").await;
    assert_eq!(world.phase_of("b"), "Pending");
}

// Proves: C-008, C-009, C-012
#[rstest]
#[case::lowered(json!({"enabled": true, "maxConcurrent": 0}), "Queued")]
#[case::set(json!({"enabled": true, "maxPerSession": 0}), "Queued")]
#[case::as_it_was(json!({"enabled": true, "maxConcurrent": 3}), "Pending")]
#[tokio::test]
async fn nobody_is_let_in_by_what_the_watch_of_runtimes_showed_last(
    #[case] sandbox: Value,
    #[case] phase: &str,
    #[values(json!(3), json!(null))] before: Value,
) {
    let world = World::limited(&before);
    let metadata = json!({"namespace": "ns", "name": "rt", "uid": "rt"});
    let runtime = json!({"metadata": metadata, "spec": {"sandbox": sandbox}});
    world.server.put(Kind::AgentRuntime, runtime);
    world.look_at("a").await;
    assert_eq!(world.phase_of("a"), phase);
}

// Proves: C-008
#[tokio::test]
async fn a_runtime_that_cannot_be_read_lets_nobody_in() {
    let world = World::limited(&json!(3));
    world.server.fail(1, Fault::Before);
    assert_eq!(world.look_at("a").await, Next::Retry);
    assert_eq!(world.phase_of("a"), Value::Null);
}

// Proves: C-008
#[tokio::test]
async fn a_runtime_is_read_once_for_all_its_claims_while_its_watch_shows_it_as_it_stands() {
    let world = World::limited(&json!(3));
    let reads = |log: Vec<String>| {
        log.iter()
            .filter(|it| it.contains("/agentruntimes/"))
            .count()
    };
    world.server.log();
    world.look_at("a").await;
    assert_eq!(reads(world.server.log()), 1);
    world.look_at("b").await;
    assert_eq!(reads(world.server.log()), 0);
    assert_eq!(world.phase_of("b"), "Pending");
}

// Proves: C-014
#[tokio::test]
async fn a_claim_that_we_fail_ourselves_leaves_its_place_at_once() {
    let world = World::limited(&json!(1));
    world.look_at("a").await;
    world.look_at("b").await;
    world.watches.queue.open();
    world.server.take(Kind::SandboxClass, "ns", "py");
    world.list();
    world.look_at("a").await;
    assert_eq!(world.phase_of("a"), "Failed");
    assert!(world.woken().await.is_superset(&places()));
}

// Proves: C-002, C-014
#[rstest]
#[case::raised(json!({"enabled": true, "maxConcurrent": 2}), "Pending")]
#[case::taken_out(json!({"enabled": true}), "Pending")]
#[case::switched_off(json!({"maxConcurrent": 1}), "Failed")]
#[tokio::test]
async fn an_edited_runtime_wakes_whom_the_edit_concerns(
    #[case] sandbox: Value,
    #[case] becomes: &str,
) {
    let world = World::limited(&json!(1));
    world.look_at("a").await;
    world.look_at("b").await;
    let runtime = json!({"metadata": {"namespace": "ns", "name": "rt", "uid": "rt"},
        "spec": {"sandbox": sandbox}});
    world.server.put(Kind::AgentRuntime, runtime);
    world.list();
    world.watches.queue.open();
    world.reconciler.look_after(places().first().unwrap()).await;
    let next = Subject::Claim(Key::new("ns", "b"));
    assert_eq!(world.woken().await, BTreeSet::from([next]));
    world.look_at("b").await;
    assert_eq!(world.phase_of("b"), becomes);
}

// Proves: C-001, C-008
#[rstest]
#[case::the_lease_is_anothers(|world: &World| {
    let mut lease = world.server.get(Kind::Lease, "ns", "lease").unwrap();
    lease["spec"]["holderIdentity"] = json!("pod-2");
    world.server.put(Kind::Lease, lease);
})]
#[case::there_is_no_lease(|world: &World| world.server.take(Kind::Lease, "ns", "lease"))]
#[case::the_term_is_over(|world: &World| world.fence.until(Some(tokio::time::Instant::now())))]
#[case::there_is_no_term(|world: &World| world.fence.until(None))]
#[tokio::test]
async fn who_does_not_lead_any_more_admits_nobody_under_a_limit(#[case] end: fn(&World)) {
    let world = World::limited(&json!(1));
    end(&world);
    assert_eq!(world.look_at("a").await, Next::Retry);
    assert_eq!(world.phase_of("a"), Value::Null);
    assert_eq!(
        world.server.get(Kind::NetworkPolicy, "ns", "a-sandbox"),
        None
    );
}

// Proves: C-008
#[tokio::test]
async fn an_admission_whose_answer_was_lost_is_counted() {
    let world = World::limited(&json!(1));
    // The runtime and the Lease are read first.
    world.server.fail(3, Fault::After);
    assert_eq!(world.look_at("a").await, Next::Retry);
    assert_eq!(world.phase_of("a"), "Pending");
    // The watch has not delivered it.
    world.look_at("b").await;
    assert_eq!(world.phase_of("b"), "Queued");
    assert_eq!(world.look_at("a").await, UNTIL_THE_TIME_IS_KNOWN);
}

// Proves: C-008
#[tokio::test]
async fn a_place_of_which_nothing_was_written_is_given_by_the_limits_that_stand_at_the_next_look() {
    let world = World::limited(&json!(1));
    // The runtime is read before it.
    world.server.fail(2, Fault::Before);
    assert_eq!(world.look_at("a").await, Next::Retry);
    world.limit(&json!(0));
    world.look_at("a").await;
    assert_eq!(world.phase_of("a"), "Queued");
}

// Proves: C-008
#[rstest]
#[case::it_was_not_carried_out(Fault::Before, "Queued")]
#[case::it_was(Fault::After, "Pending")]
#[tokio::test]
async fn what_became_of_an_admission_without_an_answer_is_read_before_it_is_written_again(
    #[case] fault: Fault,
    #[case] becomes: &str,
) {
    let world = World::limited(&json!(1));
    world.server.fail(3, fault);
    assert_eq!(world.look_at("a").await, Next::Retry);
    world.limit(&json!(0));
    world.look_at("a").await;
    assert_eq!(world.phase_of("a"), becomes);
    world.look_at("b").await;
    assert_eq!(world.phase_of("b"), "Queued");
}

// Proves: C-008
#[tokio::test(start_paused = true)]
async fn an_admission_that_is_never_answered_is_waited_for_no_longer_than_the_term_lasts() {
    let world = World::limited(&json!(1));
    let begun = tokio::time::Instant::now();
    let left = LEASE / 5;
    world.fence.until(Some(begun + left));
    world.server.fail(3, Fault::Hang);
    assert_eq!(world.look_at("a").await, Next::Retry);
    assert!(begun.elapsed() <= left, "{:?}", begun.elapsed());
}

// Proves: C-008
#[tokio::test(start_paused = true)]
async fn an_admission_under_way_outlives_its_worker_and_is_waited_for_before_the_lease_is_given_up()
{
    let world = World::limited(&json!(1));
    let left = LEASE / 5;
    let begun = tokio::time::Instant::now();
    world.fence.until(Some(begun + left));
    world.server.fail(3, Fault::Hang);
    let cut_off = tokio::time::timeout(LEASE / 100, world.look_at("a")).await;
    assert!(cut_off.is_err(), "the worker was not cut off");
    // As it is when the process is told to end.
    let World {
        reconciler,
        under_way,
        ..
    } = world;
    drop(reconciler);
    under_way.close();
    under_way.wait().await;
    let waited = begun.elapsed();
    assert!(waited > left / 2 && waited <= left, "{waited:?}");
}

// Proves: C-008, C-012
#[tokio::test]
async fn a_new_leader_knows_whom_the_one_before_admitted_though_its_watch_does_not() {
    let before = World::limited(&json!(1));
    let after = World::started_on(before.server.clone());
    before.look_at("b").await;
    assert_eq!(before.phase_of("b"), "Queued", "a was made first");
    before.look_at("a").await;
    before.server.put(Kind::SandboxClaim, claim("c", "third"));
    before.server.take(Kind::SandboxClaim, "ns", "b");
    after.reconciler.catch_up().await.unwrap();
    after.look_at("c").await;
    assert_eq!(after.phase_of("c"), "Queued");
    assert_eq!(after.watches.index.claim_count(), 2, "b is gone");
    after.look_at("a").await;
    assert!(after.sandbox(Kind::Deployment).is_some());
}

const CLAIMS: &str = "GET /apis/omnia.altairalabs.ai/v1alpha1/sandboxclaims";

fn one(claim: &str) -> String {
    format!("GET /apis/omnia.altairalabs.ai/v1alpha1/namespaces/ns/sandboxclaims/{claim}")
}

// Proves: C-001
#[tokio::test]
async fn a_new_leader_reads_no_claim_whole_that_its_watch_has_shown_it() {
    let before = World::limited(&json!(1));
    for number in 0..1200 {
        let name = format!("claim-{number:04}");
        before.server.put(Kind::SandboxClaim, claim(&name, &name));
    }
    let after = World::started_on(before.server.clone());
    before.look_at("a").await;
    before.server.take(Kind::SandboxClaim, "ns", "b");
    before.server.put(Kind::SandboxClaim, claim("new", "new"));
    after.server.log();
    after.reconciler.catch_up().await.unwrap();
    let read: BTreeSet<String> = after.server.log().into_iter().collect();
    assert_eq!(read, [CLAIMS.to_owned(), one("a"), one("new")].into());
    assert_eq!(after.watches.index.claim_count(), 1202);
    after.reconciler.catch_up().await.unwrap();
    assert_eq!(after.server.log(), vec![CLAIMS; 3]);
}

// Proves: C-001, C-008
#[tokio::test]
async fn a_claim_that_goes_while_a_new_leader_reads_takes_nobodys_place() {
    let before = World::limited(&json!(1));
    before.look_at("a").await;
    let gate = Gate::of(0);
    let after = World::connected(before.server.clone(), before.server.connect_through(&gate));
    let mut touched = before.server.get(Kind::SandboxClaim, "ns", "a").unwrap();
    touched["metadata"]["labels"] = json!({"touched": "yes"});
    before.server.put(Kind::SandboxClaim, touched);
    let mut reads = pin!(after.reconciler.catch_up());
    let read = loop {
        if let Poll::Ready(read) = futures::poll!(&mut reads) {
            break read;
        }
        if gate.oldest() == Some(one("a")) {
            before.server.take(Kind::SandboxClaim, "ns", "a");
        }
        gate.let_through(0, |_| None);
        tokio::task::yield_now().await;
    };
    read.unwrap();
    assert_eq!(after.watches.index.claim_count(), 1, "b alone is left");
}

// Proves: C-001
#[tokio::test]
async fn a_new_leader_that_cannot_read_one_claim_says_so() {
    let world = World::limited(&json!(1));
    world.server.put(Kind::SandboxClaim, claim("new", "new"));
    world.server.fail(2, Fault::Before);
    assert!(world.reconciler.catch_up().await.is_err());
    world.reconciler.catch_up().await.unwrap();
    assert_eq!(world.watches.index.claim_count(), 3);
}

// Proves: C-001
#[tokio::test]
async fn a_new_leader_that_cannot_read_all_claims_says_so() {
    let world = World::limited(&json!(1));
    world.server.fail(1, Fault::Before);
    assert!(world.reconciler.catch_up().await.is_err());
    assert!(world.reconciler.catch_up().await.is_ok());
}
