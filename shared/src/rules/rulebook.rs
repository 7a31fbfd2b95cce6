//! The table compiled, and one write judged by it. Pure.

use std::{collections::HashMap, sync::Arc};

use cel::{Context, Env, Program, Value as Cel};
use json_patch::jsonptr::PointerBuf;
use serde_json::{Value, json};
use thiserror::Error;

use super::{
    bounds::{Bounds, Findings},
    defaults,
    evaluate::{cel_map, cel_value, environment, holds},
    identity::{IdentityError, OperatorIdentity},
    json_path,
    row::{Binds, Layer, Moment, Node, Row},
    table,
    verdict::{Attempt, Operation, Phase, Subject, Verdict, Violation},
};
use crate::render;

/// Parsing CEL takes more stack than a thread has by default.
const COMPILE_STACK: usize = 64 * 1024 * 1024;

/// Why the table could not be compiled: a fault of this build or of its flags, never of a request.
#[derive(Debug, Error)]
pub enum CompileError {
    /// The operator's user name is not a ServiceAccount's.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// A rule does not parse.
    #[error("failed to compile rule {rule}: {detail}")]
    Rule {
        /// Id of the row.
        rule: String,
        /// What the parser said.
        detail: String,
    },
    /// A schema holds a pattern that is no regular expression.
    #[error("failed to compile a schema's pattern")]
    Pattern(#[from] regex::Error),
    /// The compiling thread could not be started or did not finish.
    #[error("failed to run the rule compiler")]
    Thread,
}

/// The whole table, compiled once at start and shared by all requests.
pub struct Rulebook {
    env: Arc<Env>,
    identity: Program,
    operator: String,
    rows: Vec<(&'static Row, Program)>,
    bounds: HashMap<Subject, Bounds>,
}

impl Rulebook {
    /// Compiles every rule for this operator.
    ///
    /// # Errors
    /// When the identity is no ServiceAccount, or a rule or schema of this build is broken.
    pub fn compile(identity: &OperatorIdentity) -> Result<Self, CompileError> {
        let identity = identity.clone();
        std::thread::Builder::new()
            .stack_size(COMPILE_STACK)
            .spawn(move || Self::compile_here(&identity))
            .map_err(|_| CompileError::Thread)?
            .join()
            .map_err(|_| CompileError::Thread)?
    }

    fn compile_here(identity: &OperatorIdentity) -> Result<Self, CompileError> {
        let rows = table()
            .map(|row| Ok((row, compile(row.id, row.expression)?)))
            .collect::<Result<_, CompileError>>()?;
        let bounds = Subject::ALL
            .into_iter()
            .map(|subject| Ok((subject, Bounds::new(render::spec_schema(subject))?)))
            .collect::<Result<_, CompileError>>()?;
        Ok(Self {
            env: Arc::new(environment().map_err(|error| CompileError::Rule {
                rule: "matches".to_owned(),
                detail: error.to_string(),
            })?),
            identity: compile("operator", &identity.expression()?)?,
            operator: identity.username.clone(),
            rows,
            bounds,
        })
    }

    /// This book without the rule `id`: to prove that some test depends on it.
    #[must_use]
    pub fn without(mut self, id: &str) -> Self {
        self.rows.retain(|(row, _)| row.id != id);
        self
    }

    /// Judges one write: every broken rule at once, ordered by path, and on the mutating path the
    /// defaults of an admitted object.
    ///
    /// Never panics, whatever the JSON; a rule that cannot be evaluated is a fault, not an admission.
    pub fn judge(&self, attempt: &Attempt<'_>) -> Verdict {
        if leaves_alone(attempt) {
            return Verdict::default();
        }
        let Some(bounds) = self.bounds.get(&attempt.subject) else {
            return Verdict::default();
        };
        let patch = missing_defaults(attempt, bounds);
        let defaulted = (!patch.is_empty()).then(|| {
            let mut object = attempt.object.clone();
            json_patch::patch(&mut object, &patch).map(|()| object)
        });
        let object = match &defaulted {
            None => attempt.object,
            Some(Ok(object)) => object,
            Some(Err(error)) => {
                return Verdict {
                    faults: vec![format!("defaults: {error}")],
                    ..Verdict::default()
                };
            }
        };
        let mut verdict = self.judge_defaulted(&Attempt { object, ..*attempt }, bounds);
        if verdict.violations.is_empty() && verdict.faults.is_empty() {
            verdict.patch = patch.0;
        }
        verdict
    }

    fn judge_defaulted(&self, attempt: &Attempt<'_>, bounds: &Bounds) -> Verdict {
        let mut verdict = Verdict::default();
        let findings = match attempt.subresource {
            None => check_spec(attempt, bounds),
            Some(_) => Findings::default(),
        };
        if findings.mistyped {
            return verdict;
        }
        let incomplete = !findings.violations.is_empty();
        verdict.violations = findings.violations;
        if !findings.oversized {
            let mut faults = Vec::new();
            self.judge_rows(attempt, &mut verdict.violations, &mut faults);
            // On an incomplete object a rule may stumble over what is missing, which was just told.
            if !incomplete {
                verdict.faults = faults;
            }
        }
        verdict.violations.sort();
        verdict.violations.dedup();
        verdict
    }

