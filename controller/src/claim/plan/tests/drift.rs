//! What strangers change is undone and reported; what nobody changed costs nothing.

use rstest::rstest;
use sandgate_shared::api::ClaimPhase;
use serde_json::{Value, json};

use super::super::Action;
use super::world::{World, at, start};
use crate::claim::observed::{Memory, ObjectKind};

/// Everything that was built, without what a write moves by itself.
fn shape(world: &World) -> Vec<(ObjectKind, Value)> {
    let objects = world.store.iter().map(|(kind, object)| {
        let mut object = object.clone();
        for counted in ["resourceVersion", "generation"] {
            let metadata = object["metadata"].as_object_mut().unwrap();
            metadata.remove(counted);
        }
        (*kind, object)
    });
    objects.collect()
}

// Proves: O-040
#[rstest]
fn an_unchanged_claim_needs_no_request_before_or_after_a_restart() {
    let mut world = World::bound();
    let writes = world.writes;
    assert_eq!(world.settle(at(600)), 0);
    world.restart();
    assert_eq!(world.plan(at(900)).ensure, []);
    assert_eq!(world.settle(at(900)), 0);
    assert_eq!(world.writes, writes);
}

// Proves: O-040, C-021
#[rstest]
fn a_label_the_watch_needs_is_put_back_and_withdraws_no_address() {
    let mut world = World::bound();
    world.stranger(ObjectKind::Deployment, |deployment| {
        let labels = deployment["metadata"]["labels"].as_object_mut().unwrap();
        labels.remove("omnia.altairalabs.ai/sandbox-claim-uid");
    });
    // To the watch the Deployment is gone, and back once the label is.
    world.observed.deployment = None;
    world.reconcile(at(60));
    assert_eq!(world.phase(), Some(ClaimPhase::Bound));
    let (_, _, told) = world.condition("SandboxModified").unwrap();
    assert!(told.contains("sandbox-claim-uid"), "{told}");
}

// Proves: O-040
#[rstest]
fn with_nothing_remembered_a_dry_run_tells_that_nothing_changed() {
    let mut world = World::bound();
    let writes = world.writes;
    world.observed.memory = Memory::default();
    let (plan, decision) = world.reconcile(at(60));
    assert!(
        plan.ensure
            .iter()
            .all(|intent| matches!(intent.action, Action::Verify(_)))
    );
    assert_eq!(World::kinds(&plan), ObjectKind::OWNED);
    assert_eq!(decision.status, None);
    assert_eq!(world.writes, writes);
    assert_eq!(world.settle(at(61)), 0);
}

// Proves: O-040
#[rstest]
#[case::egress_to_everywhere(
    ObjectKind::NetworkPolicy,
    |policy: &mut Value| policy["spec"]["egress"] = json!([{}]),
    &["NetworkPolicy .spec.egress[0].ports, .spec.egress[0].to, .spec.egress[1]"]
)]
#[case::a_foreign_container(
    ObjectKind::Deployment,
    |deployment: &mut Value| {
        let pod = &mut deployment["spec"]["template"]["spec"];
        let containers = pod["containers"].as_array_mut().unwrap();
        containers.insert(0, json!({"name": "spy", "image": "spy"}));
    },
    &["Deployment .spec.template.spec.containers[spy]"]
)]
#[case::host_network(
    ObjectKind::Deployment,
    |deployment: &mut Value| deployment["spec"]["template"]["spec"]["hostNetwork"] = json!(true),
    &["Deployment .spec.template.spec.hostNetwork"]
)]
#[case::a_foreign_variable(
    ObjectKind::Deployment,
    |deployment: &mut Value| {
        let sandbox = &mut deployment["spec"]["template"]["spec"]["containers"][0];
        sandbox["env"].as_array_mut().unwrap().push(json!({"name": "LD_PRELOAD", "value": "x"}));
    },
    &["Deployment .spec.template.spec.containers[sandbox].env[LD_PRELOAD]"]
)]
#[case::a_foreign_owner(
    ObjectKind::Service,
    |service: &mut Value| {
        let owners = service["metadata"]["ownerReferences"].as_array_mut().unwrap();
        owners.push(json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u"}));
    },
    &["Service .metadata.ownerReferences[u]"]
)]
#[case::our_owner_stripped(
    ObjectKind::Deployment,
    |deployment: &mut Value| {
        deployment["metadata"].as_object_mut().unwrap().remove("ownerReferences");
    },
    &["Deployment .metadata.ownerReferences["]
)]
#[case::our_label_removed(
    ObjectKind::Deployment,
    |deployment: &mut Value| {
        let labels = deployment["metadata"]["labels"].as_object_mut().unwrap();
        labels.remove("omnia.altairalabs.ai/sandbox-claim-uid");
    },
    &["Deployment .metadata.labels.omnia.altairalabs.ai/sandbox-claim-uid"]
)]
#[case::another_order(
    ObjectKind::Deployment,
    |deployment: &mut Value| {
        let sandbox = &mut deployment["spec"]["template"]["spec"]["containers"][0];
        sandbox["env"].as_array_mut().unwrap().reverse();
    },
    &["Deployment .spec.template.spec.containers[sandbox].env"]
)]
#[case::more_replicas(
    ObjectKind::Deployment,
    |deployment: &mut Value| deployment["spec"]["replicas"] = json!(3),
    &["Deployment .spec.replicas"]
)]
fn a_strangers_edit_is_undone_and_reported_with_its_path(
    #[case] kind: ObjectKind,
    #[case] edit: fn(&mut Value),
    #[case] paths: &[&str],
    #[values(false, true)] restarted: bool,
) {
    let mut world = World::bound();
    let before = shape(&world);
    world.stranger(kind, edit);
    if restarted {
        world.restart();
    }
    world.settle(at(60));
    assert_eq!(shape(&world), before);
    let (status, reason, message) = world.condition("SandboxModified").unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("True", "Healed"));
    assert!(message.contains("2026-11-20T10:01:00Z"), "{message}");
    for path in paths {
        assert!(message.contains(path), "{message}");
    }
    assert_eq!(world.events.last(), Some(&"Healed"));
}

