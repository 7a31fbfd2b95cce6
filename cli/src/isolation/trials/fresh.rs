//! Sandboxes that dial from their first millisecond: one, many at once, and one after another. Does
//! I/O.

use std::time::Duration;

use futures::StreamExt;
use futures::future::{join_all, try_join_all};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::runtime::{WatchStreamExt, watcher};
use sandgate_shared::api::ClaimPhase;
use sandgate_shared::names;

use super::Notes;
use crate::isolation::pods;
use crate::isolation::scenario::Scenario;
use crate::isolation::scene::{Part, Scene};
use crate::isolation::trouble::Trouble;

/// How long the next pod may take.
const NEXT: Duration = Duration::from_mins(1);

/// One sandbox that dials everything; several, where there is more than one can dial.
pub(super) async fn one(
    scene: &Scene<'_>,
    scenario: &Scenario,
    notes: &mut Notes,
) -> Result<(), Trouble> {
    for (index, targets) in (1..).zip(scene.parts(|row| scenario.dials(row))) {
        let name = format!("{}-{index}", scenario.id);
        let part = Part {
            name: &name,
            targets,
            opening: scenario.opening(),
            read_only_root: scenario.read_only_root(),
            hardening: index == 1 && scenario.looks_at_itself(),
            ..Part::default()
        };
        scene.claim(&part).await?;
        let (_, sighting) = scene.hear(&name).await?;
        notes.sandboxes.push(sighting);
        scene.stage.release(&scene.stage.sandboxes, &name).await?;
    }
    Ok(())
}

/// Many sandboxes at once.
pub(super) async fn many(
    scene: &Scene<'_>,
    scenario: &Scenario,
    count: usize,
    notes: &mut Notes,
) -> Result<(), Trouble> {
    let names = start(scene, scenario, count).await?;
    hear(scene, &names, notes).await
}

/// Starts many sandboxes at once; returns their claims.
pub(super) async fn start(
    scene: &Scene<'_>,
    scenario: &Scenario,
    count: usize,
) -> Result<Vec<String>, Trouble> {
    let names: Vec<String> = (1..=count)
        .map(|index| format!("{}-{index}", scenario.id))
        .collect();
    let targets: Vec<String> = scene.parts(|row| scenario.dials(row)).concat();
    let parts = names.iter().map(|name| Part {
        name,
        targets: targets.clone(),
        ..Part::default()
    });
    let parts: Vec<Part<'_>> = parts.collect();
    try_join_all(parts.iter().map(|part| scene.claim(part))).await?;
    Ok(names)
}

/// Hears what the sandboxes of these claims have to say, and releases them.
pub(super) async fn hear(
    scene: &Scene<'_>,
    names: &[String],
    notes: &mut Notes,
) -> Result<(), Trouble> {
    let mut trouble = Ok(());
    for heard in join_all(names.iter().map(|name| scene.hear(name))).await {
        match heard {
            Ok((_, sighting)) => notes.sandboxes.push(sighting),
            Err(error) => trouble = Err(error),
        }
    }
    let namespace = &scene.stage.sandboxes;
    let released = names
        .iter()
        .map(|name| scene.stage.release(namespace, name));
    try_join_all(released).await?;
    trouble
}

/// A sandbox whose pod is deleted: the next one is listened to.
pub(super) async fn restarted(
    scene: &Scene<'_>,
    scenario: &Scenario,
    notes: &mut Notes,
) -> Result<(), Trouble> {
    let part = Part {
        name: scenario.id,
        targets: scene.parts(|row| scenario.dials(row)).concat(),
        ..Part::default()
    };
    scene.claim(&part).await?;
    let (first, _) = scene.hear(scenario.id).await?;
    let namespace = &scene.stage.sandboxes;
    scene.stage.stop(namespace, &first.name_any()).await?;
    let second = next_pod(scene, scenario.id, &first).await?;
    let sighting = scene.listen(&second, scenario.id).await?;
    notes.sandboxes.push(sighting);
    let bound = scene
        .stage
        .claim_becomes(namespace, scenario.id, ClaimPhase::Bound);
    bound.await?;
    scene.stage.release(namespace, scenario.id).await
}

/// The pod that follows this one, once it runs.
async fn next_pod(scene: &Scene<'_>, claim: &str, before: &Pod) -> Result<Pod, Trouble> {
    let pods = scene.stage.api::<Pod>(&scene.stage.sandboxes);
    let of_claim = watcher::Config::default().labels(&format!("{}={claim}", names::LABEL_CLAIM));
    let mut changes = std::pin::pin!(watcher(pods, of_claim).default_backoff().applied_objects());
    let next = async {
        while let Some(change) = changes.next().await {
            if let Ok(pod) = change
                && pod.uid() != before.uid()
                && pods::started(&pod)
            {
                return Some(pod);
            }
        }
        None
    };
    let found = tokio::time::timeout(NEXT, next).await.unwrap_or(None);
    found.ok_or_else(|| Trouble::ClaimStuck {
        claim: claim.to_owned(),
        wanted: "a claim with a second pod",
        message: format!("none ran in {} s", NEXT.as_secs()),
    })
}
