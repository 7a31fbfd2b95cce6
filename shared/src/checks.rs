//! The checks of Connections, and what they place in a sandbox (K-003 to K-024, C-006, O-021). Pure.
//!
//! ```text
//! class, bound Connections, their Secrets ─check──────▶ Placement, or the first Failure
//!                                         ─drop_gone─▶ what of a bound claim still stands
//!                                         ─fitting───▶ Placement of it, and what does not fit
//! ```
//!
//! One implementation serves the claim, the AgentRuntime and the ToolRegistry, so that they cannot
//! disagree (K-010). Nothing here knows a role or a service by its name (K-003). A message names roles,
//! Connections, Secrets, keys, variables and paths, and never a value or the text of a template.

mod collisions;
mod environment;
mod placement;
mod reserved;
mod roles;
mod session;
mod table;

use std::collections::BTreeMap;

use crate::{
    api::{ConnectionSpec, SandboxClassSpec},
    concealed::Concealed,
};

pub use environment::home;
pub use placement::{PlacedBytes, PlacedEnv, Placement, digest, rendered};
pub use reserved::OPERATOR_VARIABLES;

use roles::Role;
use table::Case;

/// One binding of a claim, with what was found of it in the claim's namespace.
#[derive(Clone, Copy, Debug)]
pub struct Bound<'a> {
    /// The role.
    pub role: &'a str,
    /// Name of the Connection.
    pub connection: &'a str,
    /// The Connection, if it exists.
    pub found: Option<&'a ConnectionSpec>,
    /// The Secret that the Connection names, if it exists.
    pub secret: Option<&'a SecretKeys>,
}

/// A Secret: its keys, and values that are shown to nobody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretKeys {
    /// Its name.
    pub name: String,
    /// Each key with its value.
    pub values: BTreeMap<String, Concealed>,
}

/// Whom the checks are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// A claim that has not been bound.
    Claim,
    /// What each sandbox of an AgentRuntime will get.
    AgentRuntime,
    /// The defaults of a ToolRegistry, which leave roles to be bound by an AgentRuntime (K-013).
    ToolRegistry,
}

/// Why bindings do not check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// One of [`crate::reason`].
    pub reason: &'static str,
    /// For people: what is wrong and the way out. Holds no value.
    pub message: String,
}

/// A binding of a bound claim that is not placed any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The role.
    pub role: String,
    /// Name of the Connection.
    pub connection: String,
    /// Why.
    pub failure: Failure,
}

/// What the bound Connections place in a sandbox of the class.
///
/// # Errors
/// The first failure: in the order of the table of reasons, then in the order in which the class
/// declares the roles (Q42).
pub fn check(
    class: &SandboxClassSpec,
    bound: &[Bound<'_>],
    audience: Audience,
) -> Result<Placement, Failure> {
    let roles = roles::in_order(class, bound);
    let all: Vec<&Role<'_>> = roles.iter().collect();
    let case = Case { class, roles: &all };
    let required = (audience != Audience::ToolRegistry).then_some(table::ROLE_UNBOUND);
    let checks = [table::ROLE_UNDECLARED]
        .into_iter()
        .chain(required)
        .chain(table::FOUND.iter().copied());
    match checks.into_iter().find_map(|check| check(&case)) {
        Some(failure) => Err(failure),
        None => placement::of(&case, bound),
    }
}

/// Parts the bindings of a bound claim into those that still stand and those whose Connection, Secret or
/// key is gone. A binding goes as a whole (K-030, Q44). What the class says now does not matter, since
/// an edit of it takes nothing from a running sandbox (C-034).
pub fn drop_gone<'a>(bound: &[Bound<'a>]) -> (Vec<Bound<'a>>, Vec<Dropped>) {
    let class = SandboxClassSpec::default();
    let mut kept = Vec::new();
    let mut dropped = Vec::new();
    for one in bound {
        let role = Role::of(one, None);
        let case = Case {
            class: &class,
            roles: &[&role],
        };
        match table::GONE.iter().find_map(|check| check(&case)) {
            None => kept.push(*one),
            Some(failure) => dropped.push(role.dropped(failure)),
        }
    }
    (kept, dropped)
}

/// What the bindings that still stand place in a sandbox of the class as it is now, and those that have
/// no room beside what class, operator and the bindings before them use. A bound claim does not fail
/// for these (Q45).
///
/// # Errors
/// Arguments of a session that do not render (C-006).
pub fn fitting(
    class: &SandboxClassSpec,
    kept: &[Bound<'_>],
) -> Result<(Placement, Vec<Dropped>), Failure> {
    let roles = roles::in_order(class, kept);
    let mut placed: Vec<&Role<'_>> = Vec::new();
    let mut dropped = Vec::new();
    for role in &roles {
        placed.push(role);
        let case = Case {
            class,
            roles: &placed,
        };
        if let Some(failure) = table::FITS.iter().find_map(|check| check(&case)) {
            placed.pop();
            dropped.push(role.dropped(failure));
        }
    }
    let case = Case {
        class,
        roles: &placed,
    };
    Ok((placement::of(&case, kept)?, dropped))
}
