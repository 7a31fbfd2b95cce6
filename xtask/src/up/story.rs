//! The story `cargo xtask up` tells, each part of it checked. Does I/O.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{Write, stdout};
use std::time::{Duration, Instant};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt;
use kube::runtime::watcher::watch_object;
use kube::{Api, api::PostParams};
use sandgate_e2e::{Cluster, Failure, Outcome};
use sandgate_shared::api::{ClaimPhase, SandboxClaim};
use serde_json::json;

use super::packets;
use super::tree;

pub(super) const NAMESPACE: &str = "playground";
const CLAIM: &str = "alice";
const CLASS_YAML: &str = include_str!("manifests/class.yaml");
const CLASS_ON_NODE_YAML: &str = include_str!("manifests/class-on-node.yaml");
const NEIGHBOURS_YAML: &str = include_str!("manifests/neighbours.yaml");
const RUNTIME_YAML: &str = include_str!("manifests/runtime.yaml");
const CLAIM_YAML: &str = include_str!("manifests/claim.yaml");

/// How long the claim may take; on an idle machine it is a fraction of a second.
const PATIENCE: Duration = Duration::from_secs(30);

/// A write that must be refused: what it is, its manifest, and what the refusal must name.
struct BadWrite {
    what: &'static str,
    file: &'static str,
    yaml: &'static str,
    names: &'static str,
}

const BAD_WRITES: [BadWrite; 3] = [
    BadWrite {
        what: "A class that would let a sandbox eat the node's memory",
        file: "unlimited",
        yaml: include_str!("manifests/bad-class.yaml"),
        names: "spec.resources.limits",
    },
    BadWrite {
        what: "A claim by which somebody helps themselves to a project's files",
        file: "helping-myself",
        yaml: include_str!("manifests/bad-mount.yaml"),
        names: "spec.mounts",
    },
    BadWrite {
        what: "Moving a running sandbox to somebody else's session",
        file: "hijack",
        yaml: include_str!("manifests/bad-change.yaml"),
        names: "spec.sessionID",
    },
];

/// Where pods really run, and what the story then runs in them.
pub struct OnNode {
    /// Image of every pod of the story.
    pub image: String,
    /// An address beyond the cluster, `ip:port`.
    pub outside: String,
}

/// Tells it, and fails at the first part that does not come true. Without a node that runs pods, the
/// packets are left out.
pub async fn tell(cluster: &Cluster, node: Option<&OnNode>) -> Outcome {
    make_namespace(cluster).await?;
    heading("A class, which says what a sandbox is, and a runtime that may have some")?;
    let class = match node {
        Some(node) => CLASS_ON_NODE_YAML.replace("IMAGE", &node.image),
        None => CLASS_YAML.to_owned(),
    };
    apply(cluster, &class).await?;
    apply(cluster, RUNTIME_YAML).await?;
    if let Some(node) = node {
        heading(
            "Pods around it: its agent's, another agent's, a Service it may reach, a neighbour",
        )?;
        apply(cluster, &NEIGHBOURS_YAML.replace("IMAGE", &node.image)).await?;
    }

    heading("A claim, from plain YAML")?;
    say(indent(CLAIM_YAML))?;
    let claim = follow_claim(cluster).await?;

    heading("What was built for it")?;
    let objects = tree::read(&cluster.client(), NAMESPACE).await?;
    let built = tree::render(
        &objects,
        &format!("SandboxClaim {CLAIM}"),
        &claim.uid().unwrap_or_default(),
    );
    say(indent(&built.text))?;
    for kind in ["Deployment", "NetworkPolicy", "Pod", "Service"] {
        if !built.kinds.contains(kind) {
            return Err(Failure::saying(format!(
                "no {kind} was built for the claim"
            )));
        }
    }

    if let Some(node) = node {
        let sandbox = addresses_of(&claim)
            .into_values()
            .next()
            .unwrap_or_default();
        packets::show(cluster, &sandbox, &node.outside).await?;
    }

    heading("Three writes that are refused")?;
    for write in &BAD_WRITES {
        refuse(cluster, write).await?;
    }
    Ok(())
}

/// What to try on a cluster that stays up.
pub fn what_next(cluster: &Cluster) -> Outcome {
    let access = cluster.access();
    heading("Try it yourself, in another terminal")?;
    say(format!(
        "  export KUBECONFIG={}",
        access.kubeconfig.display()
    ))?;
    say(format!("  alias kubectl={}", access.kubectl.display()))?;
    say(format!("  kubectl -n {NAMESPACE} get sbclaim -w"))?;
    say(format!("  kubectl -n {NAMESPACE} describe sbclaim {CLAIM}"))?;
    say(format!(
        "  kubectl -n {NAMESPACE} delete deployment {CLAIM}-sandbox    # and watch it come back"
    ))?;
    say("  kubectl explain sbclaim.spec")?;
    say(format!(
        "\nLogs are in {}. Ctrl-C ends it and leaves nothing behind.",
        access.folder.display()
    ))
}

