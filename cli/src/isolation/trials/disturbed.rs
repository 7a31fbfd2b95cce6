//! Sandboxes on a node that is disturbed, by whoever owns it. Does I/O.

use futures::future::try_join_all;

use super::Notes;
use crate::isolation::arguments::PROBE;
use crate::isolation::disturb::{Action, Disturb};
use crate::isolation::facts::Addresses;
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
    // Its pod is being made when the node is disturbed, not afterwards.
    scene.claim(&starting).await?;
    act(disturb, action).await?;
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
        stage.release(&stage.sandboxes, name).await?;
    }
    trouble
}

/// How many sandboxes start on addresses that finished pods had.
const HEIRS: usize = 4;
/// How many pods finish at the same time.
const BATCH: usize = 10;

/// Lets pods finish until addresses are used a second time, and then starts sandboxes.
pub(super) async fn reuse(
    scene: &Scene<'_>,
    scenario: &Scenario,
    disturb: &dyn Disturb,
    notes: &mut Notes,
) -> Result<(), Trouble> {
    let addresses = disturb.addresses().unwrap_or_default();
    let finished = finish(scene, addresses).await?;
    let names = super::fresh::start(scene, scenario, HEIRS).await?;
    let mut heirs = 0;
    for name in &names {
        let pod = scene.stage.bound(&scene.stage.sandboxes, name).await?;
        let address = pods::addresses(&pod);
        heirs += usize::from(finished.iter().any(|(_, had)| had.any_of(&address)));
    }
    let heard = super::fresh::hear(scene, &names, notes).await;
    let gone = finished
        .iter()
        .map(|(name, _)| scene.stage.kill(&scene.stage.sandboxes, name));
    try_join_all(gone).await?;
    if heirs == 0 {
        return Err(Trouble::Undisturbed {
            what: "have an address used again".to_owned(),
            message: format!("{HEIRS} sandboxes got none that a finished pod had"),
        });
    }
    heard
}

/// Pods that have finished, with the addresses they had: so many that the next pods get theirs.
async fn finish(scene: &Scene<'_>, addresses: usize) -> Result<Vec<(String, Addresses)>, Trouble> {
    let stage = scene.stage;
    let namespace = &stage.sandboxes;
    let mut finished: Vec<(String, Addresses)> = Vec::new();
    while finished.len() < addresses {
        let names = (1..=BATCH).map(|index| format!("finished-{}", finished.len() + index));
        let ended = names.map(|name| async move {
            // It says what its container sees, and ends.
            let command = vec![PROBE.to_owned(), "hardening".to_owned()];
            let labels = std::collections::BTreeMap::new();
            stage
                .make_pod(namespace, &name, labels, command, &stage.node, false)
                .await?;
            let pod = stage.pod_becomes(namespace, &name, "finished", pods::succeeded);
            let had = pods::addresses(&pod.await?);
            Ok::<_, Trouble>((name, had))
        });
        let ended = try_join_all(ended).await?;
        let again = ended
            .iter()
            .any(|(_, now)| finished.iter().any(|(_, before)| before.any_of(now)));
        finished.extend(ended);
        if again {
            break;
        }
    }
    Ok(finished)
}

async fn act(disturb: &dyn Disturb, action: Action) -> Result<(), Trouble> {
    let done = disturb.act(action).await;
    done.map_err(|message| Trouble::Undisturbed {
        what: action.words().to_owned(),
        message,
    })
}