    fn judge_rows(
        &self,
        attempt: &Attempt<'_>,
        violations: &mut Vec<Violation>,
        faults: &mut Vec<String>,
    ) {
        let object = cel_value(attempt.object);
        let old_object = attempt.old_object.map(cel_value);
        let mut who: Option<Context<'_, '_>> = None;
        for (row, program) in &self.rows {
            let covered = row.subjects.contains(&attempt.subject)
                && row.moment.covers(attempt.operation, attempt.subresource);
            if !covered || !speaks_now(row, attempt.phase) {
                continue;
            }
            match row.layer {
                Layer::Crd => {
                    for node in row.nodes {
                        self.judge_node(row, program, node, attempt, violations, faults);
                    }
                }
                Layer::Policy => {
                    let readable = row.moment == Moment::StatusChange
                        || attempt.object.get("spec").is_some_and(Value::is_object);
                    if !readable {
                        continue;
                    }
                    if who.is_none() {
                        match self.asking(attempt, &object, old_object.as_ref()) {
                            Ok(context) => who = Some(context),
                            Err(fault) => {
                                faults.push(fault);
                                return;
                            }
                        }
                    }
                    if let Some(context) = &who {
                        let field = row.field.to_owned();
                        self.record(row, field, holds(program, context), violations, faults);
                    }
                }
            }
        }
    }

    /// The variables of the policy, as the API server binds them.
    fn asking(
        &self,
        attempt: &Attempt<'_>,
        object: &Cel,
        old_object: Option<&Cel>,
    ) -> Result<Context<'_, '_>, String> {
        let user_info = if attempt.user_info.is_object() {
            cel_value(attempt.user_info)
        } else {
            cel_value(&json!({}))
        };
        let mut context = Context::with_env(Arc::clone(&self.env));
        let operation = Cel::String(Arc::new(attempt.operation.as_str().to_owned()));
        let request = cel_map([("userInfo", user_info), ("operation", operation)]);
        context.add_variable_from_value("request", request);
        context.add_variable_from_value("object", object.clone());
        context.add_variable_from_value("oldObject", old_object.cloned().unwrap_or(Cel::Null));
        let operator =
            holds(&self.identity, &context).map_err(|error| format!("operator: {error}"))?;
        context.add_variable_from_value("variables", cel_map([("operator", Cel::Bool(operator))]));
        Ok(context)
    }

    fn judge_node(
        &self,
        row: &Row,
        program: &Program,
        node: &Node,
        attempt: &Attempt<'_>,
        violations: &mut Vec<Violation>,
        faults: &mut Vec<String>,
    ) {
        let Some(value) = json_path::at(attempt.object, node.path) else {
            return;
        };
        let old = attempt
            .old_object
            .and_then(|old| json_path::at(old, node.path));
        let mut context = Context::with_env(Arc::clone(&self.env));
        match (row.moment, old) {
            (Moment::Change, None) => return,
            (Moment::Change, Some(old)) => {
                context.add_variable_from_value("oldSelf", cel_value(old));
            }
            (_, Some(old)) if old == value && !node.path.is_empty() => return,
            _ => {}
        }
        match node.binds {
            Binds::Itself | Binds::It => {
                let name = if node.binds == Binds::It {
                    "it"
                } else {
                    "self"
                };
                context.add_variable_from_value(name, cel_value(value));
                let field = json_path::join(node.path, row.field);
                self.record(row, field, holds(program, &context), violations, faults);
            }
            Binds::EachItem => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    context.add_variable_from_value("it", cel_value(item));
                    let field = format!("{}[{index}]{}", node.path, row.field);
                    self.record(row, field, holds(program, &context), violations, faults);
                }
            }
        }
    }

    fn record(
        &self,
        row: &Row,
        field: String,
        outcome: Result<bool, String>,
        violations: &mut Vec<Violation>,
        faults: &mut Vec<String>,
    ) {
        match outcome {
            Ok(true) => {}
            Ok(false) => violations.push(Violation {
                field,
                rule: row.id.to_owned(),
                reason: row.reason.as_str(),
                message: row.message(&self.operator),
                identity: row.layer == Layer::Policy,
            }),
            Err(error) => faults.push(format!("{}: {error}", row.id)),
        }
    }
}

/// An object on its way out may lose its finalizers whatever the rules say today; nothing is
/// filled into it either.
fn leaves_alone(attempt: &Attempt<'_>) -> bool {
    let deleting = json_path::at(attempt.object, "metadata.deletionTimestamp").is_some();
    let same_spec = attempt
        .old_object
        .is_some_and(|old| old.get("spec") == attempt.object.get("spec"));
    attempt.subresource.is_none() && deleting && same_spec
}

fn missing_defaults(attempt: &Attempt<'_>, bounds: &Bounds) -> json_patch::Patch {
    let spec = json_path::at(attempt.object, "spec").filter(|spec| spec.is_object());
    let operations = match (attempt.phase, attempt.subresource, spec) {
        (Phase::Mutating, None, Some(spec)) => {
            defaults::missing(bounds.schema(), spec, &PointerBuf::from_tokens(["spec"]))
        }
        _ => Vec::new(),
    };
    json_patch::Patch(operations)
}

/// With `generateName` the mutating review has no name yet, so rules on it wait for the second call.
fn speaks_now(row: &Row, phase: Phase) -> bool {
    phase == Phase::Validating
        || row.nodes.iter().all(|node| !node.path.is_empty())
        || row.nodes.is_empty()
}

fn check_spec(attempt: &Attempt<'_>, bounds: &Bounds) -> Findings {
    let old = attempt
        .old_object
        .and_then(|old| json_path::at(old, "spec"));
    match json_path::at(attempt.object, "spec") {
        Some(spec) => bounds.check(spec, old, "spec"),
        None if attempt.operation == Operation::Create || old.is_some() => {
            bounds.check(&json!({}), None, "spec")
        }
        None => Findings::default(),
    }
}

fn compile(rule: &str, expression: &str) -> Result<Program, CompileError> {
    Program::compile(expression).map_err(|error| CompileError::Rule {
        rule: rule.to_owned(),
        detail: error.to_string(),
    })
}