async fn make_namespace(cluster: &Cluster) -> Outcome {
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    let namespace = serde_json::from_value(json!({ "metadata": { "name": NAMESPACE } }))?;
    namespaces
        .create(&PostParams::default(), &namespace)
        .await?;
    Ok(())
}

async fn apply(cluster: &Cluster, yaml: &str) -> Outcome {
    let said = cluster
        .kubectl(&["-n", NAMESPACE, "apply", "-f", "-"], Some(yaml))
        .await?;
    if !said.success {
        return Err(Failure::saying(format!(
            "kubectl apply was refused: {}",
            said.stderr
        )));
    }
    say(indent(&said.stdout))?;
    Ok(())
}

/// Creates the claim and prints each phase as it comes, until it is Bound with addresses.
async fn follow_claim(cluster: &Cluster) -> Outcome<SandboxClaim> {
    let claims: Api<SandboxClaim> = Api::namespaced(cluster.client(), NAMESPACE);
    let mut changes = std::pin::pin!(watch_object(claims, CLAIM));
    // The watch stands before the claim does, so that no phase is missed.
    drop(changes.next().await);
    apply(cluster, CLAIM_YAML).await?;
    let began = Instant::now();
    let mut told = String::new();
    let follow = async {
        while let Some(change) = changes.next().await {
            let Some(claim) = change? else { continue };
            let stage = stage_of(&claim);
            if stage != told {
                say(format!("  {:>6} ms  {stage}", began.elapsed().as_millis()))?;
                told = stage;
            }
            if let Some(addresses) = bound_addresses(&claim) {
                say(addresses)?;
                return Ok(claim);
            }
        }
        Err(Failure::saying("the watch on the claim ended"))
    };
    match tokio::time::timeout(PATIENCE, follow).await {
        Ok(done) => done,
        Err(_) => Err(Failure::saying(format!(
            "the claim was not Bound after {} s",
            PATIENCE.as_secs()
        ))),
    }
}

/// `Pending (SandboxStarting): message`
fn stage_of(claim: &SandboxClaim) -> String {
    let Some(status) = &claim.status else {
        return "created".to_owned();
    };
    let phase = status.phase.map_or("created", ClaimPhase::as_str);
    let conditions = status.conditions.as_deref().unwrap_or_default();
    match conditions
        .iter()
        .find(|condition| condition.type_ == "Ready")
    {
        Some(ready) => format!("{phase} ({}): {}", ready.reason, ready.message),
        None => phase.to_owned(),
    }
}

fn bound_addresses(claim: &SandboxClaim) -> Option<String> {
    let addresses = addresses_of(claim);
    let bound = claim.status.as_ref()?.phase == Some(ClaimPhase::Bound);
    (bound && !addresses.is_empty()).then(|| {
        let lines: Vec<String> = addresses
            .iter()
            .map(|(port, address)| format!("  address  {port} → {address}"))
            .collect();
        lines.join("\n")
    })
}

fn addresses_of(claim: &SandboxClaim) -> BTreeMap<String, String> {
    let status = claim.status.as_ref();
    status
        .and_then(|status| status.addresses.clone())
        .unwrap_or_default()
}

async fn refuse(cluster: &Cluster, write: &BadWrite) -> Outcome {
    let file = format!("{}.yaml", write.file);
    std::fs::write(cluster.access().folder.join(&file), write.yaml)?;
    say(format!("  {}:\n    $ kubectl apply -f {file}", write.what))?;
    let said = cluster
        .kubectl(&["-n", NAMESPACE, "apply", "-f", &file], None)
        .await?;
    if said.success {
        return Err(Failure::saying(format!("it was admitted:\n{}", write.yaml)));
    }
    say(format!("{}\n", indent(&said.stderr)))?;
    if !said.stderr.contains(write.names) {
        return Err(Failure::saying(format!(
            "the refusal does not name {}",
            write.names
        )));
    }
    Ok(())
}

pub(super) fn heading(text: &str) -> Outcome {
    say(format!("\n── {text}\n"))
}

/// Prints a line. A reader that went away (`| head`) ends the story instead of breaking it.
pub fn say(line: impl Display) -> Outcome {
    writeln!(stdout(), "{line}")?;
    Ok(())
}

fn indent(text: &str) -> String {
    text.trim_end()
        .lines()
        .map(|line| format!("    {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}
