//! The rules about who asks, with the variables the policy has in the API server. Pure.

use std::sync::Arc;

use cel::{
    Context, Env, Program,
    common::types::{CelBool, CelString},
};
use serde_json::Value;

use super::{
    compiled::{CompileError, Outcome, Place, Rule, compile},
    evaluate::{cel_map, holds},
    identity::OperatorIdentity,
    json_value::{Borrowed, cel_value},
    row::Moment,
    verdict::Attempt,
};

/// The rows of the policy, compiled, with the expression that recognises the operator.
pub(super) struct WriterRules {
    operator: Program,
    rules: Vec<Arc<Rule>>,
}

impl WriterRules {
    pub(super) fn new(
        identity: &OperatorIdentity,
        rules: Vec<Arc<Rule>>,
    ) -> Result<Self, CompileError> {
        let operator = compile("operator", &identity.expression()?)?;
        Ok(Self { operator, rules })
    }

    /// Takes the rule `id` out.
    pub(super) fn drop_rule(&mut self, id: &str) {
        self.rules.retain(|rule| rule.row.id != id);
    }

    /// Runs what applies.
    pub(super) fn judge(
        &self,
        attempt: &Attempt<'_>,
        env: &Arc<Env>,
        operator: &str,
        outcome: &mut Outcome,
    ) {
        // Without a spec nothing can be said of it; the schema refuses that object.
        let readable = attempt.object.get("spec").is_some_and(Value::is_object);
        let applies = |rule: &&Arc<Rule>| {
            let row = rule.row;
            row.subjects.contains(&attempt.subject)
                && row.moment.covers(attempt.operation, attempt.subresource)
                && (readable || row.moment == Moment::StatusChange)
        };
        let mut rules = self.rules.iter().filter(applies).peekable();
        if rules.peek().is_none() {
            return;
        }
        match self.asking(attempt, env) {
            Ok(context) => {
                let place = Place {
                    context: &context,
                    value: attempt.object,
                    stored: attempt.old_object,
                    path: String::new,
                };
                rules.for_each(|rule| rule.run(&place, operator, outcome));
            }
            Err(fault) => outcome.faults.push(format!("operator: {fault}")),
        }
    }

    /// Whether the operator itself asks. Who cannot be recognised is not the operator.
    pub(super) fn is_operator(&self, attempt: &Attempt<'_>, env: &Arc<Env>) -> bool {
        let mut context = Context::with_env(Arc::clone(env));
        context.add_variable_as_val("request", request(attempt));
        holds(&self.operator, &context).unwrap_or_default()
    }

    fn asking<'a>(&self, attempt: &Attempt<'a>, env: &Arc<Env>) -> Result<Context<'a, 'a>, String> {
        let old_object = attempt.old_object.map_or_else(|| cel_map([]), spec_of);
        let mut context = Context::with_env(Arc::clone(env));
        context.add_variable_as_val("request", request(attempt));
        context.add_variable_as_val("object", spec_of(attempt.object));
        context.add_variable_as_val("oldObject", old_object);
        let operator: Borrowed<'_> = Box::new(CelBool::from(holds(&self.operator, &context)?));
        context.add_variable_as_val("variables", cel_map([("operator", operator)]));
        Ok(context)
    }
}

fn request<'a>(attempt: &Attempt<'a>) -> Borrowed<'a> {
    let user_info = match attempt.user_info {
        known @ Value::Object(_) => cel_value(known),
        _ => cel_map([]),
    };
    let operation: Borrowed<'_> = Box::new(CelString::from(attempt.operation.as_str()));
    cel_map([("userInfo", user_info), ("operation", operation)])
}

/// Of an object these rules read the spec alone (a test holds them to it); managed fields and the
/// rest need not be converted.
fn spec_of(object: &Value) -> Borrowed<'_> {
    cel_map(object.get("spec").map(|spec| ("spec", cel_value(spec))))
}

#[cfg(test)]
mod tests {
    use crate::rules::{Layer, table};

    // Proves: P-002, P-003
    #[test]
    fn rules_about_the_writer_read_nothing_of_an_object_but_its_spec() {
        for row in table().filter(|row| row.layer == Layer::Policy) {
            let expression = row.check.cel().unwrap();
            for part in expression.split("bject.").skip(1) {
                assert!(part.starts_with("spec"), "{} reads object.{part}", row.id);
            }
        }
    }
}
