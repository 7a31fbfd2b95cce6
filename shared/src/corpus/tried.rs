//! What a case shows of a rule. Pure.

use serde_json::Value;

use super::Case;
use crate::rules::Row;

/// What a case shows of a rule that judges it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    /// The write is admitted though it has what the rule is about.
    Kept,
    /// The rule is named.
    Broken,
}

impl Case {
    /// What this case shows of the rule, if it shows anything.
    pub fn tries(&self, row: &Row) -> Option<Tried> {
        let judged = row
            .moment
            .covers(self.operation(), self.subresource.as_deref());
        if !judged || !row.subjects.contains(&self.subject) {
            return None;
        }
        if self
            .refused
            .iter()
            .chain(&self.warned)
            .any(|id| id == row.id)
        {
            return Some(Tried::Broken);
        }
        let kept = self.refused.is_empty() && speaks_of(row, &self.new);
        kept.then_some(Tried::Kept)
    }
}

/// Whether an object has the rule's field at one of its nodes.
fn speaks_of(row: &Row, object: &Value) -> bool {
    let has = |path: String| {
        let steps: Vec<&str> = path.split('.').filter(|step| !step.is_empty()).collect();
        leads_somewhere(object, &steps)
    };
    match row.nodes {
        [] => has(row.field.to_owned()),
        nodes => nodes
            .iter()
            .any(|node| has(format!("{}{}", node.path, row.field))),
    }
}

/// Whether the path ends at a value; lists are looked through item by item.
fn leads_somewhere(value: &Value, steps: &[&str]) -> bool {
    match (value, steps) {
        (Value::Null, _) => false,
        (_, []) => true,
        (Value::Array(items), _) => items.iter().any(|item| leads_somewhere(item, steps)),
        (value, [step, rest @ ..]) => value
            .get(step)
            .is_some_and(|value| leads_somewhere(value, rest)),
    }
}
