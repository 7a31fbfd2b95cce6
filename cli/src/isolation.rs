//! `sandgate isolation`: who reaches whom, measured from each sandbox's first millisecond. Does I/O.
//!
//! ```text
//!   survey ──▶ scene ──▶ trials ──▶ Gathered ──assemble──▶ Report ──▶ terminal, json, svg
//!   (reads)   (receivers, (I/O)      └──────────── pure ────────────────────────────┘
//!              witness)
//! ```
//!
//! A sandbox dials by the arguments of its class and is heard by its log; what arrives at receivers
//! is heard by theirs. An unpoliced pod, the witness, dials the same before and after: silence counts
//! as shut only where the witness got through.

pub mod arguments;
pub mod assemble;
pub mod destination;
pub mod disturb;
pub mod ending;
pub mod evidence;
pub mod facts;
pub mod grid;
pub mod hardening;
pub mod heard;
pub mod ingress;
pub mod installed;
pub mod ledger;
pub mod logs;
pub mod manifests;
pub mod pods;
pub mod pull_secret;
pub mod report;
pub mod rights;
pub mod scenario;
pub mod scene;
pub mod stage;
pub mod survey;
pub mod svg;
pub mod terminal;
pub mod trials;
pub mod trouble;
pub mod verdict;
pub mod waiting;

use std::any::Any;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::time::{Duration, Instant};

use futures::future::join_all;
use futures::{FutureExt as _, Stream, StreamExt as _};
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use sandgate_probe::line::Contact;

use assemble::{Gathered, Trial, assemble, unenforced};
use disturb::Disturb;
use facts::Outside;
use pull_secret::PullSecret;
use report::Report;
use scenario::{Kind, Scenario};
use scene::Scene;
use stage::Stage;
use survey::Nodes;
use trouble::Trouble;

/// What a run is to do.
#[derive(Clone, Debug)]
pub struct Order {
    /// How the names of the run's namespaces begin.
    pub namespace_prefix: String,
    /// Image that holds the probe; without it the operator's.
    pub image: Option<String>,
    /// The Secret that the image is pulled by.
    pub pull_secret: Option<PullSecret>,
    /// Node to measure on.
    pub node: Option<String>,
    /// Destinations outside the cluster.
    pub outside: Vec<Outside>,
    /// What to try.
    pub scenarios: Vec<&'static Scenario>,
    /// How many sandboxes start at once.
    pub parallel: usize,
    /// How long each sandbox dials.
    pub period: Duration,
    /// Leave everything in the cluster at the end.
    pub keep: bool,
    /// Whether a run with unmeasured cells may pass.
    pub allow_unmeasured: bool,
    /// What is different from the usual, for the report.
    pub variant: Option<String>,
}

/// Measures, and takes everything away again whatever happens. The first of `stops` ends it early,
/// the next one the taking away too; `tell` is told how far it is.
pub async fn run(
    client: Client,
    order: &Order,
    disturb: &dyn Disturb,
    stops: impl Stream<Item = ()>,
    tell: &(dyn Fn(&str) + Send + Sync),
) -> Result<Report, Trouble> {
    let mut stops = pin!(stops);
    let prepared = tokio::select! {
        prepared = prepare(client, order, tell) => prepared,
        Some(()) = stops.next() => Err(Trouble::Stopped),
    };
    let (stage, nodes) = prepared?;
    tell(&format!("measuring in namespace {}", stage.sandboxes));
    let measuring = AssertUnwindSafe(measure(&stage, nodes, order, disturb, tell)).catch_unwind();
    let measured = tokio::select! {
        measured = Box::pin(measuring) => measured.unwrap_or_else(|panic| Err(broken(&*panic))),
        Some(()) = stops.next() => Err(Trouble::Stopped),
    };
    if order.keep {
        tell(&format!("namespaces {}* are kept", stage.sandboxes));
        return measured;
    }
    tell("taking everything away again");
    let left = tokio::select! {
        left = stage.clear() => left,
        Some(()) = stops.next() => vec!["not everything is taken away yet".to_owned()],
    };
    for sentence in &left {
        tell(sentence);
    }
    if !left.is_empty() {
        tell(&format!("to take away what is left: {}", stage.by_hand()));
    }
    measured
}

