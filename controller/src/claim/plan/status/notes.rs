//! What is said beside the phase: Services that open nothing, writes that wait, strangers' edits.
//! Pure.

use k8s_openapi::jiff::Timestamp;
use sandgate_shared::reason::{self, condition};

use super::{Report, conditions::Conditions};
use crate::claim::{
    observed::ObjectKind,
    plan::{Build, Finding, Outcome, Refusal, RefusalClass},
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

    /// What strangers changed and what became of it (O-040). A record, hence never taken back.
    pub(super) fn note_strangers(&self, conditions: &mut Conditions<'_>, build: &Build) {
        let mut healed = Vec::new();
        let mut held = Vec::new();
        for (kind, outcome) in &self.applied.outcomes {
            let name = kind.as_str();
            let anew = *kind == ObjectKind::Deployment && build.rerendered;
            let anew = if anew {
                " (from its class as that is now, which differs from what it was first built from)"
            } else {
                ""
            };
            match outcome {
                Outcome::Healed { paths, .. } => {
                    healed.push(format!("{name} {}{anew}", paths.join(", ")));
                }
                Outcome::Created(_) if self.stood_before(*kind) => {
                    healed.push(format!("{name} was deleted and is made again{anew}"));
                }
                Outcome::HeldBack { paths, until, .. } => {
                    let until = Timestamp::from_second(until.as_second()).unwrap_or(*until);
                    held.push(format!("{name} {} until {until}", paths.join(", ")));
                }
                _ => {}
            }
        }
        let name = condition::SANDBOX_MODIFIED;
        if !held.is_empty() {
            let message = format!(
                "somebody changes this again and again, so it is left for a while: {}",
                held.join("; "),
            );
            conditions.set(name, true, reason::HEAL_BACKED_OFF, &message);
        } else if !healed.is_empty() {
            let message = format!(
                "somebody changed the sandbox's objects; put back at {}: {}",
                self.now,
                healed.join("; "),
            );
            conditions.set(name, true, reason::HEALED, &message);
        }
    }

    /// Whether we had written this object before, so that its absence is a stranger's deed.
    fn stood_before(&self, kind: ObjectKind) -> bool {
        let mut intents = self.plan.ensure.iter();
        intents.any(|intent| intent.kind == kind && intent.known_uid.is_some())
    }
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
