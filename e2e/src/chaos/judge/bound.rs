//! What of the Connections that a claim binds still stands. Pure.

use std::collections::BTreeSet;

use serde_json::Value;

use super::seat::claim_of;
use crate::chaos::history::{Change, Kind, Standing, text};

const SECRET: &str = "/spec/credential/secretRef/name";

/// Whether a claim binds any.
pub fn binds(claim: &Change) -> bool {
    each_of(&claim.object, "/spec/connections").next().is_some()
}

/// The Connections of a claim that stand, each with its Secret where it has one.
fn connections<'h>(now: &Standing<'h>, claim: &Change) -> Vec<&'h Change> {
    let at = |kind: Kind, name: &str| {
        let place = (kind, claim.place.1.clone(), name.to_owned());
        now.get(&place).copied()
    };
    let bound = each_of(&claim.object, "/spec/connections");
    let found = bound.filter_map(|it| at(Kind::Connection, text(it, "/connection")));
    let whole = found.filter(|it| {
        let secret = it.text(SECRET);
        secret.is_empty() || at(Kind::Secret, secret).is_some_and(|it| claim_of(it).is_empty())
    });
    whole.collect()
}

/// Whether one of them has a credential.
pub fn has_credential(now: &Standing<'_>, claim: &Change) -> bool {
    let mut all = connections(now, claim).into_iter();
    all.any(|it| !it.text(SECRET).is_empty())
}

/// The hosts that they name.
pub fn hosts<'h>(now: &Standing<'h>, claim: &Change) -> BTreeSet<&'h str> {
    let all = connections(now, claim).into_iter();
    let hosts = all.flat_map(|it| each_of(&it.object, "/spec/hosts"));
    hosts.filter_map(Value::as_str).collect()
}

/// The items of a list; none where there is none.
pub fn each_of<'v>(object: &'v Value, pointer: &str) -> impl Iterator<Item = &'v Value> {
    let list = object.pointer(pointer).and_then(Value::as_array);
    list.into_iter().flatten()
}