/// Looks at the cluster; makes nothing yet.
async fn prepare(
    client: Client,
    order: &Order,
    tell: &(dyn Fn(&str) + Send + Sync),
) -> Result<(Stage, Nodes), Trouble> {
    let installed = survey::installed(&client).await?;
    let mut nodes = survey::nodes(&client, order.node.as_deref(), &installed).await?;
    for sentence in &nodes.passed_over {
        tell(sentence);
    }
    let image = order
        .image
        .clone()
        .unwrap_or_else(|| installed.image.clone());
    nodes.cluster.operator_image.clone_from(&installed.image);
    nodes.cluster.probe_image.clone_from(&image);
    let node = nodes.near.name.clone();
    let prefix = &order.namespace_prefix;
    let secret = order.pull_secret.clone();
    let stage = Stage::new(
        client,
        &name_of_run(),
        prefix,
        (image, secret),
        node,
        installed,
    );
    rights::check(&stage).await?;
    Ok((stage, nodes))
}

/// What a panic leaves to be told.
fn broken(panic: &(dyn Any + Send)) -> Trouble {
    let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
    Trouble::Broken(said.unwrap_or_else(|| "it says nothing".to_owned()))
}

async fn measure(
    stage: &Stage,
    nodes: Nodes,
    order: &Order,
    disturb: &dyn Disturb,
    tell: &(dyn Fn(&str) + Send + Sync),
) -> Result<Report, Trouble> {
    let began = (Instant::now(), now());
    let Nodes {
        near, far, cluster, ..
    } = nodes;
    let heard = heard_outside(disturb).await?;
    let outside = (order.outside.clone(), heard.is_some());
    tell("setting up receivers and another sandbox");
    let scene = Scene::set(stage, near, far, outside, order.period).await?;
    tell("an unpoliced pod dials everything");
    let before = scene.witness("witness-before").await?;
    let trials = try_all(&scene, order, disturb, tell).await;
    tell("the unpoliced pod dials everything again");
    let after = scene.witness("witness-after").await?;
    scene.settle(&after).await;
    if let Some(contacts) = heard_outside(disturb).await? {
        scene.receivers.take_in(&contacts);
    }
    let gathered = Gathered {
        began: began.1,
        seconds: began.0.elapsed().as_secs_f64().round(),
        cluster,
        variant: order.variant.clone(),
        allow_unmeasured: order.allow_unmeasured,
        period: order.period,
        ledger: scene.receivers.ledger(),
        destinations: scene.destinations.clone(),
        witnesses: [before, after],
        trials,
    };
    Ok(assemble(&gathered))
}

/// Carries out the scenarios: one after the other, so that one does not slow down another; but the
/// endings, each half a minute of waiting, together.
async fn try_all(
    scene: &Scene<'_>,
    order: &Order,
    disturb: &dyn Disturb,
    tell: &(dyn Fn(&str) + Send + Sync),
) -> Vec<Trial> {
    let is_ending = |scenario: &Scenario| matches!(scenario.kind, Kind::Ending(_));
    let mut trials: Vec<Trial> = Vec::new();
    for turn in order
        .scenarios
        .chunk_by(|one, next| is_ending(one) && is_ending(next))
    {
        for scenario in turn {
            tell(&format!("{}: {}", scenario.title, scenario.about));
        }
        let carried_out = turn
            .iter()
            .map(|scenario| trials::carry_out(scene, scenario, order.parallel, disturb));
        for trial in join_all(carried_out).await {
            if let Some(trouble) = &trial.trouble {
                tell(&format!("{}: {trouble}", trial.scenario.title));
            }
            trials.push(trial);
        }
        if trials
            .iter()
            .any(|trial| unenforced(trial, &scene.destinations, order.period))
        {
            let why = "not tried, for nothing here enforces NetworkPolicies";
            let rest = order.scenarios.iter().skip(trials.len());
            trials.extend(rest.map(|it| trials::left_out(it, why)).collect::<Vec<_>>());
            break;
        }
    }
    trials
}

async fn heard_outside(disturb: &dyn Disturb) -> Result<Option<Vec<Contact>>, Trouble> {
    let heard = disturb.heard_outside().await;
    heard.map_err(|message| Trouble::Undisturbed {
        what: "read what was heard outside".to_owned(),
        message,
    })
}

fn now() -> String {
    let now = Timestamp::now();
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A few letters and digits that no other run has.
fn name_of_run() -> String {
    // Keys that no other process has: two runs that begin at once must not share a name.
    let mut left = RandomState::new().build_hasher().finish();
    let mut name = String::new();
    while name.len() < 8 {
        let digit = u32::try_from(left % 36).unwrap_or_default();
        name.extend(char::from_digit(digit, 36));
        left /= 36;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_begin_at_once_are_named_apart() {
        let (first, second) = (name_of_run(), name_of_run());
        assert_ne!(first, second);
        let fit = |name: &str| name.len() == 8 && name.bytes().all(|it| it.is_ascii_alphanumeric());
        assert!(fit(&first) && fit(&second), "{first} {second}");
    }
}
