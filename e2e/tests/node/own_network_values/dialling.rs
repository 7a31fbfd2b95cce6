//! Sandboxes that dial the same targets as long as they live, and what of these answers. Does I/O.

use std::collections::{BTreeMap, BTreeSet};

use futures::{AsyncBufReadExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::LogParams;
use sandgate_e2e::namespace::DEADLINE;
use sandgate_e2e::node_cluster::image_name;
use sandgate_e2e::scene::Scene;
use sandgate_e2e::{Failure, Outcome};
use sandgate_probe::line::Line;
use sandgate_probe::tally::Tally;
use serde_json::{Value, json};

use crate::workload::{class, ordinary_pod, pod_of};

/// A target is judged by as many tries.
const TRIES: u64 = 20;

/// What is dialled: a label, and where it is.
pub type Targets = [(&'static str, String)];

/// Labels of targets.
pub type Labels = BTreeSet<String>;

/// What answered.
#[derive(Debug)]
struct Answered {
    /// Of the last tries.
    now: Labels,
    /// Of all since the sandbox started.
    ever: Labels,
}

/// These labels.
pub fn labels<const N: usize>(labels: [&str; N]) -> Labels {
    labels.map(str::to_owned).into()
}

/// A class whose sandboxes dial `targets`.
pub fn dialling(name: &str, targets: &Targets, egress: &Value) -> Value {
    let name_of_it = format!("--name={name}");
    let dial = [
        "/sandgate-probe",
        "dial",
        &name_of_it,
        "--for=0s",
        "--serve=8080",
    ];
    let mut args = dial.map(str::to_owned).to_vec();
    args.extend(arguments(targets));
    let fields = json!({ "args": args, "egress": egress });
    class(name, &image_name(), &fields)
}

/// An ordinary pod, which serves on ports 8080 and 8081.
pub fn server(name: &str) -> Value {
    let name_of_it = format!("--name={name}");
    let fields = json!({
        "image": image_name(),
        "args": ["/sandgate-probe", "serve", name_of_it, "--tcp=8080", "--tcp=8081"],
        "readinessProbe": { "tcpSocket": { "port": 8080 }, "periodSeconds": 1 },
    });
    let mut pod = ordinary_pod(name, &fields);
    pod["metadata"]["labels"] = json!({ "app": name });
    pod
}

/// What an ordinary pod reaches of `targets`, which are tried once each.
pub async fn got(scene: &Scene, pod: &str, targets: &Targets) -> Outcome<Labels> {
    let arguments = arguments(targets);
    let mut command = vec!["exec", pod, "--", "/sandgate-probe", "get"];
    command.extend(arguments.iter().map(String::as_str));
    let said = scene.kubectl(&command, None).await?;
    let answered = said.stdout.lines().filter_map(|line| {
        let (label, rest) = line.split_once(": ")?;
        rest.starts_with("answered").then(|| label.to_owned())
    });
    Ok(answered.collect())
}

/// Tries from an ordinary pod until all targets have answered one round: they are there. When a Service
/// is served is no event.
pub async fn comes_to_get_all(scene: &Scene, pod: &str, targets: &Targets) -> Outcome {
    let all: Labels = targets.iter().map(|target| target.0.to_owned()).collect();
    let mut last = Labels::new();
    let tried = async {
        while last != all {
            last = got(scene, pod, targets).await?;
        }
        Outcome::Ok(())
    };
    match tokio::time::timeout(DEADLINE, tried).await {
        Ok(done) => done,
        Err(_) => Err(Failure::saying(format!("{pod} got {last:?} of {all:?}"))),
    }
}

/// Looks once at what answers the claim's sandbox: exactly these, now and ever.
pub async fn reaches(scene: &Scene, claim: &str, expected: Labels) -> Outcome {
    let answered = look(scene, claim, |_| true).await?;
    assert_eq!(answered.now, expected, "{claim}");
    assert_eq!(answered.ever, expected, "{claim}");
    Ok(())
}

/// Waits until all of these answer the claim's sandbox, and returns all that ever did.
pub async fn comes_to_reach(scene: &Scene, claim: &str, expected: &Labels) -> Outcome<Labels> {
    let mut last = Labels::new();
    let looks = look(scene, claim, |answered| {
        last.clone_from(&answered.now);
        answered.now.is_superset(expected)
    });
    match tokio::time::timeout(DEADLINE, looks).await {
        Ok(answered) => Ok(answered?.ever),
        Err(_) => Err(Failure::saying(format!(
            "{claim} never came to reach {expected:?}; last it reached {last:?}"
        ))),
    }
}

/// Follows what the claim's sandbox tells from now on, until `enough` of what answered a round of tries.
async fn look(
    scene: &Scene,
    claim: &str,
    mut enough: impl FnMut(&Answered) -> bool,
) -> Outcome<Answered> {
    let pods = scene.api::<Pod>();
    let pod = pod_of(scene, claim).await?.name_any();
    let from_now = LogParams {
        follow: true,
        tail_lines: Some(0),
        ..LogParams::default()
    };
    let mut lines = pods.log_stream(&pod, &from_now).await?.lines();
    let (mut before, mut last) = (BTreeMap::new(), BTreeMap::new());
    while let Some(line) = lines.try_next().await? {
        let Ok(Line::Tally(tally)) = serde_json::from_str(&line) else {
            continue;
        };
        let label = tally.target.clone();
        before.entry(label.clone()).or_insert_with(|| tally.clone());
        last.insert(label, tally);
        if let Some(answered) = round(&before, &last) {
            if enough(&answered) {
                return Ok(answered);
            }
            before.clone_from(&last);
        }
    }
    Err(Failure::saying(format!("{pod} fell silent: {last:?}")))
}

/// What answered in between, if every target was tried often enough.
fn round(before: &BTreeMap<String, Tally>, last: &BTreeMap<String, Tally>) -> Option<Answered> {
    let mut answered = Answered {
        now: Labels::new(),
        ever: Labels::new(),
    };
    for (label, tally) in last {
        let before = before.get(label)?;
        if tally.attempts.saturating_sub(before.attempts) < TRIES {
            return None;
        }
        if tally.answers > before.answers {
            answered.now.insert(label.clone());
        }
        if tally.answers > 0 {
            answered.ever.insert(label.clone());
        }
    }
    Some(answered)
}

fn arguments(targets: &Targets) -> Vec<String> {
    let all = targets.iter();
    all.map(|(label, at)| format!("--target={label}={at}"))
        .collect()
}
