//! What strangers do to the list of an egress proxy's hosts, and what becomes of it.

use sandgate_shared::api::ClaimPhase;
use serde_json::json;

use super::super::Plan;
use super::connections::bound;
use super::proxy_life::{allowlist, hosts};
use super::world::{World, at};
use crate::claim::observed::ObjectKind;

// Proves: E-011, E-012, O-040
#[test]
fn its_hosts_change_though_a_stranger_s_edits_of_them_are_left_for_a_while() {
    let mut world = bound();
    for second in [70, 80, 90] {
        world.stranger(ObjectKind::EgressAllowlist, |object| {
            object["data"]["allowlist.json"] = json!(r#"{"hosts":["evil.test"]}"#);
        });
        world.settle(at(second));
    }
    assert_eq!(
        allowlist(&world),
        r#"{"hosts":["evil.test"]}"#,
        "it is left"
    );
    hosts(&mut world, &["api.github.com"]);
    world.settle(at(91));
    assert_eq!(
        allowlist(&world),
        r#"{"hosts":["api.github.com","example.com"]}"#
    );
}

// Proves: E-011, E-012, O-040
#[test]
fn an_allowlist_that_somebody_made_immutable_is_made_anew_once_no_pod_mounts_it() {
    let mut world = bound();
    world.stranger(ObjectKind::EgressAllowlist, |object| {
        object["immutable"] = json!(true);
    });
    hosts(&mut world, &["api.github.com"]);
    let (plan, _) = world.reconcile(at(70));
    let doomed = |plan: &Plan| -> Vec<_> { plan.delete.iter().map(|it| it.kind).collect() };
    assert_eq!(doomed(&plan), [ObjectKind::EgressDeployment]);
    assert_eq!(plan.cut.len(), 1, "its pod does not drain");
    assert_eq!(World::kinds(&plan), []);
    let (_, _, message) = world.condition("EgressProxyReady").unwrap();
    assert!(message.contains("immutable"), "{message}");
    let (plan, _) = world.reconcile(at(71));
    assert_eq!(doomed(&plan), [ObjectKind::EgressAllowlist]);
    assert_eq!(World::kinds(&plan), []);
    world.settle(at(72));
    assert_eq!(
        allowlist(&world),
        r#"{"hosts":["api.github.com","example.com"]}"#
    );
    assert!(world.store.contains_key(&ObjectKind::EgressDeployment));
    assert_eq!(world.phase(), Some(ClaimPhase::Bound));
}
