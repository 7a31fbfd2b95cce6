//! Sandboxes that end, or lose their policy, while their workload ignores SIGTERM and dials on. Does
//! I/O.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use sandgate_shared::api::ClaimPhase;
use sandgate_shared::api::outside::AgentRuntime;
use sandgate_shared::names;
use serde_json::json;

use super::Notes;
use crate::isolation::destination::Opening;
use crate::isolation::logs::Endless;
use crate::isolation::manifests::DOOMED_RUNTIME;
use crate::isolation::scenario::{Ending, Scenario};
use crate::isolation::scene::{ARRIVES, Life, Part, Scene};
use crate::isolation::trouble::Trouble;
use crate::isolation::waiting::{Vain, follow};

/// How long a pod may take to go: its grace period is half a minute.
const GOES: Duration = Duration::from_mins(2);
/// How long a deleted policy may stay away.
const COMES_BACK: Duration = Duration::from_secs(30);
/// How long is looked on after what was done: neither a network plugin that takes a policy in nor a
/// process that is killed tells anybody.
const AFTERWARDS: Duration = Duration::from_secs(3);

/// Ends a sandbox and looks on until its pod is gone.
pub(super) async fn end(
    scene: &Scene<'_>,
    scenario: &Scenario,
    ending: Ending,
    notes: &mut Notes,
) -> Result<(), Trouble> {
    let (pod, endless) = dialling(scene, scenario, ending, notes).await?;
    let namespace = pod.namespace().unwrap_or_default();
    let began = Instant::now();
    begin(scene, scenario, ending, &pod).await?;
    if ending == Ending::Failed {
        let failed = ClaimPhase::Failed;
        scene
            .stage
            .claim_becomes(&namespace, scenario.id, failed)
            .await?;
    }
    if ending == Ending::Force {
        // Its object is gone at once; how long its processes dial on, the receivers tell.
        tokio::time::sleep(AFTERWARDS).await;
        look_back(&endless, began, notes);
        return scene.stage.release(&namespace, scenario.id).await;
    }
    let pods: Api<Pod> = scene.stage.api(&namespace);
    let (name, uid) = (pod.name_any(), pod.uid());
    let gone = follow(pods, &name, GOES, |now| {
        now.is_none_or(|now| now.uid() != uid).then_some(())
    });
    let gone = in_time(gone.await);
    if matches!(gone, Ok(true)) {
        notes.watched.lived_on_seconds = Some(began.elapsed().as_secs_f64());
    }
    look_back(&endless, began, notes);
    gone.map(drop)
}

/// Whether what was waited for came in time.
fn in_time(waited: Result<(), Vain>) -> Result<bool, Trouble> {
    match waited {
        Ok(()) => Ok(true),
        Err(Vain::Late(_)) => Ok(false),
        Err(Vain::MayNot(trouble)) => Err(trouble),
    }
}

/// Notes what a workload has told by now whose end was asked for at `asked`.
fn look_back(endless: &Endless, asked: Instant, notes: &mut Notes) {
    let heard = endless.heard();
    notes.watched.asked_us = heard.by_its_node(asked);
    notes.watched.dialled_on_seconds = heard.dialled_on_seconds(asked);
    notes.sandboxes = vec![heard.sighting];
}

/// Deletes the claim's own policy and looks on until it is back.
pub(super) async fn without_policy(
    scene: &Scene<'_>,
    scenario: &Scenario,
    notes: &mut Notes,
) -> Result<(), Trouble> {
    let (pod, endless) = dialling(scene, scenario, Ending::Policy, notes).await?;
    let stage = scene.stage;
    let policies: Api<NetworkPolicy> = stage.api(&stage.sandboxes);
    let name = names::sandbox(scenario.id);
    let before = policies.get(&name).await;
    let before = before
        .map_err(|error| Trouble::of(format!("read NetworkPolicy {name}"), error))?
        .uid();
    let began = Instant::now();
    begin(scene, scenario, Ending::Policy, &pod).await?;
    let back = follow(policies, &name, COMES_BACK, |policy| {
        let uid = policy?.uid();
        (uid != before).then_some(())
    });
    if in_time(back.await)? {
        notes.watched.healed_after_seconds = Some(began.elapsed().as_secs_f64());
    }
    tokio::time::sleep(AFTERWARDS).await;
    look_back(&endless, began, notes);
    stage.release(&stage.sandboxes, scenario.id).await
}