// Proves: O-040
#[rstest]
fn a_heal_whose_report_was_lost_is_reported_by_the_next_pass() {
    let mut world = World::bound();
    world.stranger(ObjectKind::Deployment, |object| {
        object["spec"]["replicas"] = json!(3);
    });
    let before = world.observed.claim.clone();
    world.reconcile(at(60));
    world.observed.claim = before;
    world.settle(at(61));
    let (_, reason, message) = world.condition("SandboxModified").unwrap();
    assert_eq!(reason, "Healed");
    assert!(
        message.contains("10:01:00Z: Deployment .spec.replicas"),
        "{message}"
    );
}

// Proves: O-040
#[rstest]
fn what_strangers_add_beside_our_fields_stays() {
    let mut world = World::bound();
    world.stranger(ObjectKind::Deployment, |deployment| {
        deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = json!("1");
        deployment["metadata"]["labels"]["team"] = json!("red");
        deployment["status"] = json!({"readyReplicas": 1});
    });
    assert_eq!(world.plan(at(60)).ensure, []);
    world.stranger(ObjectKind::Deployment, |deployment| {
        deployment["spec"]["replicas"] = json!(0);
    });
    world.settle(at(60));
    let metadata = &world.store[&ObjectKind::Deployment]["metadata"];
    assert_eq!(metadata["labels"]["team"], "red");
    assert_eq!(
        metadata["annotations"]["deployment.kubernetes.io/revision"],
        "1"
    );
}

