//! What has to stand once nothing happens any more.

use std::collections::{BTreeMap, BTreeSet};

use sandgate_shared::names::{self, BASELINE_POLICY};
use serde_json::{Value, json};

use super::claims::{Claim, Standing, held};
use super::cluster::{STUCK, owner};
use super::laws::is_of_proxy;
use super::people::{CLAIMS, Deed};
use crate::api_server::fake::history::text;
use crate::api_server::fake::path;
use crate::kind::Kind;

/// What was ever done that a claim may have failed for.
#[derive(Debug, Default)]
pub struct Facts {
    /// Classes that were taken.
    classes: BTreeSet<&'static str>,
    /// Claims one of whose names somebody else had.
    taken: BTreeSet<&'static str>,
    /// A Connection or its Secret was taken.
    cut_off: bool,
    /// An object of ours was edited or deleted.
    pub harmed: bool,
}

impl Facts {
    /// Takes note of what is about to be done.
    pub fn note(&mut self, deed: &Deed) {
        match deed {
            Deed::Obstruct { claim, .. } => {
                self.taken.insert(CLAIMS[*claim]);
            }
            Deed::TakeClass(class) => {
                self.classes.insert(class.name());
            }
            Deed::Take(_) => self.cut_off = true,
            Deed::Harm { .. } | Deed::HarmBaseline { .. } => self.harmed = true,
            _ => {}
        }
    }

    fn may_fail(&self, claim: Claim<'_>, reason: &str) -> bool {
        match reason {
            "ClassNotFound" => self.classes.contains(claim.class()),
            "NameConflict" => self.taken.contains(claim.name()),
            "ConnectionNotFound" | "ConnectionSecretNotFound" => self.cut_off,
            _ => false,
        }
    }
}

/// One sentence for each claim and object that is not as it has to be.
pub fn unsettled(standing: &Standing, facts: &Facts) -> Vec<String> {
    let mut told = Vec::new();
    for claim in Claim::all(standing) {
        let (phase, name) = (claim.phase(), claim.name());
        let reason = claim.condition("Ready").unwrap_or_default().1;
        let settled = claim.is_live() || phase == "Failed";
        let settled = settled
            && match phase {
                "Failed" => facts.may_fail(claim, reason),
                "Queued" => waits_rightly(standing, claim),
                "Bound" => claim.has_addresses() && has_ready_pod(standing, claim),
                "Pending" => claim.is_admitted() && !has_ready_pod(standing, claim),
                _ => false,
            };
        if !settled {
            told.push(format!("in the end {name} is {phase} / {reason}"));
        }
        for kind in [Kind::Deployment, Kind::Service, Kind::NetworkPolicy] {
            let stands = own(standing, claim, kind, &names::sandbox(name)).is_some();
            // The sandbox's pod waits for its proxy, which somebody may keep from being ready.
            let waits = kind == Kind::Deployment
                && claim.class() == "wired"
                && !claim.was_bound()
                && !pod_is_ready(standing, claim, true);
            if stands != claim.holds() && (stands || !waits) {
                let kind = kind.as_str();
                told.push(format!(
                    "in the end {name} is {phase}, its {kind} stands: {stands}"
                ));
            }
        }
        if claim.class() == "wired" {
            told.extend(wires(standing, claim));
        }
        told.extend(proxies(standing, claim));
    }
    told.extend(left_over(standing));
    told
}

fn place(kind: Kind, name: &str) -> String {
    path(
        kind,
        &json!({"metadata": {"namespace": "ns", "name": name}}),
    )
}

fn own<'a>(standing: &'a Standing, claim: Claim<'_>, kind: Kind, name: &str) -> Option<&'a Value> {
    let object = standing.get(&place(kind, name))?;
    (owner(object) == claim.uid()).then_some(&**object)
}

