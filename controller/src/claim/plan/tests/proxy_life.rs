//! How an egress proxy comes before its sandbox, follows its Connections, and goes.

use rstest::rstest;
use sandgate_shared::api::ClaimPhase;
use serde_json::{Value, json};

use super::super::{Urgent, Verdict};
use super::connections::{bound, vcs, world};
use super::refusals::answer;
use super::world::{World, at};
use crate::claim::observed::{
    Lookup, ObjectKind, ObservedContainer, ObservedPod, Terminated, Waiting,
};

pub(super) fn hosts(world: &mut World, hosts: &[&str]) {
    let spec = vcs(world).found.as_mut().unwrap();
    spec.hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
}

pub(super) fn allowlist(world: &World) -> &str {
    let data = &world.store[&ObjectKind::EgressAllowlist]["data"];
    data["allowlist.json"].as_str().unwrap()
}

fn template(world: &World, kind: ObjectKind) -> Value {
    world.store[&kind]["spec"]["template"].clone()
}

/// All Connections are gone.
fn disconnect(world: &mut World) {
    for binding in world.observed.bindings.as_mut().unwrap() {
        binding.found = None;
    }
}

// Proves: E-001, E-004
#[test]
fn it_comes_first_and_the_sandbox_s_pod_only_once_it_answers() {
    let mut world = world();
    world.proxy_pod.ready = false;
    world.reconcile(at(62));
    assert!(matches!(world.plan(at(62)).verdict, Verdict::Build(_)));
    let (plan, _) = world.reconcile(at(62));
    assert_eq!(
        World::kinds(&plan),
        [
            ObjectKind::Baseline,
            ObjectKind::EgressNetworkPolicy,
            ObjectKind::EgressAllowlist,
            ObjectKind::EgressService,
            ObjectKind::EgressDeployment,
            ObjectKind::NetworkPolicy,
            ObjectKind::Service,
        ]
    );
    assert_eq!(world.settle(at(63)), 0, "and then it is waited for");
    let (reason, message) = world.ready();
    assert_eq!(reason, "SandboxStarting");
    assert!(
        message.contains("its egress proxy comes first"),
        "{message}"
    );
    world.proxy_pod.ready = true;
    world.look();
    let (plan, decision) = world.reconcile(at(64));
    assert_eq!(World::kinds(&plan), [ObjectKind::Deployment]);
    assert_eq!(
        decision.status, None,
        "a status write would be one too many"
    );
    world.pod_is(|pod| pod.ready = true);
    world.settle(at(65));
    assert_eq!(world.phase(), Some(ClaimPhase::Bound));
    // The baseline is the namespace's.
    assert_eq!(world.writes - 1, 9);
    assert_eq!(world.settle(at(66)), 0);
}

// Proves: O-028
#[test]
fn a_policy_that_names_the_service_s_address_waits_for_it_and_is_written_once() {
    let mut world = world();
    world.settings.judges_before_translation = true;
    world.settle(at(62));
    world.pod_is(|pod| pod.ready = true);
    world.settle(at(63));
    assert_eq!(world.phase(), Some(ClaimPhase::Bound));
    assert_eq!(world.writes - 1, 9);
}

#[rstest]
#[case::image(|pod: &mut ObservedPod| {
    let reason = "ErrImagePull".to_owned();
    let waiting = Some(Waiting { reason, message: "not found".to_owned() });
    pod.containers = vec![ObservedContainer { waiting, image: "x".to_owned(), ..ObservedContainer::default() }];
}, "image \"x\" cannot be pulled")]
#[case::back_off(|pod: &mut ObservedPod| {
    let reason = "ImagePullBackOff".to_owned();
    let waiting = Some(Waiting { reason, message: "back-off".to_owned() });
    pod.containers = vec![ObservedContainer { waiting, image: "x".to_owned(), ..ObservedContainer::default() }];
}, "image \"x\" cannot be pulled")]
#[case::ended(|pod: &mut ObservedPod| {
    let terminated = Some(Terminated { reason: "Error".to_owned(), exit_code: 1, message: String::new() });
    pod.containers = vec![ObservedContainer { terminated, ..ObservedContainer::default() }];
}, "it ends by itself (Error, exit code 1)")]
#[case::no_room(|pod: &mut ObservedPod| {
    pod.unschedulable = Some("0/1 nodes are available".to_owned());
}, "its pod finds no node: 0/1 nodes are available")]
fn what_keeps_it_from_starting_is_said_on_the_claim(
    #[case] fault: fn(&mut ObservedPod),
    #[case] says: &str,
) {
    let mut world = world();
    world.proxy_pod.ready = false;
    fault(&mut world.proxy_pod);
    world.settle(at(62));
    let (reason, message) = world.ready();
    assert_eq!(reason, "EgressProxyNotReady", "{message}");
    assert!(message.contains(says), "{message}");
    assert_eq!(world.phase(), Some(ClaimPhase::Pending));
    assert!(!world.store.contains_key(&ObjectKind::Deployment));
}

