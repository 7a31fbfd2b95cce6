//! The rule table and its evaluation. Pure.
//!
//! One [`Row`] a rule. From the rows come the CRDs' `x-kubernetes-validations`, the
//! `ValidatingAdmissionPolicy`, what [`Rulebook::judge`] evaluates and `docs/denials.md`; none of
//! them is written by hand, so the layers cannot drift apart.
//!
//! | file | holds |
//! | --- | --- |
//! | `row`, `check` | what a rule is |
//! | `claim`, `class`, `connection`, `provenance`, `warnings` | the rules |
//! | `hosts`, `quantities`, `templates`, `state_files` | what rules ask that CEL cannot say |
//! | `rulebook` | one write judged |
//! | `compiled`, `on_node`, `about_writer` | rules compiled, and run where they stand |
//! | `bounds`, `defaults` | what the schema itself says, applied to raw JSON |

mod about_writer;
mod bounds;
mod check;
mod claim;
mod class;
mod compiled;
mod connection;
mod defaults;
mod evaluate;
mod hosts;
mod identity;
mod json_path;
mod json_value;
mod on_node;
mod provenance;
mod quantities;
mod row;
mod rulebook;
mod state_files;
mod templates;
mod verdict;
mod warnings;

pub use check::{Check, Flaw, RustCheck};
pub use compiled::CompileError;
pub use identity::{IdentityError, OperatorIdentity};
pub use row::{Binds, Effect, Layer, Moment, Node, Reason, Row};
pub use rulebook::Rulebook;
pub use verdict::{Attempt, Operation, Phase, Subject, Verdict, Violation};

/// Every rule, in the order it is documented.
pub fn table() -> impl Iterator<Item = &'static Row> {
    claim::ROWS
        .iter()
        .chain(class::ROWS)
        .chain(connection::ROWS)
        .chain(provenance::ROWS)
        .chain(warnings::ROWS)
}
