//! The Connections that a claim binds (C-036, K-011). Pure.

use sandgate_shared::{
    api::{SandboxClaimSpec, SandboxClassSpec},
    checks::{self, Audience},
    reason,
};

use crate::claim::{
    observed::{Binding, Observed},
    plan::Finding,
};

/// Whether the claim binds any.
pub(in crate::claim::plan) fn binds(spec: &SandboxClaimSpec) -> bool {
    spec.connections.iter().flatten().next().is_some()
}

/// A bound role whose session the class wants written to a file before the sandbox starts: this version
/// has nothing that fetches it, and a pod without it is none that was asked for (C-036).
pub(super) fn unfetched(observed: &Observed) -> Option<Finding> {
    let class = observed.class.found()?;
    let bound = observed.claim.spec.connections.iter().flatten();
    let mut roles = bound.map(|binding| binding.role.as_str());
    let role = roles.find(|role| is_fetched(class, role))?;
    Some(Finding {
        reason: reason::SESSION_FETCH_UNAVAILABLE,
        message: format!(
            "the claim binds role {role:?}, whose session the class wants written to its stateFile before the sandbox starts, and this version of the operator fetches no sessions yet; the claim waits for one that does"
        ),
    })
}

fn is_fetched(class: &SandboxClassSpec, role: &str) -> bool {
    let mut roles = class.connections.iter().flatten();
    roles.any(|entry| {
        let session = entry.session.as_ref();
        entry.role == role && session.is_some_and(|session| session.state_file.is_some())
    })
}

/// Why what was found of them does not check.
pub(super) fn failure(observed: &Observed, bindings: &[Binding]) -> Option<Finding> {
    let class = observed.class.found()?;
    let bound: Vec<_> = bindings.iter().map(Binding::bound).collect();
    let failure = checks::check(class, &bound, Audience::Claim).err()?;
    Some(Finding {
        reason: failure.reason,
        message: format!("{}, then make the claim again", failure.message),
    })
}
