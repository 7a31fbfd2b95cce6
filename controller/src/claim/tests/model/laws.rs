//! What must hold of every story, after each request.

mod limits;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sandgate_shared::names::{
    self, BASELINE_POLICY, COMPONENT_EGRESS, LABEL_CLAIM_UID, LABEL_COMPONENT,
};
use serde_json::{Value, json};

use super::claims::{Claim, Standing};
use super::cluster::owner;
use super::people::CANARY;
use super::process::Heard;
use crate::api_server::fake::Fake;
use crate::api_server::fake::history::{Happened, text};
use crate::watch::Source;

/// `canary`, as it stands in a Secret.
const CANARY_IN_A_SECRET: &str = "Y2FuYXJ5";

/// What a process that wrote something may have known then.
pub struct Known {
    pub heard: Heard,
    pub caught_up: usize,
}

impl Known {
    fn since(&self, source: Source) -> usize {
        self.heard.get(&source).copied().unwrap_or_default()
    }
}

/// What has happened so far, and what it means.
#[derive(Default)]
pub struct Laws {
    history: Vec<Happened>,
    pub standing: Standing,
    /// UIDs of claims, with how much had happened before they were.
    admitted: BTreeMap<String, usize>,
    /// UIDs of objects that a process of ours made.
    ours: BTreeSet<String>,
    failed: BTreeMap<String, String>,
    sub_paths: BTreeMap<String, String>,
    /// Deployments that a stranger touched, by UID.
    strange: BTreeSet<String>,
}

impl Laws {
    /// Takes in what has happened since; what breaks a law.
    pub fn judge(&mut self, server: &Fake, known: Option<&Known>) -> Vec<String> {
        let mut broken = Vec::new();
        for event in server.since(self.history.len()) {
            let before = self.standing.get(&event.path).cloned();
            let before =
                before.filter(|it| text(it, "/metadata/uid") == event.text("/metadata/uid"));
            if event.gone {
                self.standing.remove(&event.path);
            } else {
                let object = Arc::clone(&event.object);
                self.standing.insert(event.path.clone(), object);
            }
            self.history.push(event.clone());
            if let (Some(_), Some(known)) = (event.by, known) {
                broken.extend(self.written(&event, before.as_deref(), known));
            }
            self.remember(&event);
            if event.is("sandboxclaims") && !event.gone {
                broken.extend(self.constant(&event));
            }
        }
        broken
    }

    /// Every phase and reason that a claim ever had.
    pub fn told(&self) -> BTreeSet<String> {
        let claims = self.history.iter().filter(|it| it.is("sandboxclaims"));
        let claims = claims.map(|it| Claim(&it.object));
        claims
            .filter_map(|it| Some(format!("{} / {}", it.phase(), it.condition("Ready")?.1)))
            .collect()
    }

    fn remember(&mut self, event: &Happened) {
        let uid = event.text("/metadata/uid").to_owned();
        if event.is("deployments") {
            if event.by.is_none() {
                self.strange.insert(uid.clone());
            } else {
                self.strange.remove(&uid);
            }
        }
        if event.is("sandboxclaims") && Claim(&event.object).is_admitted() {
            let at = self.history.len();
            self.admitted.entry(uid).or_insert(at);
        }
    }

    /// What never changes, whoever writes.
    fn constant(&mut self, event: &Happened) -> Vec<String> {
        let claim = Claim(&event.object);
        let uid = claim.uid().to_owned();
        let mut broken = Vec::new();
        let name = claim.name();
        if let Some(reason) = self.failed.get(&uid) {
            let now = claim.condition("Ready").unwrap_or_default().1;
            if claim.phase() != "Failed" || now != reason {
                broken.push(format!("{name} had failed for {reason}, and says {now}"));
            }
        } else if claim.phase() == "Failed" {
            let reason = claim.condition("Ready").unwrap_or_default().1;
            self.failed.insert(uid.clone(), reason.to_owned());
            if reason == "NameConflict" && !self.was_taken(name) {
                broken.push(format!("{name} failed for a name that nobody else had"));
            }
        }
        if self.admitted.contains_key(&uid) && !claim.is_admitted() {
            broken.push(format!("{name} was admitted, and that is taken back"));
        }
        let path = text(claim.0, "/status/volumeSubPath");
        let recorded = self.sub_paths.entry(uid).or_insert_with(|| path.to_owned());
        if !recorded.is_empty() && recorded != path {
            broken.push(format!("{name} was at {recorded}, and is at {path}"));
        }
        path.clone_into(recorded);
        broken
    }

    /// Whether an object of nobody's ever bore the name of the claim's.
    fn was_taken(&self, claim: &str) -> bool {
        let name = names::sandbox(claim);
        let mut history = self.history.iter();
        history.any(|it| it.text("/metadata/name") == name && owner(&it.object).is_empty())
    }

