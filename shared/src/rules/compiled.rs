//! A rule ready to run, and what its outcome means. Pure.

use cel::{Context, Program};
use serde_json::Value;
use thiserror::Error;

use super::{
    check::{Check, Flaw, RustCheck},
    evaluate::holds,
    identity::IdentityError,
    json_path,
    row::{Effect, Layer, Row},
    verdict::Violation,
};

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

/// A row ready to run.
pub(super) struct Rule {
    pub(super) row: &'static Row,
    test: Test,
}

enum Test {
    Cel(Program),
    Rust(RustCheck),
}

/// Where a rule is run.
pub(super) struct Place<'a, F> {
    /// What expressions read.
    pub(super) context: &'a Context<'a, 'a>,
    /// What functions read: the value, and what is stored in its place.
    pub(super) value: &'a Value,
    pub(super) stored: Option<&'a Value>,
    /// The path of the value, made only for what is wrong.
    pub(super) path: F,
}

/// What running rules came to.
#[derive(Default)]
pub(super) struct Outcome {
    /// Broken rules.
    pub(super) violations: Vec<Violation>,
    /// What the writer should know of an admitted write.
    pub(super) warnings: Vec<String>,
    /// Rules that could not be evaluated.
    pub(super) faults: Vec<String>,
}

impl Rule {
    pub(super) fn new(row: &'static Row) -> Result<Self, CompileError> {
        let test = match row.check {
            Check::Cel(expression) => Test::Cel(compile(row.id, expression)?),
            Check::Rust(check) => Test::Rust(check),
        };
        Ok(Self { row, test })
    }

    /// Runs the rule; `operator` is whom its message names.
    pub(super) fn run(
        &self,
        place: &Place<'_, impl Fn() -> String>,
        operator: &str,
        outcome: &mut Outcome,
    ) {
        let flaws = match &self.test {
            Test::Rust(check) => check(place.value, place.stored),
            Test::Cel(program) => match holds(program, place.context) {
                Ok(true) => return,
                Ok(false) => vec![Flaw::default()],
                Err(error) => return outcome.faults.push(format!("{}: {error}", self.row.id)),
            },
        };
        for flaw in flaws {
            let field = match flaw.field.as_str() {
                "" => self.row.field,
                field => field,
            };
            let field = json_path::join(&(place.path)(), field);
            match self.row.effect {
                Effect::Warn => outcome.warnings.push(self.row.warning(&field)),
                Effect::Refuse => outcome.violations.push(Violation {
                    field,
                    rule: self.row.id.to_owned(),
                    reason: self.row.reason.as_str(),
                    message: match flaw.detail {
                        None => self.row.message(operator),
                        Some(detail) => format!("{} ({detail})", self.row.message(operator)),
                    },
                    identity: self.row.layer == Layer::Policy,
                }),
            }
        }
    }
}

/// Compiles one expression; `rule` names it in the error.
pub(super) fn compile(rule: &str, expression: &str) -> Result<Program, CompileError> {
    #[cfg(test)]
    tests::COMPILED.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    Program::compile(expression).map_err(|error| CompileError::Rule {
        rule: rule.to_owned(),
        detail: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;
    use crate::{
        corpus::cases,
        render::Installation,
        rules::{Attempt, Phase, Rulebook, table},
    };

    /// Expressions compiled by this process.
    pub(super) static COMPILED: AtomicUsize = AtomicUsize::new(0);

    /// Puts CEL wherever a request can hold text, names of fields included.
    fn with_cel_everywhere(value: &mut Value) {
        let cel = "[1,2,3].all(x, x > 0) && 'a'.matches('(a+)+$')";
        match value {
            Value::String(text) => cel.clone_into(text),
            Value::Array(items) => items.iter_mut().for_each(with_cel_everywhere),
            Value::Object(fields) => {
                fields.values_mut().for_each(with_cel_everywhere);
                fields.insert(cel.to_owned(), json!(cel));
            }
            _ => {}
        }
    }

    // Proves: W-003
    #[test]
    fn cel_is_compiled_once_at_start_and_never_for_a_request() {
        let before = COMPILED.load(Ordering::SeqCst);
        let identity = Installation::default().identity();
        let rulebook = Rulebook::compile(&identity).unwrap();
        let compiled = COMPILED.load(Ordering::SeqCst) - before;
        let expressions = table().filter(|row| row.check.cel().is_some()).count();
        // Each rule, and the expression that recognises the operator.
        assert_eq!(compiled, expressions + 1);
        for case in cases().unwrap() {
            let mut bent = case.new.clone();
            with_cel_everywhere(&mut bent);
            for object in [&case.new, &bent] {
                rulebook.judge(&Attempt {
                    subject: case.subject,
                    operation: case.operation(),
                    subresource: case.subresource.as_deref(),
                    phase: Phase::Validating,
                    object,
                    old_object: case.old.as_ref(),
                    user_info: &case.who.user_info(&identity),
                });
            }
        }
        let all = COMPILED.load(Ordering::SeqCst) - before;
        assert_eq!(all, compiled, "a request made the parser of CEL run");
    }
}
