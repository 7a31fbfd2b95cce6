//! What is said of policies that open the sandbox's pod beyond its class.

use rstest::rstest;
use sandgate_shared::api::ClaimPhase;
use sandgate_shared::names;
use serde_json::{Value, json};

use super::super::Refusal;
use super::world::{World, at};
use crate::claim::observed::{ObjectKind, Widening};

const NAME: &str = "NetworkPolicyWidened";

fn opened_by(world: &mut World, policies: &[&str]) {
    let widening = |name: &&str| Widening {
        policy: (*name).to_owned(),
        opens: "egress".to_owned(),
    };
    world.observed.pods[0].opened_by = policies.iter().map(widening).collect();
}

fn status(world: &World) -> String {
    world
        .condition(NAME)
        .map_or_else(String::new, |(status, ..)| status)
}

#[rstest]
fn nothing_is_said_while_no_other_policy_opens_the_pod() {
    let mut world = World::bound();
    assert_eq!(world.settle(at(60)), 0);
    assert_eq!(world.condition(NAME), None);
}

#[rstest]
fn each_change_of_the_policies_is_one_write_and_one_event() {
    let mut world = World::bound();
    let (writes, events) = (world.writes, world.events.len());
    opened_by(&mut world, &["zoo", "all"]);
    world.settle(at(60));
    let (status, reason, message) = world.condition(NAME).unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("True", NAME));
    let told = "the sandbox's pod is open beyond its class, by NetworkPolicy all (egress), zoo (egress). \
        Unless that is meant, delete what is not the operator's, or have its podSelector leave the pod out";
    assert_eq!(message, told);
    assert_eq!(world.settle(at(61)), 0);
    opened_by(&mut world, &["all"]);
    world.settle(at(62));
    opened_by(&mut world, &[]);
    world.settle(at(63));
    assert_eq!(world.settle(at(64)), 0);
    let (status, reason, message) = world.condition(NAME).unwrap();
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("False", "NetworkPolicyNotWidened")
    );
    assert_eq!(
        message,
        "no NetworkPolicy opens the sandbox's pod beyond its class"
    );
    assert_eq!(world.writes, writes + 3);
    assert_eq!(
        world.events[events..],
        [NAME, NAME, "NetworkPolicyNotWidened"]
    );
    // What a policy opens takes no sandbox from its agent.
    assert_eq!(world.phase(), Some(ClaimPhase::Bound));
}

#[rstest]
fn a_crowd_of_policies_is_cut_short() {
    let mut world = World::bound();
    let names: Vec<String> = (0..14).map(|number| format!("p{number:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    opened_by(&mut world, &names);
    world.settle(at(60));
    let (_, _, message) = world.condition(NAME).unwrap();
    assert!(message.contains("p09 (egress) and 4 more. "), "{message}");
}

#[rstest]
fn pods_that_are_not_the_sandboxs_or_have_ended_do_not_count() {
    let mut world = World::bound();
    opened_by(&mut world, &["all"]);
    world.observed.pods[0].controller = Some("somebody".to_owned());
    world.settle(at(60));
    assert_eq!(world.condition(NAME), None);
    let mut world = World::bound();
    opened_by(&mut world, &["all"]);
    world.observed.pods[0].finished = true;
    world.reconcile(at(60));
    assert_eq!(world.condition(NAME), None);
}

#[rstest]
fn without_a_pod_nothing_is_open() {
    let mut world = World::bound();
    opened_by(&mut world, &["all"]);
    world.settle(at(60));
    world.observed.pods.clear();
    world.settle(at(61));
    assert_eq!(status(&world), "False");
}

#[rstest]
#[case::put_right(None, "")]
#[case::refused(Some(403), "True")]
fn an_opened_baseline_is_named_only_where_it_cannot_be_put_right(
    #[case] code: Option<u16>,
    #[case] said: &str,
) {
    let mut world = World::bound();
    world.stranger(ObjectKind::Baseline, |baseline| {
        baseline["spec"]["egress"] = json!([{}]);
    });
    opened_by(&mut world, &[names::BASELINE_POLICY]);
    world.refuses = code.map(|code| {
        let refusal = Refusal {
            code,
            message: "no".to_owned(),
            ..Refusal::default()
        };
        (ObjectKind::Baseline, refusal)
    });
    world.reconcile(at(60));
    assert_eq!(status(&world), said);
    // Not tried again yet: it is open still.
    world.reconcile(at(61));
    assert_eq!(status(&world), said);
}

// Proves: O-040
#[rstest]
#[case::egress_to_everywhere(|policy: &mut Value| policy["spec"]["egress"] = json!([{}]), true)]
#[case::no_ingress(
    |policy: &mut Value| {
        policy["spec"].as_object_mut().unwrap().remove("ingress");
    },
    false
)]
#[case::no_label(
    |policy: &mut Value| {
        let labels = policy["metadata"]["labels"].as_object_mut().unwrap();
        labels.remove(names::LABEL_CLAIM_UID);
    },
    false
)]
fn an_edit_of_the_own_policy_is_named_while_it_is_held_back_and_adds_a_rule(
    #[case] edit: fn(&mut Value),
    #[case] opens: bool,
) {
    let mut world = World::bound();
    for second in [1, 2, 3] {
        world.stranger(ObjectKind::NetworkPolicy, edit);
        world.settle(at(second));
        let held = second == 3;
        assert_eq!(status(&world), if held && opens { "True" } else { "" });
    }
    assert_eq!(world.settle(at(4)), 0);
    if opens {
        let (_, _, message) = world.condition(NAME).unwrap();
        assert!(
            message.contains("my-agent-sbx-7k2qp-sandbox (the claim's own, "),
            "{message}"
        );
        world.settle(at(600));
        assert_eq!(status(&world), "False");
    }
}

// Proves: C-035
#[rstest]
fn a_claim_that_fails_takes_back_what_was_said_of_its_pod() {
    let mut world = World::bound();
    opened_by(&mut world, &["all"]);
    world.settle(at(60));
    world.store.get_mut(&ObjectKind::Service).unwrap()["metadata"]["ownerReferences"] = json!([]);
    world.put(
        ObjectKind::Service,
        json!({"metadata": {"uid": "theirs"}, "spec": {}}),
    );
    world.look();
    world.reconcile(at(61));
    assert_eq!(
        world.phase(),
        Some(ClaimPhase::Failed),
        "{:?}",
        world.ready()
    );
    assert_eq!(status(&world), "False");
}
