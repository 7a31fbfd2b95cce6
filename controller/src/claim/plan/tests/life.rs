//! A claim from its creation to its end.

use rstest::rstest;
use sandgate_shared::api::ClaimPhase;
use serde_json::json;

use super::super::Action;
use super::world::{World, at, start};
use crate::claim::observed::{LiveObject, Lookup, ObjectKind};

// Proves: O-037, O-001
#[rstest]
fn what_shuts_the_sandbox_is_made_before_what_runs_it() {
    let plan = World::admitted().plan(start());
    assert_eq!(
        World::kinds(&plan),
        [
            ObjectKind::Baseline,
            ObjectKind::NetworkPolicy,
            ObjectKind::Service,
            ObjectKind::Deployment,
        ]
    );
    assert!(
        plan.ensure
            .iter()
            .all(|intent| intent.action == Action::Create)
    );
}

// Proves: C-018, C-019, C-020, C-026
#[rstest]
fn a_claim_is_pending_without_addresses_until_its_pod_is_ready_and_then_bound() {
    let mut world = World::codegen();
    world.settle(start());
    assert_eq!(world.phase(), Some(ClaimPhase::Pending));
    assert_eq!(world.status().addresses, None);
    assert_eq!(
        world.status().sandbox_name.as_deref(),
        Some("my-agent-sbx-7k2qp-sandbox")
    );

    world.pod_is(|_| {});
    world.settle(start());
    assert_eq!(world.ready().0, "SandboxStarting");
    assert_eq!(world.status().addresses, None);

    world.pod_is(|pod| pod.ready = true);
    world.settle(start());
    assert_eq!(world.phase(), Some(ClaimPhase::Bound));
    let address = "my-agent-sbx-7k2qp-sandbox.my-agents.svc.cluster.local:8080";
    assert_eq!(
        world.status().addresses,
        Some([("mcp".to_owned(), address.to_owned())].into())
    );
}

// Proves: O-022, C-029
#[rstest]
fn a_runtime_that_no_label_can_name_is_let_in_nowhere_and_the_claim_says_so() {
    let mut world = World::codegen();
    let runtime = world.observed.claim.spec.agent_runtime_ref.as_mut();
    runtime.unwrap().name = "r".repeat(64);
    world.settle(start());
    world.pod_is(|pod| pod.ready = true);
    world.settle(at(1));
    assert_eq!(world.phase(), Some(ClaimPhase::Bound));
    assert!(
        world.ready().1.contains("lets nobody in"),
        "{:?}",
        world.ready()
    );
}

// Proves: C-033
#[rstest]
fn a_plain_claim_costs_five_writes_and_two_events() {
    let world = World::bound();
    assert_eq!(
        world.writes - 1,
        5,
        "the baseline policy is once a namespace"
    );
    assert_eq!(world.events, ["SandboxStarting", "SandboxReady"]);
}

// Proves: C-018, C-020
#[rstest]
#[case::of_nobody(None)]
#[case::of_another_replica_set(Some("uid-of-another"))]
fn a_ready_pod_that_our_deployment_did_not_make_binds_nothing(#[case] controller: Option<&str>) {
    let mut world = World::codegen();
    world.settle(start());
    world.pod_is(|pod| {
        pod.ready = true;
        pod.controller = controller.map(str::to_owned);
    });
    world.settle(start());
    assert_eq!(world.phase(), Some(ClaimPhase::Pending));
}

// Proves: C-021, C-027
#[rstest]
fn lost_readiness_withdraws_the_addresses_at_once_and_the_claim_remembers_that_it_bound() {
    let mut world = World::bound();
    world.pod_is(|_| {});
    world.settle(at(60));
    assert_eq!(world.phase(), Some(ClaimPhase::Pending));
    assert_eq!(world.status().addresses, None);
    assert_eq!(world.ready().0, "SandboxNotReady");
    assert_eq!(world.condition("Bound").unwrap().0, "True");
    assert_eq!(world.status().last_used_at.unwrap().0, at(60));

    world.pod_is(|pod| pod.ready = true);
    world.settle(at(90));
    assert_eq!(world.phase(), Some(ClaimPhase::Bound));
    assert!(world.status().addresses.is_some());
}

