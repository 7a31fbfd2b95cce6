//! What strangers do to the list of an egress proxy's hosts, and what becomes of it.

use serde_json::json;

use super::connections::bound;
use super::proxy_life::{allowlist, hosts};
use super::world::at;
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