    /// What a process wrote.
    fn written(&mut self, event: &Happened, before: Option<&Value>, known: &Known) -> Vec<String> {
        let mut broken = Vec::new();
        let path = &event.path;
        let said = event.object.to_string();
        let tells = said.contains(CANARY) || said.contains(CANARY_IN_A_SECRET);
        if !event.is("secrets") && tells {
            broken.push(format!("{path} tells the value of a Secret"));
        }
        if event.is("sandboxclaims") {
            broken.extend(self.status(event, before, known));
            return broken;
        }
        if event.is("events") || event.is("leases") {
            return broken;
        }
        let uid = event.text("/metadata/uid").to_owned();
        match before {
            None => {
                self.ours.insert(uid);
                broken.extend(self.made(event, known));
            }
            // It is told of its allowlist, or cut when no Connection names a host.
            Some(_) if event.is("pods") && is_of_proxy(&event.object) => {}
            Some(_) if event.is("pods") => {
                if event.text("/status/phase") != "Failed" {
                    broken.push(format!("{path} had not finished, and was deleted"));
                }
            }
            Some(_) if !self.ours.contains(&uid) => {
                broken.push(format!("{path} is somebody else's, and was touched"));
            }
            Some(before) if !event.gone && owner(before) != owner(&event.object) => {
                broken.push(format!("{path} is an earlier claim's, and was taken over"));
            }
            Some(before) if event.is("deployments") => {
                broken.extend(self.rolled(event, before));
            }
            Some(_) => {}
        }
        broken
    }

    /// An object that was made.
    fn made(&self, event: &Happened, known: &Known) -> Vec<String> {
        let mut broken = Vec::new();
        let path = &event.path;
        let label = LABEL_CLAIM_UID.replace('/', "~1");
        let claim = event.text(&format!("/metadata/labels/{label}"));
        if !claim.is_empty() && !self.admitted.contains_key(claim) {
            broken.push(format!("{path} was made for a claim that is not admitted"));
        }
        if !claim.is_empty() && owner(&event.object) != claim {
            broken.push(format!("{path} was made without an owner"));
        }
        if event.is("deployments") && !self.was_shut(known) {
            broken.push(format!("{path} was made without a baseline policy"));
        }
        broken
    }

    /// Whether the baseline stood at any moment that the process may have decided by.
    fn was_shut(&self, known: &Known) -> bool {
        let since = known.since(Source::NetworkPolicies);
        let baseline = |event: &&Happened| event.path.ends_with(BASELINE_POLICY);
        let (then, later) = self.history.split_at(since.min(self.history.len()));
        let stood = then.iter().rev().find(baseline);
        stood.is_some_and(|event| !event.gone)
            || later.iter().filter(baseline).any(|event| !event.gone)
    }

    /// No template changes but where a stranger had changed it, or a Connection came or went. The class of
    /// claims without any is edited all the time.
    fn rolled(&self, event: &Happened, before: &Value) -> Option<String> {
        let bound = Claim::all(&self.standing)
            .find(|claim| claim.uid() == owner(before))
            .is_some_and(|claim| claim.was_bound() && claim.class() != "wired");
        let moved = before.pointer("/spec/template") != event.object.pointer("/spec/template");
        let strange = self.strange.contains(text(before, "/metadata/uid"));
        (bound && moved && !event.gone && !strange)
            .then(|| format!("{} was bound, and was rolled", event.path))
    }

    /// A status that was written.
    fn status(&self, event: &Happened, before: Option<&Value>, known: &Known) -> Vec<String> {
        let claim = Claim(&event.object);
        let was = before.map(Claim);
        let mut broken = Vec::new();
        if claim.holds() && !was.is_some_and(Claim::is_admitted) {
            broken.extend(self.exceeds(claim, known));
            broken.extend(self.overtakes(claim, known));
        }
        let published = claim.has_addresses() && !was.is_some_and(Claim::has_addresses);
        if published && !self.was_ready(claim, known) {
            let name = claim.name();
            broken.push(format!("{name} has addresses, and no pod of it was ready"));
        }
        broken
    }

    /// Whether a pod of the claim was ready at any moment that the process may have decided by.
    fn was_ready(&self, claim: Claim<'_>, known: &Known) -> bool {
        let label = LABEL_CLAIM_UID.replace('/', "~1");
        let label = format!("/metadata/labels/{label}");
        let of = |event: &&Happened| {
            let its_own = event.is("pods") && event.text(&label) == claim.uid();
            its_own && !is_of_proxy(&event.object)
        };
        let ready = |event: &Happened| {
            let conditions = event.object.pointer("/status/conditions");
            let ready = json!([{"type": "Ready", "status": "True"}]);
            !event.gone && conditions == Some(&ready)
        };
        let since = known.since(Source::Pods).min(self.history.len());
        let (then, later) = self.history.split_at(since);
        let mut last: BTreeMap<&str, bool> = BTreeMap::new();
        for event in then.iter().filter(of) {
            last.insert(&event.path, ready(event));
        }
        last.values().any(|ready| *ready) || later.iter().filter(of).any(ready)
    }
}

/// Whether an object is an egress proxy's.
pub fn is_of_proxy(object: &Value) -> bool {
    let labels = object.pointer("/metadata/labels");
    labels.is_some_and(|labels| labels[LABEL_COMPONENT] == COMPONENT_EGRESS)
}