/// A sandbox that dials for ever, once the Service it may reach has heard of it.
async fn dialling(
    scene: &Scene<'_>,
    scenario: &Scenario,
    ending: Ending,
    notes: &mut Notes,
) -> Result<(Pod, Endless), Trouble> {
    let stage = scene.stage;
    let doomed = (ending == Ending::Namespace).then_some(stage.doomed.as_str());
    let part = Part {
        name: scenario.id,
        targets: scene.parts(|row| scenario.dials_for_ever(row)).concat(),
        opening: scenario.opening(),
        // What was Bound once never fails.
        life: match ending {
            Ending::Failed => Life::NeverReady,
            _ => Life::Endless,
        },
        namespace: doomed,
        runtime: (ending == Ending::Failed).then_some(DOOMED_RUNTIME),
        ..Part::default()
    };
    let namespace = doomed.unwrap_or(&stage.sandboxes);
    scene.claim(&part).await?;
    if ending == Ending::Failed {
        scene.first_arrival(scenario.id).await?;
    } else {
        stage.bound(namespace, scenario.id).await?;
    }
    let pod = stage.pod_of(namespace, scenario.id).await?;
    let endless = Endless::listen(stage.api(namespace), &pod.name_any(), scenario.id);
    notes.sandboxes = vec![endless.sighting()];
    scene.first_arrival(scenario.id).await?;
    Ok((pod, endless))
}

impl Scene<'_> {
    /// Waits until the Service that this sandbox may reach has heard of it.
    pub(super) async fn first_arrival(&self, name: &str) -> Result<(), Trouble> {
        let allowed = self
            .destinations
            .iter()
            .find(|row| row.opened_by == Some(Opening::Numbered) && row.target.is_ok());
        match allowed {
            Some(row) => self.receivers.hear(name, &row.label, ARRIVES).await,
            None => Ok(()),
        }
    }
}

/// Begins the end.
async fn begin(
    scene: &Scene<'_>,
    scenario: &Scenario,
    ending: Ending,
    pod: &Pod,
) -> Result<(), Trouble> {
    let stage = scene.stage;
    let name = scenario.id;
    let (what, done) = match ending {
        Ending::Background => {
            let how = DeleteParams::background();
            let done = scene.claims().delete(name, &how).await.map(drop);
            (format!("delete claim {name}"), done)
        }
        Ending::Foreground => {
            let how = DeleteParams::foreground();
            let done = scene.claims().delete(name, &how).await.map(drop);
            (format!("delete claim {name}"), done)
        }
        Ending::Policy => {
            let policies: Api<NetworkPolicy> = stage.api(&stage.sandboxes);
            let policy = names::sandbox(name);
            let done = policies.delete(&policy, &DeleteParams::default()).await;
            (format!("delete NetworkPolicy {policy}"), done.map(drop))
        }
        Ending::Failed => {
            let runtimes: Api<AgentRuntime> = stage.api(&stage.sandboxes);
            let off = Patch::Merge(json!({ "spec": { "sandbox": { "enabled": false } } }));
            let how = PatchParams::default();
            let done = runtimes.patch(DOOMED_RUNTIME, &how, &off).await;
            let what = format!("edit AgentRuntime {DOOMED_RUNTIME}");
            (what, done.map(drop))
        }
        Ending::Force => {
            let pod = pod.name_any();
            return stage.kill(&stage.sandboxes, &pod).await;
        }
        Ending::Namespace => {
            let namespaces: Api<Namespace> = Api::all(stage.client.clone());
            let how = DeleteParams::default();
            let done = namespaces.delete(&stage.doomed, &how).await.map(drop);
            (format!("delete namespace {}", stage.doomed), done)
        }
    };
    done.map_err(|error| Trouble::of(what, error))
}
