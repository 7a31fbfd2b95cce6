//! Immutable fields: that each is tried in every state it can be in, and that no update slips past by
//! way of another spelling.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failing test stops where it stands"
)]

use std::collections::{BTreeMap, BTreeSet};

use sandgate_shared::corpus::{Case, Frozen, State, cases, frozen};
use sandgate_shared::render;
use sandgate_shared::rules::{Layer, Moment, table};
use serde_json::{Value, json};

/// All states of the field that a rule freezes, from every entry of the sheet.
fn states_of_each_rule() -> BTreeMap<String, (Frozen, Vec<State>)> {
    let mut all: BTreeMap<String, (Frozen, Vec<State>)> = BTreeMap::new();
    for entry in frozen().unwrap() {
        let known = all.entry(entry.rule.clone());
        let (_, states) = known.or_insert_with(|| (entry.clone(), Vec::new()));
        states.extend(entry.states);
    }
    all
}

fn schema_of(entry: &Frozen) -> Value {
    let crd = render::crds()
        .into_iter()
        .find(|crd| crd["spec"]["names"]["kind"] == entry.kind.as_str())
        .unwrap();
    let mut node = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
    for name in entry.field.split('.') {
        node = node["properties"][name].clone();
    }
    node
}

// Proves: W-009, W-022, W-025
#[test]
fn every_rule_about_changes_has_its_field_listed_with_all_its_states() {
    let listed: BTreeSet<_> = states_of_each_rule().into_keys().collect();
    let about_changes: BTreeSet<_> = table()
        .filter(|row| row.moment == Moment::Change && row.layer == Layer::Crd)
        .map(|row| row.id.to_owned())
        .collect();
    assert_eq!(listed, about_changes);
}

// Proves: W-009, W-022, W-025
#[test]
fn every_immutable_field_is_tried_set_otherwise_absent_null_and_empty() {
    for (rule, (entry, states)) in states_of_each_rule() {
        let tried = |value: Option<Value>| states.iter().any(|state| state.value == value);
        assert!(tried(None), "{rule}: absent is not tried");
        assert!(tried(Some(Value::Null)), "{rule}: null is not tried");
        let empty = match schema_of(&entry)["type"].as_str() {
            Some("string") => Some(json!("")),
            Some("array") => Some(json!([])),
            Some("object") => Some(json!({})),
            _ => None,
        };
        if empty.is_some() {
            assert!(tried(empty.clone()), "{rule}: {empty:?} is not tried");
        }
        let meanings: BTreeSet<_> = states.iter().map(|state| &state.means).collect();
        assert!(meanings.len() > 1, "{rule}: no two states differ");
        let refuses = |case: &Case| case.old.is_some() && case.refused.contains(&rule);
        assert!(
            cases().unwrap().iter().any(refuses),
            "{rule}: nothing is refused"
        );
    }
}
