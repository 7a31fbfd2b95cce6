//! Every way to change an immutable field, from `shared/corpus/transitions.yaml`. Pure.
//!
//! A field is listed with the states it can be in. From every state that may be stored to every state
//! goes one write, refused exactly if the states mean different things or the new one is wrong in
//! itself. States are set as raw JSON, so that `null` is sent as `null`.

use json_patch::jsonptr::PointerBuf;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Case, Who};
use crate::rules::Subject;

/// One immutable field.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Frozen {
    /// The kind it belongs to.
    pub kind: String,
    /// The rule that freezes it.
    pub rule: String,
    /// The field, or its parent where that may come and go: `spec.filesystem`.
    pub field: String,
    /// The object around it, right but for the field.
    pub base: Value,
    /// The states it can be in.
    pub states: Vec<State>,
}

/// One state of an immutable field.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct State {
    /// What a person would call it.
    pub name: String,
    /// The raw JSON at the field; the field is absent where this is.
    #[serde(default, deserialize_with = "present")]
    pub value: Option<Value>,
    /// What it comes to: two states that mean the same are no change.
    pub means: String,
    /// What it breaks in itself.
    #[serde(default)]
    pub breaks: Vec<String>,
    /// What its writer is warned of where it is admitted.
    #[serde(default)]
    pub warns: Vec<String>,
    /// Whether it is only gone to: what is left freely is no start for a refusal.
    #[serde(default)]
    pub only_to: bool,
    /// Whether it lacks what the rule that freezes the field reads: then the schema alone refuses it.
    #[serde(default)]
    pub unreadable: bool,
}

/// A written null is a value.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// Every immutable field.
///
/// # Errors
/// A sheet that does not parse, with its reason.
pub fn frozen() -> Result<Vec<Frozen>, String> {
    let sheet = include_str!("../../corpus/transitions.yaml");
    serde_saphyr::from_str(sheet).map_err(|error| error.to_string())
}

impl Frozen {
    /// One write from every state that may be stored to every state, by somebody whom no rule about
    /// writers stops.
    pub(super) fn cases(&self) -> Vec<Case> {
        let Some(subject) = Subject::from_kind(&self.kind) else {
            return Vec::new();
        };
        let storable = self
            .states
            .iter()
            .filter(|from| from.breaks.is_empty() && !from.only_to);
        let pairs = storable.flat_map(|from| self.states.iter().map(move |to| (from, to)));
        let who = match subject {
            Subject::SandboxClaim => Who::Operator,
            _ => Who::Administrator,
        };
        let case = |(from, to): (&State, &State)| {
            let mut refused = to.breaks.clone();
            if from.means != to.means && !to.unreadable {
                refused.push(self.rule.clone());
            }
            let warned = match refused.as_slice() {
                [] => to.warns.clone(),
                _ => Vec::new(),
            };
            Case {
                name: format!("{}: {} -> {}", self.field, from.name, to.name),
                subject,
                subresource: None,
                who,
                old: Some(self.object(from)),
                new: self.object(to),
                refused,
                warned,
            }
        };
        pairs.map(case).collect()
    }

    fn object(&self, state: &State) -> Value {
        let mut object = json!({
            "apiVersion": "omnia.altairalabs.ai/v1alpha1",
            "kind": self.kind,
            "spec": self.base,
        });
        let pointer = PointerBuf::from_tokens(self.field.split('.'));
        if let Some((parent, name)) = pointer.split_back()
            && let Some(fields) = object
                .pointer_mut(parent.as_str())
                .and_then(Value::as_object_mut)
        {
            let name = name.decoded().into_owned();
            match &state.value {
                Some(value) => fields.insert(name, value.clone()),
                None => fields.remove(&name),
            };
        }
        object
    }
}
