//! Laws of what never changes. Pure.

use std::collections::BTreeMap;

use sandgate_shared::names::{ANNOTATION_BINDINGS, ANNOTATION_PROXY, BASELINE_POLICY};
use serde_json::{Value, json};

use super::of_kind;
use super::seat::{Seat as _, annotation, claim_of};
use crate::chaos::history::{Change, Kind, leaving};

/// Where something that was said once of an object is said otherwise later.
fn changed<'h, T: PartialEq + std::fmt::Debug>(
    changes: impl Iterator<Item = &'h Change>,
    says: impl Fn(&'h Change) -> Option<T>,
) -> Vec<(u64, String)> {
    let mut said: BTreeMap<&str, T> = BTreeMap::new();
    let mut found = Vec::new();
    for change in changes {
        let now = says(change);
        match said.get(change.uid()) {
            Some(before) if now.as_ref() != Some(before) => {
                let seen = format!("{:?}: {before:?} became {now:?}", change.place);
                found.push((change.version, seen));
            }
            Some(_) => {}
            None => said.extend(now.map(|now| (change.uid(), now))),
        }
    }
    found
}

pub fn failed(history: &[Change]) -> Vec<(u64, String)> {
    changed(of_kind(history, Kind::Claim), |claim| {
        (claim.phase() == "Failed").then(|| claim.reason())
    })
}

pub fn volume_sub_path(history: &[Change]) -> Vec<(u64, String)> {
    changed(of_kind(history, Kind::Claim), |claim| {
        Some(claim.text("/status/volumeSubPath")).filter(|path| !path.is_empty())
    })
}

/// What was no claim's when it was first seen; nobody of this story edits it. It goes with its namespace.
pub fn foreign(history: &[Change]) -> Vec<(u64, String)> {
    let leaving = leaving(history);
    let goes_along = |it: &&Change| {
        let leaves = leaving.get(it.place.1.as_str());
        let deleted = it.gone || it.object.pointer("/metadata/deletionTimestamp").is_some();
        deleted && leaves.is_some_and(|since| it.version > *since)
    };
    let mut is_foreign: BTreeMap<&str, bool> = BTreeMap::new();
    let built = history.iter().filter(|it| {
        let kinds = [
            Kind::Deployment,
            Kind::Service,
            Kind::Policy,
            Kind::Allowlist,
        ];
        kinds.contains(&it.place.0) && it.place.2 != BASELINE_POLICY
    });
    let foreign = built.filter(|it| {
        *is_foreign
            .entry(it.uid())
            .or_insert(claim_of(it).is_empty())
    });
    let said = |change: &Change| {
        let of = |field: &str| change.object.pointer(field).cloned();
        json!([
            of("/metadata/labels"),
            of("/metadata/ownerReferences"),
            of("/metadata/deletionTimestamp"),
            of("/spec"),
            of("/data"),
            change.gone,
        ])
    };
    let foreign: Vec<&Change> = foreign.filter(|it| !goes_along(it)).collect();
    changed(foreign.into_iter(), |change| Some(said(change).to_string()))
}

/// A template that a stranger edited is put right by the class as it is then, so a new one begins there, and
/// so it does with other bindings or another address of the proxy.
pub fn templates(history: &[Change]) -> Vec<(u64, String)> {
    let mut stands: BTreeMap<&str, ([&str; 2], &Value)> = BTreeMap::new();
    let mut found = Vec::new();
    for change in history {
        let template = change.object.pointer("/spec/template");
        let (Kind::Deployment, Some(template)) = (change.place.0, template) else {
            continue;
        };
        // What this story's strangers do to a template.
        let strange = template.pointer("/spec/hostNetwork") == Some(&Value::Bool(true));
        if strange || claim_of(change).is_empty() {
            stands.remove(change.uid());
            continue;
        }
        let follows = [ANNOTATION_BINDINGS, ANNOTATION_PROXY].map(|it| annotation(change, it));
        let before = stands.insert(change.uid(), (follows, template));
        if let Some((_, before)) =
            before.filter(|(of, before)| *of == follows && *before != template)
        {
            let seen = format!("{:?}: {}", change.place, json_patch::diff(before, template));
            found.push((change.version, seen));
        }
    }
    found
}