// Proves: C-034
#[rstest]
fn an_edited_class_leaves_a_built_deployment_alone_and_moves_policy_at_once() {
    let mut world = World::codegen();
    world.settle(start());
    let before = world.store.clone();
    world.class_mut().image = "registry.example/other:2".to_owned();
    world.class_mut().egress = None;
    let plan = world.plan(start());
    assert_eq!(World::kinds(&plan), [ObjectKind::NetworkPolicy]);
    assert!(matches!(plan.ensure[0].action, Action::Update(_)));
    world.settle(start());
    assert_eq!(
        world.store[&ObjectKind::Deployment],
        before[&ObjectKind::Deployment]
    );
    assert_eq!(
        world.store[&ObjectKind::NetworkPolicy]["spec"].get("egress"),
        None
    );
    assert_eq!(
        world.condition("SandboxModified"),
        None,
        "a change of ours is none of a stranger's"
    );
}

// Proves: C-034
#[rstest]
fn an_edited_class_leaves_a_built_deployment_alone_after_a_restart_too() {
    let mut world = World::bound();
    let before = world.store.clone();
    world.class_mut().image = "registry.example/other:2".to_owned();
    world.restart();
    world.settle(start());
    assert_eq!(world.store, before);
}

// Proves: C-034
#[rstest]
fn a_bound_claim_whose_class_is_gone_fails_when_something_has_to_be_built_from_it() {
    let mut world = World::bound();
    world.observed.class = Lookup::Missing;
    world.settle(start());
    assert_eq!(world.phase(), Some(ClaimPhase::Bound));
    world.stranger(ObjectKind::NetworkPolicy, |policy| {
        policy["spec"]["egress"] = json!([{}]);
    });
    world.reconcile(start());
    assert_eq!(world.phase(), Some(ClaimPhase::Failed));
    assert_eq!(world.ready().0, "ClassNotFound");
    assert_eq!(world.status().addresses, None);
}

// Proves: C-020, C-034
#[rstest]
fn a_bound_claim_whose_class_is_gone_regains_its_addresses_from_its_service() {
    let mut world = World::bound();
    let addresses = world.status().addresses;
    world.observed.class = Lookup::Missing;
    world.pod_is(|_| {});
    world.settle(start());
    assert_eq!(world.status().addresses, None);
    world.pod_is(|pod| pod.ready = true);
    world.settle(start());
    assert_eq!(world.status().addresses, addresses);
}

// Proves: C-035
#[rstest]
fn a_failed_claim_loses_its_deployment_at_once_and_its_policy_once_the_pods_are_gone() {
    let mut world = World::codegen();
    world.settle(start());
    world.pod_is(|_| {});
    world.observed.class = Lookup::Missing;
    world.reconcile(start());
    assert_eq!(world.phase(), Some(ClaimPhase::Failed));
    assert_eq!(
        world.store.len(),
        4,
        "nothing goes before the status says so"
    );

    let (plan, _) = world.reconcile(start());
    let kinds: Vec<_> = plan.delete.iter().map(|deletion| deletion.kind).collect();
    assert_eq!(kinds, [ObjectKind::Deployment]);
    assert!(!plan.delete[0].live.uid.is_empty());

    let set = std::mem::take(&mut world.observed.replica_sets);
    let (plan, _) = world.reconcile(start());
    assert_eq!(plan.delete, [], "a terminating pod stays behind its policy");
    world.observed.replica_sets = set;
    world.observed.pods.clear();
    let (plan, _) = world.reconcile(start());
    assert_eq!(plan.delete, [], "a ReplicaSet may still make a pod");

    world.observed.replica_sets.clear();
    world.settle(start());
    let left: Vec<_> = world.store.keys().collect();
    assert_eq!(left, [&ObjectKind::Baseline]);
}

