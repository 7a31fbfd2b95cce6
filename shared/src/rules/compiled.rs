//! A rule ready to run, and what its outcome means. Pure.

use cel::{Context, Program};
use thiserror::Error;

use super::{
    evaluate::holds,
    identity::IdentityError,
    row::{Layer, Row},
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

/// A row with its expression compiled.
pub(super) struct Rule {
    pub(super) row: &'static Row,
    program: Program,
}

/// What running rules came to.
#[derive(Default)]
pub(super) struct Outcome {
    /// Broken rules.
    pub(super) violations: Vec<Violation>,
    /// Rules that could not be evaluated.
    pub(super) faults: Vec<String>,
}

impl Rule {
    pub(super) fn new(row: &'static Row) -> Result<Self, CompileError> {
        Ok(Self {
            row,
            program: compile(row.id, row.expression)?,
        })
    }

    /// Runs the rule; what is wrong is said about `field`.
    pub(super) fn run(
        &self,
        context: &Context<'_, '_>,
        field: impl FnOnce() -> String,
        operator: &str,
        outcome: &mut Outcome,
    ) {
        match holds(&self.program, context) {
            Ok(true) => {}
            Ok(false) => outcome.violations.push(Violation {
                field: field(),
                rule: self.row.id.to_owned(),
                reason: self.row.reason.as_str(),
                message: self.row.message(operator),
                identity: self.row.layer == Layer::Policy,
            }),
            Err(error) => outcome.faults.push(format!("{}: {error}", self.row.id)),
        }
    }
}

/// Compiles one expression; `rule` names it in the error.
pub(super) fn compile(rule: &str, expression: &str) -> Result<Program, CompileError> {
    Program::compile(expression).map_err(|error| CompileError::Rule {
        rule: rule.to_owned(),
        detail: error.to_string(),
    })
}
