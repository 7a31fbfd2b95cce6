//! The rules that stand on one node of the object. Pure.
//!
//! All rules of a node run on one conversion of its value, and of that only what they read: turning
//! JSON into CEL values costs more than most rules.

use std::{collections::BTreeSet, sync::Arc};

use cel::{Context, Env};
use serde_json::Value;

use super::{
    check::Check,
    compiled::{Outcome, Place, Rule},
    evaluate::{Borrowed, cel_map, cel_value},
    json_path,
    row::{Binds, Effect, Moment, Node, Row},
    verdict::{Attempt, Phase},
};

/// The rules of one node, as one group.
pub(super) struct NodeRules {
    node: Node,
    rules: Vec<Arc<Rule>>,
    /// The fields these rules read of the node's value.
    reads: Reads,
}

/// Which fields of a value are worth converting.
enum Reads {
    All,
    Named(BTreeSet<&'static str>),
}

impl NodeRules {
    /// Puts each rule on its nodes.
    pub(super) fn group(rules: impl IntoIterator<Item = Arc<Rule>>) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for rule in rules {
            for node in rule.row.nodes {
                let reads = Reads::of_rule(rule.row, node.binds);
                match groups.iter_mut().find(|group| group.node == *node) {
                    Some(group) => {
                        group.rules.push(Arc::clone(&rule));
                        group.reads.join(reads);
                    }
                    None => groups.push(Self {
                        node: *node,
                        rules: vec![Arc::clone(&rule)],
                        reads,
                    }),
                }
            }
        }
        groups
    }

    /// Takes the rule `id` out.
    pub(super) fn drop_rule(&mut self, id: &str) {
        self.rules.retain(|rule| rule.row.id != id);
    }

    /// Runs what applies. Unchanged nodes are let through on update, but for rules about changes and
    /// for the root, which never ratchet.
    pub(super) fn judge(
        &self,
        attempt: &Attempt<'_>,
        env: &Arc<Env>,
        operator: &str,
        outcome: &mut Outcome,
    ) {
        let root = self.node.path.is_empty();
        // With generateName the mutating review has no name yet, so the root waits for the second call.
        let named = json_path::at(attempt.object, "metadata.name").is_some_and(|name| name != "");
        if root && attempt.phase == Phase::Mutating && !named {
            return;
        }
        let Some(value) = json_path::at(attempt.object, self.node.path) else {
            return;
        };
        let old = attempt
            .old_object
            .and_then(|old| json_path::at(old, self.node.path));
        let unchanged = !root && old == Some(value);
        let applies = |rule: &&Arc<Rule>| {
            let covered = rule
                .row
                .moment
                .covers(attempt.operation, attempt.subresource);
            covered
                && if rule.row.moment == Moment::Change {
                    old.is_some()
                } else {
                    // What is worth a warning is so at every write that leaves it.
                    !unchanged || rule.row.effect == Effect::Warn
                }
        };
        let mut rules = self.rules.iter().filter(applies).peekable();
        if rules.peek().is_none() {
            return;
        }
        let mut context = Context::with_env(Arc::clone(env));
        if let Some(old) = old {
            context.add_variable_as_val("oldSelf", self.reads.of_value(old));
        }
        let path = self.node.path;
        match self.node.binds {
            Binds::Itself | Binds::It => {
                let name = if self.node.binds == Binds::It {
                    "it"
                } else {
                    "self"
                };
                context.add_variable_as_val(name, self.reads.of_value(value));
                let place = Place {
                    context: &context,
                    value,
                    stored: old,
                    path: || path.to_owned(),
                };
                rules.for_each(|rule| rule.run(&place, operator, outcome));
            }
            Binds::EachItem => {
                let rules: Vec<_> = rules.collect();
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    context.add_variable_as_val("it", cel_value(item));
                    let place = Place {
                        context: &context,
                        value: item,
                        stored: old,
                        path: || format!("{path}[{index}]"),
                    };
                    for rule in &rules {
                        rule.run(&place, operator, outcome);
                    }
                }
            }
        }
    }
}

impl Reads {
    /// What a rule needs converted: nothing, where a function reads the JSON itself.
    fn of_rule(row: &Row, binds: Binds) -> Self {
        match row.check {
            Check::Cel(expression) => Self::of(expression, binds),
            Check::Rust(_) => Self::Named(BTreeSet::new()),
        }
    }

    /// The fields that stand behind `self.` and `oldSelf.`; all, where the value is used in any other
    /// way.
    fn of(expression: &'static str, binds: Binds) -> Self {
        if binds != Binds::Itself {
            return Self::All;
        }
        let mut named = BTreeSet::new();
        for (at, _) in expression.match_indices("elf") {
            let rest = expression.get(at + 3..).unwrap_or_default();
            let Some(field) = rest.strip_prefix('.') else {
                return Self::All;
            };
            let end = field
                .find(|c: char| !c.is_ascii_alphanumeric())
                .unwrap_or(field.len());
            named.extend(field.get(..end));
        }
        Self::Named(named)
    }

    fn join(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Named(ours), Self::Named(theirs)) => ours.extend(theirs),
            _ => *self = Self::All,
        }
    }

    fn of_value<'v>(&self, value: &'v Value) -> Borrowed<'v> {
        match (self, value) {
            (Self::Named(named), Value::Object(fields)) => {
                cel_map(named.iter().filter_map(|name| {
                    let value = fields.get(*name).filter(|value| !value.is_null())?;
                    Some((*name, cel_value(value)))
                }))
            }
            _ => cel_value(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Proves: W-003
    #[test]
    fn a_rule_sees_every_field_it_names_and_all_where_it_takes_the_value_whole() {
        let named = |expression| match Reads::of(expression, Binds::Itself) {
            Reads::All => None,
            Reads::Named(named) => Some(named.into_iter().collect::<Vec<_>>()),
        };
        assert_eq!(
            named("has(self.a) == has(oldSelf.b) && self.c.d.size() == 0 || self.a['x'] == 1"),
            Some(vec!["a", "b", "c"])
        );
        assert_eq!(named("self == oldSelf"), None);
        assert_eq!(named("self.a == 1 && size(self) > 0"), None);
    }
}
