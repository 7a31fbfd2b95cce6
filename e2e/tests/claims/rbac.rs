//! Whom the API server hears, and that what it is asked for is granted.

use std::collections::BTreeSet;

use sandgate_e2e::{Outcome, Stage};

use crate::audit::{self, CONTROLLER};
use crate::scene::Scene;

// Proves: X-017, P-027
#[tokio::test]
async fn the_controller_acts_as_its_own_account_and_asks_for_nothing_it_may_not_have() -> Outcome {
    let scene = Scene::shared("rights").await?;
    scene.claims("plain", Stage::Ready).await?;
    scene.bound("plain").await?;
    // Of all tests that shared this cluster so far.
    let ours = audit::up_to_now(&scene, CONTROLLER).await?;
    audit::assert_nothing_was_forbidden(&ours);
    let asked = audit::up_to_now(&scene, scene.name()).await?;
    let wrote = asked.iter().filter(|it| it.wrote());
    let here = wrote.filter(|it| it.namespace() == scene.name());
    let writers = |resource: &str| -> BTreeSet<&str> {
        let of_claim = |name: &str| name == "plain" || name == "plain-sandbox";
        here.clone()
            .filter(|it| it.resource() == resource && of_claim(it.name()))
            .map(audit::Request::user)
            .collect()
    };
    for resource in ["sandboxclaims/status", "services", "networkpolicies"] {
        assert_eq!(
            writers(resource),
            BTreeSet::from([CONTROLLER]),
            "{resource}"
        );
    }
    assert_eq!(writers("sandboxclaims"), BTreeSet::from(["alice"]));
    let made = here.filter(|it| it.resource() == "deployments" && it.verb() == "create");
    let makers: Vec<&str> = made.map(audit::Request::user).collect();
    assert_eq!(makers, [CONTROLLER]);
    Ok(())
}