#[test]
fn one_that_fails_later_takes_no_address_away_and_is_said_beside_it() {
    let mut world = bound();
    world.events.clear();
    world.proxy_pod.ready = false;
    world.look();
    world.settle(at(70));
    assert_eq!(world.phase(), Some(ClaimPhase::Bound));
    assert_eq!(world.ready().0, "SandboxReady");
    let (holds, reason, _) = world.condition("EgressProxyReady").unwrap();
    assert_eq!(
        (holds.as_str(), reason.as_str()),
        ("False", "EgressProxyNotReady")
    );
    assert_eq!(world.events, ["EgressProxyNotReady"]);
    world.proxy_pod.ready = true;
    world.look();
    world.settle(at(71));
    assert_eq!(world.condition("EgressProxyReady").unwrap().0, "True");
}

#[test]
fn one_that_fails_before_the_claim_binds_is_said_as_it_binds() {
    let mut world = world();
    world.settle(at(62));
    world.proxy_pod.ready = false;
    world.pod_is(|pod| pod.ready = true);
    world.look();
    world.reconcile(at(63));
    assert_eq!(world.phase(), Some(ClaimPhase::Bound));
    let (holds, reason, _) = world.condition("EgressProxyReady").unwrap();
    assert_eq!(
        (holds.as_str(), reason.as_str()),
        ("False", "EgressProxyNotReady")
    );
}

// Proves: E-011
#[test]
fn an_edit_of_a_connection_changes_its_allowlist_and_starts_nothing_anew() {
    let mut world = bound();
    let before =
        [ObjectKind::Deployment, ObjectKind::EgressDeployment].map(|it| template(&world, it));
    hosts(&mut world, &["api.github.com", "github.com"]);
    let (plan, decision) = world.reconcile(at(70));
    assert_eq!(World::kinds(&plan), [ObjectKind::EgressAllowlist]);
    assert_eq!(plan.urgent, Urgent::No);
    assert_eq!(decision.status, None);
    assert_eq!(
        allowlist(&world),
        r#"{"hosts":["api.github.com","example.com","github.com"]}"#
    );
    world.settle(at(80));
    let after =
        [ObjectKind::Deployment, ObjectKind::EgressDeployment].map(|it| template(&world, it));
    assert_eq!(before, after);
}

// Proves: E-011
#[test]
fn its_kubelet_is_told_at_once_and_again_after_two_seconds_and_then_no_more() {
    let mut world = bound();
    assert!(
        world.plan(at(69)).pokes.is_empty(),
        "it began with this list"
    );
    hosts(&mut world, &["api.github.com"]);
    let (plan, decision) = world.reconcile(at(70));
    let hash = plan.ensure[0].hash.clone();
    let told = |plan: &super::super::Plan| -> Vec<String> {
        plan.pokes.iter().map(|poke| poke.told.clone()).collect()
    };
    assert_eq!(told(&plan), [format!("{hash}@{}", at(70).as_second())]);
    assert_eq!(plan.pokes[0].pod.uid, "uid-proxy-pod");
    assert!(decision.requeue.unwrap().as_secs() <= 2);
    let (plan, decision) = world.reconcile(at(71));
    assert_eq!(told(&plan), Vec::<String>::new());
    assert!(decision.requeue.unwrap().as_secs() <= 1);
    // Whoever leads by then.
    world.restart();
    let (plan, decision) = world.reconcile(at(72));
    assert_eq!(told(&plan), [hash]);
    // It may have failed, which only the pod tells.
    assert!(decision.requeue.unwrap().as_secs() <= 2);
    let (plan, decision) = world.reconcile(at(74));
    assert_eq!(told(&plan), Vec::<String>::new());
    assert!(decision.requeue.is_none_or(|wait| wait.as_secs() > 2));
}

