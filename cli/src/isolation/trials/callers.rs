//! Pods that dial a sandbox. Does I/O.

use futures::future::join_all;

use super::Notes;
use crate::isolation::arguments;
use crate::isolation::ingress::{Caller, doors};
use crate::isolation::manifests::{OTHER_RUNTIME, RUNTIME};
use crate::isolation::scenario::Scenario;
use crate::isolation::scene::{Part, Scene};
use crate::isolation::trouble::Trouble;

/// Everybody dials every door of one sandbox.
pub(super) async fn call(
    scene: &Scene<'_>,
    scenario: &Scenario,
    notes: &mut Notes,
) -> Result<(), Trouble> {
    let stage = scene.stage;
    let part = Part {
        name: scenario.id,
        targets: vec![arguments::loopback()],
        ..Part::default()
    };
    scene.claim(&part).await?;
    let (pod, sighting) = scene.hear(scenario.id).await?;
    notes.sandboxes.push(sighting);
    let peer = stage.peer_of(&stage.sandboxes, scenario.id, &pod).await?;
    notes.doors = doors(&peer);
    let targets = arguments::door_targets(&notes.doors);
    let calls = Caller::ALL.map(|caller| {
        let (namespace, runtime) = match caller {
            Caller::OwnRuntime => (&stage.sandboxes, Some(RUNTIME)),
            Caller::OtherRuntime => (&stage.sandboxes, Some(OTHER_RUNTIME)),
            Caller::NoRuntime => (&stage.sandboxes, None),
            Caller::OtherNamespace => (&stage.elsewhere, Some(RUNTIME)),
        };
        let targets = targets.clone();
        async move {
            let heard = scene.bare(namespace, caller.name(), runtime, targets).await;
            heard.map(|sighting| (caller, sighting))
        }
    });
    let mut trouble = Ok(());
    for called in join_all(calls).await {
        match called {
            Ok(called) => notes.callers.push(called),
            Err(error) => trouble = Err(error),
        }
    }
    stage.release(&stage.sandboxes, scenario.id).await?;
    trouble
}