fn waits_rightly(standing: &Standing, claim: Claim<'_>) -> bool {
    let held = held(standing, claim.session());
    let runtime = standing.get(&place(Kind::AgentRuntime, "rt"));
    let limit = |field: &str| {
        let limit = runtime?.pointer(&format!("/spec/sandbox/{field}"))?;
        limit.as_u64()
    };
    let full = |held: u64, most: Option<u64>| most.is_some_and(|most| held >= most);
    full(held.all, limit("maxConcurrent"))
        || full(held.of_session, limit("maxPerSession"))
        || full(held.of_session, claim.most())
}

fn has_ready_pod(standing: &Standing, claim: Claim<'_>) -> bool {
    claim.class() != STUCK && pod_is_ready(standing, claim, false)
}

/// Whether a pod of the claim's sandbox is ready, or one of its proxy.
fn pod_is_ready(standing: &Standing, claim: Claim<'_>, of_proxy: bool) -> bool {
    let label = names::LABEL_CLAIM_UID.replace('/', "~1");
    let label = format!("/metadata/labels/{label}");
    let ready = json!([{"type": "Ready", "status": "True"}]);
    standing.iter().any(|(path, pod)| {
        path.contains("/pods/")
            && text(pod, &label) == claim.uid()
            && is_of_proxy(pod) == of_proxy
            && pod.pointer("/status/conditions") == Some(&ready)
    })
}

/// A credential is placed if and only if all that it comes from stands. Where the class is gone, nothing can
/// be placed again.
fn wires(standing: &Standing, claim: Claim<'_>) -> Option<String> {
    let there = |kind, name| standing.contains_key(&place(kind, name));
    let whole = there(Kind::Connection, "github") && there(Kind::Secret, "token");
    let sandbox = names::sandbox(claim.name());
    let deployment = own(standing, claim, Kind::Deployment, &sandbox)?;
    let placed = deployment.to_string().contains("\"secretKeyRef\"");
    let files = format!("{sandbox}-connections");
    let rendered = own(standing, claim, Kind::Secret, &files).is_some();
    let may_lack = whole && !there(Kind::SandboxClass, "wired");
    let right = (placed == whole && rendered == whole) || (may_lack && placed == rendered);
    (!right).then(|| {
        let name = claim.name();
        format!(
            "in the end {name}'s credential stands: {whole}, placed: {placed}, rendered: {rendered}"
        )
    })
}

/// An egress proxy stands if and only if a Connection of the claim does, with all that it needs.
fn proxies(standing: &Standing, claim: Claim<'_>) -> Vec<String> {
    let there = |kind, name| standing.contains_key(&place(kind, name));
    let whole = there(Kind::Connection, "github") && there(Kind::Secret, "token");
    let wanted = claim.class() == "wired" && claim.holds() && whole;
    let name = names::egress(claim.name());
    let kinds = [
        Kind::NetworkPolicy,
        Kind::ConfigMap,
        Kind::Service,
        Kind::Deployment,
    ];
    let wrong = kinds
        .into_iter()
        .filter(|kind| own(standing, claim, *kind, &name).is_some() != wanted);
    wrong
        .map(|kind| {
            let (phase, kind) = (claim.phase(), kind.as_str());
            format!(
                "in the end {name} of a claim that is {phase} has its {kind}: {}",
                !wanted
            )
        })
        .collect()
}

/// What belongs to nobody, and what keeps sandboxes shut.
fn left_over(standing: &Standing) -> Vec<String> {
    let uids: BTreeMap<&str, &str> = standing
        .iter()
        .map(|(path, object)| (text(object, "/metadata/uid"), path.as_str()))
        .collect();
    let orphaned = standing.iter().filter(|(_, object)| {
        let owner = owner(object);
        !owner.is_empty() && !uids.contains_key(owner)
    });
    let mut told: Vec<String> = orphaned
        .map(|(path, _)| format!("in the end {path} belongs to nobody"))
        .collect();
    let sandboxes = Claim::all(standing).any(Claim::holds);
    if sandboxes && !standing.contains_key(&place(Kind::NetworkPolicy, BASELINE_POLICY)) {
        told.push("in the end there is no baseline policy".to_owned());
    }
    told
}
