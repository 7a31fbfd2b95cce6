//! What is said beside the phase: Services that open nothing, writes that wait, strangers' edits.
//! Pure.

use sandgate_shared::reason::{self, condition};

use super::{Report, conditions::Conditions};
use crate::claim::{
    observed::ObjectKind,
    plan::{Build, Finding, Refusal, RefusalClass},
};

impl Report<'_> {
    /// Services of `egress.allowedServices` that open less than asked (O-030).
    pub(super) fn note_services(&self, conditions: &mut Conditions<'_>, build: &Build) {
        let name = condition::ALLOWED_SERVICES_RESOLVED;
        if !build.unresolved.is_empty() {
            let message = format!("egress.allowedServices: {}", build.unresolved.join("; "));
            conditions.set(name, false, reason::SERVICE_NOT_FOUND, &message);
        } else if self.observed.class.found().is_some() {
            let message = "every Service of egress.allowedServices is open";
            conditions.set_if_present(name, true, reason::SERVICES_RESOLVED, message);
        }
    }

    /// What strangers changed and what became of it (O-040). A record, hence never taken back; it
    /// is remembered until a status write carries it.
    pub(super) fn note_strangers(&self, conditions: &mut Conditions<'_>) {
        if let Some(finding) = &self.observed.memory.strangers {
            let name = condition::SANDBOX_MODIFIED;
            conditions.set(name, true, finding.reason, &finding.message);
        }
    }
}

/// The claim was admitted: a record that is never taken back, whatever becomes of the claim (C-012).
pub(super) fn note_admission(conditions: &mut Conditions<'_>) {
    let message =
        "the claim was admitted: it counts under its AgentRuntime's limits until it is over";
    conditions.set(condition::ADMITTED, true, reason::ADMITTED, message);
}

/// A refused write of a claim that bound: said beside `Ready`, which speaks of the sandbox (C-032).
pub(super) fn note_trouble(conditions: &mut Conditions<'_>, trouble: Option<Finding>) {
    let name = condition::OBJECTS_CURRENT;
    if let Some(finding) = trouble {
        conditions.set(name, false, finding.reason, &finding.message);
    } else {
        let message = "the claim's objects are as intended";
        conditions.set_if_present(name, true, reason::OBJECTS_WRITTEN, message);
    }
}

/// What is said of a write that the API server refused.
pub(super) fn refused_finding(kind: ObjectKind, refusal: &Refusal, class: RefusalClass) -> Finding {
    let (reason, rest) = match class {
        RefusalClass::Rejected => (
            reason::SANDBOX_REJECTED,
            "correct the class, or the policy that refuses it, and make the claim again",
        ),
        RefusalClass::OperatorForbidden => (
            reason::OPERATOR_FORBIDDEN,
            "the operator lacks this right: install its roles again. It keeps trying",
        ),
        RefusalClass::NamespaceTerminating | RefusalClass::Retry => {
            (reason::WRITE_RETRIED, "it is tried again by itself")
        }
    };
    let name = kind.as_str();
    Finding {
        reason,
        message: format!(
            "the API server refused the sandbox's {name}: {}; {rest}",
            refusal.message
        ),
    }
}
