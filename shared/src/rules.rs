//! The rule table and its evaluation.
//!
//! One [`Row`] a rule. From the rows come the CRDs' `x-kubernetes-validations`, the
//! `ValidatingAdmissionPolicy`, what [`Rulebook::judge`] evaluates and `docs/denials.md`.

mod verdict;

pub use verdict::{Attempt, Operation, Phase, Subject, Verdict, Violation};
