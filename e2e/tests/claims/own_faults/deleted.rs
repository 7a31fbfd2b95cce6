//! A claim that is deleted while something of it is on its way to the API server, and arrives when the claim is
//! gone.

use std::time::Instant;

use futures::future::try_join_all;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Secret, Service};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use sandgate_e2e::Outcome;
use sandgate_shared::api::SandboxClaim;

use super::scenario::{CLAIM, Scenario};
use super::{ASK_EVERY, SOON, Stage, UNCHANGED};
use crate::audit;
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
        scene.names::<ConfigMap>().await?,
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

/// The volume claim of the scene's workspace was made once, stayed, and is the only one.
async fn is_kept(scene: &Scene, turn: usize) -> Outcome {
    let name = manifests::content_claim(scene.name());
    let asked = audit::up_to_now(scene, "persistentvolumeclaims").await?;
    let made_or_gone = asked.iter().filter(|it| {
        let volumes = it.resource() == "persistentvolumeclaims";
        let here = volumes && it.namespace() == scene.name() && it.wrote();
        here && ["create", "delete"].contains(&it.verb())
    });
    let made_or_gone: Vec<_> = made_or_gone.map(audit::Request::sentence).collect();
    let made = format!("create persistentvolumeclaims {name}");
    assert_eq!(made_or_gone, [made], "deleted at write {turn}");
    let stand = scene.names::<PersistentVolumeClaim>().await?;
    assert_eq!(stand, [name], "deleted at write {turn}");
    Ok(())
}

// Proves: C-023, O-002
#[tokio::test]
async fn a_claim_deleted_while_anything_of_it_is_on_its_way_leaves_none_but_what_its_workspace_keeps()
-> Outcome {
    let stage = Stage::enter().await?;
    // All kinds of objects that a claim owns.
    let connected = (1..=Scenario::Connected.writes().len()).map(|at| (Scenario::Connected, at));
    // The volume claim, which it does not own, on its way; and what comes next, when that is made.
    let on_its_way = "POST persistentvolumeclaims";
    let mut mounted = Scenario::Mounted.writes().iter().zip(1..);
    let (_, turn) = mounted.find(|(write, _)| **write == on_its_way).unwrap();
    let mounted = [turn, turn + 1].map(|at| (Scenario::Mounted, at));
    let mut scenes = Vec::new();
    for (scenario, turn) in connected.chain(mounted) {
        scenes.push((stage.deleted_at(scenario, turn).await?, scenario, turn));
    }
    let looks = scenes.iter().map(|(scene, scenario, turn)| async move {
        scene.bound(LATER).await?;
        nothing_is_left(scene, *turn).await?;
        if *scenario == Scenario::Mounted {
            is_kept(scene, *turn).await?;
        }
        Outcome::Ok(())
    });
    try_join_all(looks).await?;
    Ok(())
}
