//! The table compiled, and one write judged by it. Pure.

use std::{collections::HashMap, sync::Arc};

use cel::Env;
use json_patch::jsonptr::PointerBuf;
use serde_json::json;

use super::{
    about_writer::WriterRules,
    bounds::{Bounds, Findings},
    compiled::{CompileError, Outcome, Rule},
    defaults,
    evaluate::environment,
    identity::OperatorIdentity,
    json_path,
    on_node::NodeRules,
    row::Layer,
    table,
    verdict::{Attempt, Operation, Phase, Subject, Verdict},
};
use crate::render;

/// Parsing CEL takes more stack than a thread has by default.
const COMPILE_STACK: usize = 64 * 1024 * 1024;

/// Set on an object that only waits for its finalizers.
const DELETION: &str = "metadata.deletionTimestamp";

/// The whole table, compiled once at start and shared by all requests.
pub struct Rulebook {
    env: Arc<Env>,
    operator: String,
    about_writer: WriterRules,
    kinds: HashMap<Subject, Kind>,
}

/// What holds for one kind whoever writes it.
struct Kind {
    bounds: Bounds,
    nodes: Vec<NodeRules>,
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
        let rules = |about_writer: bool| {
            let rows = table().filter(move |row| (row.layer == Layer::Policy) == about_writer);
            rows.map(|row| Rule::new(row).map(Arc::new))
                .collect::<Result<Vec<_>, _>>()
        };
        let on_object = rules(false)?;
        let kinds = Subject::ALL
            .into_iter()
            .map(|subject| {
                let ours = on_object
                    .iter()
                    .filter(|rule| rule.row.subjects.contains(&subject));
                let bounds = Bounds::new(&render::spec_schema(subject))?;
                Ok((
                    subject,
                    Kind {
                        bounds,
                        nodes: NodeRules::group(ours.cloned()),
                    },
                ))
            })
            .collect::<Result<_, CompileError>>()?;
        Ok(Self {
            env: Arc::new(environment().map_err(|error| CompileError::Rule {
                rule: "matches".to_owned(),
                detail: error.to_string(),
            })?),
            operator: identity.username.clone(),
            about_writer: WriterRules::new(identity, rules(true)?)?,
            kinds,
        })
    }

    /// This book without the rule `id`: to prove that some test depends on it.
    #[must_use]
    pub fn without(mut self, id: &str) -> Self {
        self.about_writer.drop_rule(id);
        let nodes = self.kinds.values_mut().flat_map(|kind| &mut kind.nodes);
        nodes.for_each(|node| node.drop_rule(id));
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
        let Some(kind) = self.kinds.get(&attempt.subject) else {
            return Verdict::default();
        };
        let patch = missing_defaults(attempt, &kind.bounds);
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
        let mut verdict = self.judge_defaulted(&Attempt { object, ..*attempt }, kind);
        if verdict.violations.is_empty() && verdict.faults.is_empty() {
            verdict.patch = patch.0;
        }
        verdict
    }

    fn judge_defaulted(&self, attempt: &Attempt<'_>, kind: &Kind) -> Verdict {
        let mut verdict = Verdict::default();
        let findings = match attempt.subresource {
            None => check_spec(attempt, &kind.bounds),
            Some(_) => Findings::default(),
        };
        if findings.mistyped {
            return verdict;
        }
        let incomplete = !findings.violations.is_empty();
        verdict.violations = findings.violations;
        if !findings.oversized {
            let mut outcome = Outcome::default();
            for node in &kind.nodes {
                node.judge(attempt, &self.env, &self.operator, &mut outcome);
            }
            self.about_writer
                .judge(attempt, &self.env, &self.operator, &mut outcome);
            verdict.violations.append(&mut outcome.violations);
            // On an incomplete object a rule may stumble over what is missing, which was just told.
            if !incomplete {
                verdict.faults = outcome.faults;
            }
            let admitted = verdict.violations.is_empty() && verdict.faults.is_empty();
            if admitted && self.hears_warnings(attempt, &outcome.warnings) {
                verdict.warnings = outcome.warnings;
            }
        }
        verdict.violations.sort();
        verdict.violations.dedup();
        verdict
    }

    /// Whether the writer is told what was found: once, of the object as it will be stored, and never
    /// the operator, who could not act on it.
    fn hears_warnings(&self, attempt: &Attempt<'_>, warnings: &[String]) -> bool {
        attempt.phase == Phase::Validating
            && !warnings.is_empty()
            && !self.about_writer.is_operator(attempt, &self.env)
    }
}

/// An object on its way out may lose its finalizers whatever the rules say today.
fn leaves_alone(attempt: &Attempt<'_>) -> bool {
    let deleting = json_path::at(attempt.object, DELETION).is_some();
    let same_spec = attempt
        .old_object
        .is_some_and(|old| old.get("spec") == attempt.object.get("spec"));
    attempt.subresource.is_none() && deleting && same_spec
}

/// The defaults to fill in; none into an object on its way out, whose finalizers somebody waits for.
fn missing_defaults(attempt: &Attempt<'_>, bounds: &Bounds) -> json_patch::Patch {
    let leaving = json_path::at(attempt.object, DELETION).is_some();
    let spec = json_path::at(attempt.object, "spec").filter(|spec| spec.is_object() && !leaving);
    let operations = match (attempt.phase, attempt.subresource, spec) {
        (Phase::Mutating, None, Some(spec)) => {
            defaults::missing(bounds.schema(), spec, &PointerBuf::from_tokens(["spec"]))
        }
        _ => Vec::new(),
    };
    json_patch::Patch(operations)
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