// Proves: O-040
#[rstest]
fn a_stranger_who_forges_the_intent_annotation_too_is_reported_while_we_remember() {
    let mut world = World::bound();
    world.stranger(ObjectKind::NetworkPolicy, |policy| {
        policy["spec"]["egress"] = json!([{}]);
        policy["metadata"]["annotations"]["omnia.altairalabs.ai/intent-hash"] = json!("forged");
    });
    world.settle(at(60));
    assert!(world.condition("SandboxModified").is_some());
    assert_eq!(
        world.store[&ObjectKind::NetworkPolicy]["spec"]["egress"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

// Proves: O-040
#[rstest]
#[case(ObjectKind::NetworkPolicy)]
#[case(ObjectKind::Service)]
#[case(ObjectKind::Deployment)]
fn a_deleted_object_is_made_again_and_reported(#[case] kind: ObjectKind) {
    let mut world = World::bound();
    world.store.remove(&kind);
    world.look();
    world.settle(at(60));
    assert!(world.store.contains_key(&kind));
    let (_, _, message) = world.condition("SandboxModified").unwrap();
    assert!(
        message.contains(&format!("{} was deleted and is made again", kind.as_str())),
        "{message}"
    );
}

// Proves: C-034, O-040
#[rstest]
fn a_deployment_that_can_no_longer_be_rendered_as_it_was_is_healed_from_the_present_class() {
    let mut world = World::bound();
    let first = world.status().template_hash;
    world.class_mut().image = "registry.example/other:2".to_owned();
    world.stranger(ObjectKind::Deployment, |deployment| {
        deployment["spec"]["template"]["spec"]["hostNetwork"] = json!(true);
    });
    world.settle(at(60));
    let pod = &world.store[&ObjectKind::Deployment]["spec"]["template"]["spec"];
    assert_eq!(pod.get("hostNetwork"), None);
    assert_eq!(pod["containers"][0]["image"], "registry.example/other:2");
    assert_ne!(world.status().template_hash, first);
    let (_, _, message) = world.condition("SandboxModified").unwrap();
    assert!(
        message.contains("from its class as that is now"),
        "{message}"
    );
}

// Proves: O-040
#[rstest]
fn a_path_healed_twice_in_ten_minutes_rests_for_five() {
    let mut world = World::bound();
    let edit = |object: &mut Value| object["spec"]["replicas"] = json!(3);
    for second in [10, 20] {
        world.stranger(ObjectKind::Deployment, edit);
        world.settle(at(second));
        assert_eq!(world.store[&ObjectKind::Deployment]["spec"]["replicas"], 1);
    }
    world.stranger(ObjectKind::Deployment, edit);
    let (_, decision) = world.reconcile(at(30));
    assert_eq!(world.store[&ObjectKind::Deployment]["spec"]["replicas"], 3);
    assert_eq!(
        world.condition("SandboxModified").unwrap().1,
        "HealBackedOff"
    );
    assert_eq!(decision.requeue.unwrap().as_secs(), 290);
    assert_eq!(world.plan(at(31)).ensure, [], "not even a dry run");

    world.settle(at(320));
    assert_eq!(world.store[&ObjectKind::Deployment]["spec"]["replicas"], 1);
    assert_eq!(world.condition("SandboxModified").unwrap().1, "Healed");
}

// Proves: O-040
#[rstest]
fn an_edit_of_another_path_is_healed_even_while_one_rests() {
    let mut world = World::bound();
    for second in [10, 20] {
        world.stranger(ObjectKind::Deployment, |object| {
            object["spec"]["replicas"] = json!(3);
        });
        world.settle(at(second));
    }
    world.stranger(ObjectKind::Deployment, |object| {
        object["spec"]["replicas"] = json!(3);
        object["spec"]["template"]["spec"]["hostNetwork"] = json!(true);
    });
    world.settle(at(30));
    let spec = &world.store[&ObjectKind::Deployment]["spec"];
    assert_eq!(spec["template"]["spec"].get("hostNetwork"), None);
    assert_eq!(spec["replicas"], 1);
}

// Proves: O-040
#[rstest]
fn an_edit_of_another_path_ends_the_rest_of_the_first() {
    let mut world = World::bound();
    let edit = |object: &mut Value| object["spec"]["replicas"] = json!(3);
    for second in [10, 20, 30] {
        world.stranger(ObjectKind::Deployment, edit);
        world.settle(at(second));
    }
    assert_eq!(
        world.store[&ObjectKind::Deployment]["spec"]["replicas"],
        3,
        "left for a while"
    );
    world.stranger(ObjectKind::Deployment, |object| {
        object["spec"]["template"]["spec"]["hostPID"] = json!(true);
    });
    world.settle(at(40));
    let pod = &world.store[&ObjectKind::Deployment]["spec"]["template"]["spec"];
    assert_eq!(pod.get("hostPID"), None);
}

// Proves: O-037
#[rstest]
#[case::a_rule_added(|policy: &mut Value| policy["spec"]["egress"] = json!([{}]))]
#[case::a_narrower_selector(|policy: &mut Value| policy["spec"]["podSelector"] = json!({"matchLabels": {"a": "b"}}))]
#[case::one_type_dropped(|policy: &mut Value| policy["spec"]["policyTypes"] = json!(["Ingress"]))]
#[case::an_owner_that_would_take_it_away(
    |policy: &mut Value| policy["metadata"]["ownerReferences"] = json!([{"uid": "u"}])
)]
#[case::everything(|policy: &mut Value| *policy = json!({
    "metadata": {"name": "sandgate-baseline", "uid": "u", "resourceVersion": "1"}, "spec": {},
}))]
fn whatever_bears_the_baselines_name_is_put_in_order_by_one_write(#[case] edit: fn(&mut Value)) {
    let mut world = World::bound();
    let before = world.store[&ObjectKind::Baseline]["spec"].clone();
    world.stranger(ObjectKind::Baseline, edit);
    let plan = world.plan(at(60));
    assert_eq!(World::kinds(&plan), [ObjectKind::Baseline]);
    assert!(matches!(plan.ensure[0].action, Action::Update(_)));
    world.settle(at(60));
    assert_eq!(world.store[&ObjectKind::Baseline]["spec"], before);
    assert_eq!(
        world.store[&ObjectKind::Baseline]["metadata"].get("ownerReferences"),
        None
    );
}

