//! A claim that is deleted while something of it is on its way to the API server, and arrives when the claim is
//! gone.

use std::time::Instant;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Secret, Service};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use sandgate_e2e::Outcome;
use sandgate_shared::api::SandboxClaim;

use super::scenario::{CLAIM, Scenario};
use super::{ASK_EVERY, SOON, Stage, UNCHANGED};
use crate::manifests;
use crate::proxy::Cut;
use crate::queue;
use crate::scene::Scene;

/// A claim of another name, which shows that the namespace is still looked after.
const LATER: &str = "later";

impl Stage {
    /// Deletes the claim while this write of the scenario is held, and lets that go then.
    async fn deleted_at(&self, scenario: Scenario, turn: usize) -> Outcome<Scene> {
        let scene = Box::pin(self.staged(scenario)).await?;
        self.proxy.watch(scene.name(), Cut::Held(turn));
        scenario.begin(&scene).await?;
        tokio::time::timeout(SOON, self.proxy.was_cut()).await?;
        queue::delete(&scene, CLAIM).await?;
        scene.vanishes::<SandboxClaim>(CLAIM).await?;
        self.proxy.let_go();
        self.proxy.pass_all_on();
        scene
            .user()
            .accepts(&manifests::claim(LATER, "box"))
            .await?;
        Ok(scene)
    }
}

/// What there is of the claim that was deleted.
async fn left(scene: &Scene) -> Outcome<Vec<String>> {
    let mut names = [
        scene.names::<Deployment>().await?,
        scene.names::<Service>().await?,
        scene.names::<NetworkPolicy>().await?,
        scene.names::<Secret>().await?,
        scene.names::<Pod>().await?,
    ]
    .concat();
    names.retain(|name| name.starts_with(&format!("{CLAIM}-")));
    Ok(names)
}

async fn nothing_is_left(scene: &Scene, turn: usize) -> Outcome {
    let deadline = Instant::now() + SOON;
    let mut looks = tokio::time::interval(ASK_EVERY);
    let mut nothing = 0;
    while nothing < UNCHANGED {
        looks.tick().await;
        let left = left(scene).await?;
        nothing = if left.is_empty() { nothing + 1 } else { 0 };
        let late = Instant::now() >= deadline;
        assert!(!late, "deleted at write {turn}, it leaves {left:?}");
    }
    Ok(())
}

// Proves: O-002
#[tokio::test]
async fn a_claim_deleted_while_any_of_its_objects_is_on_its_way_leaves_none() -> Outcome {
    let stage = Stage::enter().await?;
    // All kinds of objects that a claim owns.
    let scenario = Scenario::Connected;
    let mut scenes = Vec::new();
    for turn in 1..=scenario.writes().len() {
        scenes.push(stage.deleted_at(scenario, turn).await?);
    }
    for (scene, turn) in scenes.iter().zip(1..) {
        scene.bound(LATER).await?;
        nothing_is_left(scene, turn).await?;
    }
    Ok(())
}