// Proves: C-035
#[rstest]
fn what_is_being_deleted_is_not_deleted_again() {
    let mut world = World::codegen();
    world.settle(start());
    world.observed.class = Lookup::Missing;
    world.reconcile(start());
    world.stranger(ObjectKind::Deployment, |object| {
        object["metadata"]["deletionTimestamp"] = json!("2026-11-20T10:00:00Z");
    });
    assert_eq!(world.plan(start()).delete, []);
}

// Proves: C-003
#[rstest]
#[case::namespaced(
    "SandboxClass",
    "SandboxClass \"codegen-default\" does not exist in the claim's namespace"
)]
#[case::cluster(
    "ClusterSandboxClass",
    "ClusterSandboxClass \"codegen-default\" does not exist;"
)]
fn a_missing_class_is_named_by_the_kind_it_was_looked_up_in(
    #[case] kind: &str,
    #[case] words: &str,
) {
    let mut world = World::codegen();
    world.observed.claim.spec.class_ref.kind = serde_json::from_value(json!(kind)).unwrap();
    world.observed.class = Lookup::Missing;
    world.settle(start());
    assert!(world.ready().1.starts_with(words), "{}", world.ready().1);
}

// Proves: O-002
#[rstest]
#[case(ObjectKind::NetworkPolicy)]
#[case(ObjectKind::Service)]
#[case(ObjectKind::Deployment)]
fn a_foreign_object_of_the_name_fails_the_claim_and_stays_as_it_is(#[case] kind: ObjectKind) {
    let mut world = World::codegen();
    let foreign = json!({
        "metadata": {"name": "my-agent-sbx-7k2qp-sandbox"},
        "spec": {"template": {"spec": {}}},
    });
    world.put(kind, foreign);
    world.look();
    let before = world.store.clone();
    world.settle(start());
    assert_eq!(world.phase(), Some(ClaimPhase::Failed));
    assert_eq!(world.ready().0, "NameConflict");
    assert_eq!(world.store, before, "nothing built, nothing touched");
}

// Proves: O-002
#[rstest]
fn a_foreign_object_that_the_watch_did_not_show_yet_is_found_by_the_write() {
    let mut world = World::codegen();
    let foreign = json!({"metadata": {"name": "x", "ownerReferences": [{"uid": "else", "controller": true}]}, "spec": {"template": {"spec": {}}}});
    world.put(ObjectKind::Deployment, foreign);
    let before = world.store[&ObjectKind::Deployment].clone();
    world.settle(start());
    assert_eq!(world.ready().0, "NameConflict");
    assert_eq!(world.store[&ObjectKind::Deployment], before);
    let ours = [ObjectKind::NetworkPolicy, ObjectKind::Service];
    assert!(
        ours.iter().all(|kind| !world.store.contains_key(kind)),
        "cleaned up"
    );
}

// Proves: C-033, O-040
#[rstest]
#[case::after_nothing(0)]
#[case::after_the_baseline(1)]
#[case::after_the_policy(2)]
#[case::after_the_service(3)]
#[case::after_the_deployment(4)]
fn a_controller_killed_between_two_writes_ends_in_the_same_state(#[case] writes: usize) {
    let mut whole = World::codegen();
    whole.settle(start());

    let mut cut = World::admitted();
    let mut plan = cut.plan(start());
    plan.ensure.truncate(writes);
    cut.apply(&plan);
    cut.look();
    cut.restart();
    cut.settle(start());

    let shape = |world: &World| {
        let objects = world.store.iter().map(|(kind, object)| {
            let live = LiveObject::read(object).unwrap();
            (*kind, live.digest, live.intent)
        });
        objects.collect::<Vec<_>>()
    };
    assert_eq!(shape(&cut), shape(&whole));
    assert_eq!(cut.ready(), whole.ready());
    assert_eq!(cut.status().template_hash, whole.status().template_hash);
    assert_eq!(cut.condition("SandboxModified"), None);
}