/// A claim whose Deployment stands, of which a new process remembers nothing, and whose class was edited.
fn edited_before_bound() -> World {
    let mut world = World::codegen();
    world.settle(start());
    assert_eq!(world.status().applied, None, "nothing was recorded yet");
    world.class_mut().image = "ghcr.io/altairalabs/codegen-sandbox:next".to_owned();
    world.restart();
    world
}

// Proves: C-034
#[test]
fn a_class_edited_before_the_first_bind_rolls_nothing_and_accuses_nobody_after_a_restart() {
    let mut world = edited_before_bound();
    let (stood, pinned) = (
        world.store[&ObjectKind::Deployment].clone(),
        world.status().template_hash,
    );
    world.settle(at(5));
    assert_eq!(world.store[&ObjectKind::Deployment], stood);
    world.pod_is(|pod| pod.ready = true);
    world.settle(at(10));
    assert_eq!(world.phase(), Some(ClaimPhase::Bound));
    assert_eq!(world.store[&ObjectKind::Deployment], stood);
    assert_eq!(world.condition("SandboxModified"), None);
    assert_eq!(world.status().template_hash, pinned);
    assert!(
        world
            .status()
            .applied
            .is_some_and(|applied| applied.len() == 3)
    );
    // And so it stays.
    world.restart();
    world.settle(at(15));
    assert_eq!(world.store[&ObjectKind::Deployment], stood);
}

// Proves: C-034, O-040
#[test]
fn a_label_edited_away_meanwhile_is_put_back_without_the_edited_class() {
    let mut world = edited_before_bound();
    let template = world.store[&ObjectKind::Deployment]["spec"]["template"].clone();
    world.stranger(ObjectKind::Deployment, |deployment| {
        deployment["metadata"]["labels"]["omnia.altairalabs.ai/sandbox-claim"] = json!("other");
    });
    world.settle(at(5));
    let (_, _, message) = world.condition("SandboxModified").unwrap();
    assert!(message.contains("Deployment .metadata.labels"), "{message}");
    assert!(
        !message.contains("from its class as that is now"),
        "{message}"
    );
    assert_eq!(
        world.store[&ObjectKind::Deployment]["spec"]["template"],
        template
    );
}

// Proves: C-034
#[test]
fn a_deployment_whose_creation_was_not_answered_stays_as_it_was_made_under_an_edited_class() {
    let mut world = edited_before_bound();
    let made = world.store[&ObjectKind::Deployment].clone();
    // Neither the answer nor the watch has told of it yet.
    world.observed.deployment = None;
    world.observed.memory = Memory::default();
    let (plan, _) = world.reconcile(at(5));
    let again = plan
        .ensure
        .iter()
        .find(|it| it.kind == ObjectKind::Deployment);
    assert_eq!(again.unwrap().action, Action::Create);
    assert_eq!(world.store[&ObjectKind::Deployment], made);
    world.settle(at(6));
    assert_eq!(world.store[&ObjectKind::Deployment], made);
    assert_eq!(world.condition("SandboxModified"), None);
}

// Proves: C-034, O-040
#[test]
fn a_template_edited_meanwhile_is_put_back_from_the_present_class_which_is_said() {
    let mut world = edited_before_bound();
    world.stranger(ObjectKind::Deployment, |deployment| {
        deployment["spec"]["template"]["spec"]["hostNetwork"] = json!(true);
    });
    world.settle(at(5));
    let (_, _, message) = world.condition("SandboxModified").unwrap();
    assert!(
        message.contains(".spec.template.spec.hostNetwork"),
        "{message}"
    );
    assert!(
        message.contains("from its class as that is now"),
        "{message}"
    );
}
