//! The rules that stand on one node of the object. Pure.
//!
//! All rules of a node that hold for a write run in one context.

use std::sync::Arc;

use cel::{Context, Env};

use super::{
    compiled::{Outcome, Place, Rule},
    json_path,
    json_value::cel_value,
    row::{Binds, Effect, Moment, Node},
    verdict::{Attempt, Phase},
};

/// The rules of one node, as one group.
pub(super) struct NodeRules {
    node: Node,
    rules: Vec<Arc<Rule>>,
}

impl NodeRules {
    /// Puts each rule on its nodes.
    pub(super) fn group(rules: impl IntoIterator<Item = Arc<Rule>>) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for rule in rules {
            for node in rule.row.nodes {
                match groups.iter_mut().find(|group| group.node == *node) {
                    Some(group) => group.rules.push(Arc::clone(&rule)),
                    None => groups.push(Self {
                        node: *node,
                        rules: vec![Arc::clone(&rule)],
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
            context.add_variable_as_val("oldSelf", cel_value(old));
        }
        let path = self.node.path;
        match self.node.binds {
            Binds::Itself | Binds::It => {
                let name = if self.node.binds == Binds::It {
                    "it"
                } else {
                    "self"
                };
                context.add_variable_as_val(name, cel_value(value));
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
