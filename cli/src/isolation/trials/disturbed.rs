//! Sandboxes on a node that is disturbed, by whoever owns it. Does I/O.

use futures::future::join_all;

use super::Notes;
use crate::isolation::arguments::PROBE;
use crate::isolation::disturb::{Action, Disturb, FEW};
use crate::isolation::logs::Endless;
use crate::isolation::pods;
use crate::isolation::scenario::Scenario;
use crate::isolation::scene::{Life, Part, Scene};
use crate::isolation::trouble::Trouble;
use kube::ResourceExt;

/// Disturbs the node while one sandbox runs and another starts, and starts a third afterwards.
pub(super) async fn disturb(
    scene: &Scene<'_>,
    scenario: &Scenario,
    action: Action,
    disturb: &dyn Disturb,
    notes: &mut Notes,
) -> Result<(), Trouble> {
    let stage = scene.stage;
    let names = ["running", "fresh", "after"].map(|part| format!("{}-{part}", scenario.id));
    let [running, fresh, after] = &names;
    let targets = scene.parts(|row| scenario.dials_for_ever(row)).concat();
    let part = Part {
        name: running,
        targets,
        opening: scenario.opening(),
        life: Life::Endless,
        ..Part::default()
    };
    scene.claim(&part).await?;
    let pod = stage.bound(&stage.sandboxes, running).await?;
    let endless = Endless::listen(stage.api(&stage.sandboxes), &pod.name_any(), running);
    scene.first_arrival(running).await?;

    let starting = Part {
        name: fresh,
        targets: scene.parts(|row| scenario.dials(row)).concat(),
        opening: scenario.opening(),
        ..Part::default()
    };
    let (acted, claimed) = futures::join!(act(disturb, action), scene.claim(&starting));
    acted?;
    claimed?;
    let starting = Part {
        name: after,
        ..starting
    };
    scene.claim(&starting).await?;
    let (fresh, after) = futures::join!(scene.hear(fresh), scene.hear(after));
    notes.sandboxes.push(endless.sighting());
    let mut trouble = Ok(());
    for heard in [fresh, after] {
        match heard {
            Ok((_, sighting)) => notes.sandboxes.push(sighting),
            Err(error) => trouble = Err(error),
        }
    }
    for name in &names {
        stage.dismiss(&stage.sandboxes, name).await?;
    }
    trouble
}

/// Starts sandboxes on addresses that finished pods had. The node gets its addresses back whatever
/// happens.
pub(super) async fn reuse(
    scene: &Scene<'_>,
    scenario: &Scenario,
    disturb: &dyn Disturb,
    notes: &mut Notes,
) -> Result<(), Trouble> {
    act(disturb, Action::NarrowAddresses).await?;
    let reused = reuse_addresses(scene, scenario, notes).await;
    act(disturb, Action::WidenAddresses).await?;
    reused
}

async fn reuse_addresses(
    scene: &Scene<'_>,
    scenario: &Scenario,
    notes: &mut Notes,
) -> Result<(), Trouble> {
    let stage = scene.stage;
    let namespace = &stage.sandboxes;
    let finished: Vec<String> = (1..=FEW).map(|index| format!("finished-{index}")).collect();
    for name in &finished {
        // It says what its container sees, and ends.
        let command = vec![PROBE.to_owned(), "hardening".to_owned()];
        let labels = std::collections::BTreeMap::new();
        stage
            .make_pod(namespace, name, labels, command, &stage.node, false)
            .await?;
    }
    for name in &finished {
        stage
            .pod_becomes(namespace, name, "finished", pods::succeeded)
            .await?;
    }
    let played = super::fresh::many(scene, scenario, FEW, notes).await;
    let gone = finished.iter().map(|name| stage.kill(namespace, name));
    for gone in join_all(gone).await {
        gone?;
    }
    played
}

async fn act(disturb: &dyn Disturb, action: Action) -> Result<(), Trouble> {
    let done = disturb.act(action).await;
    done.map_err(|message| Trouble::Undisturbed {
        what: action.words().to_owned(),
        message,
    })
}