// Proves: E-011
#[test]
fn it_follows_its_connections_though_the_class_is_gone() {
    let mut world = bound();
    world.observed.class = Lookup::Missing;
    hosts(&mut world, &["api.github.com"]);
    world.settle(at(70));
    assert_eq!(
        allowlist(&world),
        r#"{"hosts":["api.github.com","example.com"]}"#
    );
    assert_eq!(world.phase(), Some(ClaimPhase::Bound));
}

// Proves: E-012, K-031
#[rstest]
#[case::the_connection(|world: &mut World| vcs(world).found = None)]
#[case::the_secret(|world: &mut World| vcs(world).secret = None)]
#[case::the_key(|world: &mut World| vcs(world).secret.as_mut().unwrap().values.clear())]
fn the_hosts_of_a_connection_that_is_gone_go(#[case] revoke: fn(&mut World)) {
    let mut world = world();
    hosts(&mut world, &["api.github.com"]);
    world.settle(at(62));
    world.pod_is(|pod| pod.ready = true);
    world.settle(at(63));
    assert_eq!(
        allowlist(&world),
        r#"{"hosts":["api.github.com","example.com"]}"#
    );
    revoke(&mut world);
    world.settle(at(70));
    assert_eq!(allowlist(&world), r#"{"hosts":["example.com"]}"#);
    assert_eq!(world.phase(), Some(ClaimPhase::Bound), "the claim stays");
}

// Proves: E-001, E-012
#[test]
fn it_goes_with_the_last_host_and_with_it_every_tunnel() {
    let mut world = bound();
    disconnect(&mut world);
    let plan = world.plan(at(70));
    assert_eq!(plan.cut.len(), 1, "its pod does not drain");
    let doomed: Vec<_> = plan
        .delete
        .iter()
        .map(|it| (it.kind, it.name.as_str()))
        .collect();
    assert_eq!(doomed.len(), 4);
    assert!(
        doomed
            .iter()
            .all(|(kind, name)| kind.is_of_proxy() && name.ends_with("-egress"))
    );
    world.events.clear();
    world.settle(at(70));
    assert!(world.store.keys().all(|kind| !kind.is_of_proxy()));
    assert_eq!(world.phase(), Some(ClaimPhase::Bound), "the claim stays");
    let sandbox = template(&world, ObjectKind::Deployment).to_string();
    assert!(
        !sandbox.contains("HTTPS_PROXY"),
        "it was made anew for the credential"
    );
    let metadata = &world.store[&ObjectKind::Deployment]["metadata"];
    let told = metadata["annotations"].as_object().unwrap().keys();
    let told: Vec<_> = told.filter(|key| key.contains("egress")).collect();
    assert!(told.is_empty(), "{told:?}");
    let policy = world.store[&ObjectKind::NetworkPolicy].to_string();
    assert!(!policy.contains("\"port\":3128"), "{policy}");
    assert_eq!(
        world.events,
        ["ConnectionNotFound"],
        "nobody else took it away"
    );
    let applied = world.status().applied.unwrap();
    assert!(
        applied
            .iter()
            .all(|object| !object.kind.ends_with("/egress"))
    );
    assert_eq!(world.settle(at(71)), 0);
}

// Proves: E-001
#[test]
fn it_comes_again_with_a_connection_that_comes_again() {
    let mut world = bound();
    let before = world.observed.bindings.clone();
    disconnect(&mut world);
    world.settle(at(70));
    world.observed.bindings = before;
    world.events.clear();
    world.settle(at(80));
    assert!(world.store.contains_key(&ObjectKind::EgressDeployment));
    let sandbox = template(&world, ObjectKind::Deployment).to_string();
    assert!(sandbox.contains("HTTPS_PROXY"));
    assert_eq!(
        world.condition("SandboxModified"),
        None,
        "no stranger did that"
    );
}

// Proves: C-034
#[test]
fn a_service_that_is_made_anew_starts_the_sandbox_anew_and_says_why() {
    let mut world = bound();
    world.events.clear();
    world.store.remove(&ObjectKind::EgressService);
    world.look();
    world.service_address = "10.96.0.99".to_owned();
    let (plan, _) = world.reconcile(at(70));
    assert_eq!(World::kinds(&plan), [ObjectKind::EgressService]);
    let (plan, decision) = world.reconcile(at(70));
    assert_eq!(World::kinds(&plan), [ObjectKind::Deployment]);
    let sandbox = template(&world, ObjectKind::Deployment).to_string();
    assert!(sandbox.contains("http://10.96.0.99:3128"));
    let told = decision
        .events
        .iter()
        .find(|it| it.reason == "EgressProxyMoved");
    let note = &told.unwrap().note;
    assert!(
        note.contains("10.96.0.99:3128 instead of 10.96.0.7:3128"),
        "{note}"
    );
    assert_eq!(world.events, ["Healed", "EgressProxyMoved"]);
    assert_eq!(world.settle(at(71)), 0);
}

// Proves: C-034
#[test]
fn nothing_else_that_changes_about_it_starts_anything_anew() {
    let mut world = bound();
    let before =
        [ObjectKind::Deployment, ObjectKind::EgressDeployment].map(|it| template(&world, it));
    world.settings.egress.image = "sandgate:next".to_owned();
    world.settings.egress.metrics_from =
        serde_json::from_value(json!([{"podSelector": {}}])).unwrap();
    world.restart();
    let plan = world.plan(at(70));
    assert_eq!(World::kinds(&plan), [ObjectKind::EgressNetworkPolicy]);
    world.settle(at(70));
    let after =
        [ObjectKind::Deployment, ObjectKind::EgressDeployment].map(|it| template(&world, it));
    assert_eq!(before, after);
}

// Proves: O-040
#[rstest]
fn a_stranger_s_edit_of_it_is_undone(
    #[values(
        ObjectKind::EgressNetworkPolicy,
        ObjectKind::EgressAllowlist,
        ObjectKind::EgressService,
        ObjectKind::EgressDeployment
    )]
    kind: ObjectKind,
) {
    let mut world = bound();
    let before = world.store[&kind].clone();
    world.stranger(kind, |object| match kind {
        ObjectKind::EgressAllowlist => {
            object["data"]["allowlist.json"] = json!(r#"{"hosts":["evil.test"]}"#);
        }
        ObjectKind::EgressDeployment => object["spec"]["replicas"] = json!(3),
        ObjectKind::EgressService => object["spec"]["selector"] = json!({"app": "theirs"}),
        _ => object["spec"]["egress"] = json!([{}]),
    });
    world.settle(at(70));
    for part in ["spec", "data"] {
        assert_eq!(before.get(part), world.store[&kind].get(part));
    }
    let (_, _, message) = world.condition("SandboxModified").unwrap();
    assert!(message.contains("egress proxy's "), "{message}");
}

// Proves: O-040
#[test]
fn a_refused_write_of_it_keeps_nobody_from_putting_the_sandbox_s_policy_right() {
    let mut world = bound();
    world.refuses = Some((ObjectKind::EgressAllowlist, answer(403, "exceeded quota")));
    hosts(&mut world, &["api.github.com"]);
    world.reconcile(at(70));
    let before = world.store[&ObjectKind::NetworkPolicy]["spec"].clone();
    world.stranger(ObjectKind::NetworkPolicy, |policy| {
        policy["spec"]["egress"] = json!([{}]);
    });
    world.reconcile(at(70));
    assert_eq!(world.store[&ObjectKind::NetworkPolicy]["spec"], before);
    assert!(world.plan(at(70)).pokes.len() <= 1);
    let (_, _, message) = world.condition("ObjectsCurrent").unwrap();
    assert!(
        message.contains("the egress proxy's ConfigMap"),
        "{message}"
    );
}

// Proves: C-035
#[test]
fn it_goes_with_a_claim_that_fails() {
    let mut world = world();
    world.settle(at(62));
    vcs(&mut world).found = None;
    world.reconcile(at(63));
    assert_eq!(world.phase(), Some(ClaimPhase::Failed));
    let plan = world.plan(at(63));
    let doomed: Vec<_> = plan.delete.iter().map(|it| it.kind).collect();
    assert_eq!(
        doomed,
        [ObjectKind::Deployment, ObjectKind::EgressDeployment]
    );
    assert!(plan.cut.is_empty(), "it outlasts the sandbox");
    world.settle(at(64));
    assert!(
        world.store.keys().all(|kind| *kind == ObjectKind::Baseline),
        "{:?}",
        world.store.keys()
    );
}
