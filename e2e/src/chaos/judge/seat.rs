//! What a version of a claim says of its place. Pure.

use std::time::Duration;

use sandgate_shared::names::{LABEL_CLAIM_UID, LABEL_COMPONENT};
use sandgate_shared::reason::condition;
use serde_json::Value;

use crate::chaos::history::{Change, Kind, Standing};

/// How old what a controller decides by may be: watches that lag, are cut and begun anew.
pub const STALE: Duration = Duration::from_secs(6);

/// Reads a claim.
pub trait Seat {
    /// `Pending`, `Bound`, …
    fn phase(&self) -> &str;
    /// The reason of the condition `Ready`.
    fn reason(&self) -> &str;
    /// Whether it was admitted.
    fn is_admitted(&self) -> bool;
    /// Whether it holds a place, or may come to.
    fn is_live(&self) -> bool;
    /// What it waits in line by.
    fn turn(&self) -> (&str, &str);
    /// Namespace and name of its runtime.
    fn runtime(&self) -> (&str, &str);
    /// Its session.
    fn session(&self) -> &str;
    /// How many of its sandbox its session may have.
    fn most(&self) -> Option<u64>;
}

impl Seat for Change {
    fn phase(&self) -> &str {
        self.text("/status/phase")
    }

    fn reason(&self) -> &str {
        condition_of(&self.object, condition::READY).map_or("", |it| it.1)
    }

    fn is_admitted(&self) -> bool {
        condition_of(&self.object, condition::ADMITTED).is_some_and(|it| it.0 == "True")
    }

    fn is_live(&self) -> bool {
        let leaves = self.object.pointer("/metadata/deletionTimestamp").is_some();
        !self.gone && !leaves && !["Failed", "Completed"].contains(&self.phase())
    }

    fn turn(&self) -> (&str, &str) {
        (self.text("/metadata/creationTimestamp"), &self.place.2)
    }

    fn runtime(&self) -> (&str, &str) {
        (&self.place.1, self.text("/spec/agentRuntimeRef/name"))
    }

    fn session(&self) -> &str {
        self.text("/spec/sessionID")
    }

    fn most(&self) -> Option<u64> {
        self.object.pointer("/spec/maxInstances")?.as_u64()
    }
}

/// The UID of the claim that an object is labelled with; empty without.
pub fn claim_of(change: &Change) -> &str {
    label(change, LABEL_CLAIM_UID)
}

/// Whether an object of this kind and name stands, and is the claim's.
pub fn stands(now: &Standing<'_>, claim: &Change, kind: Kind, name: &str) -> bool {
    let place = (kind, claim.place.1.clone(), name.to_owned());
    now.get(&place)
        .is_some_and(|it| claim_of(it) == claim.uid())
}

/// What part of a claim an object says to be; empty without.
pub fn component_of(change: &Change) -> &str {
    label(change, LABEL_COMPONENT)
}

fn label<'a>(change: &'a Change, key: &str) -> &'a str {
    let key = key.replace('/', "~1");
    change.text(&format!("/metadata/labels/{key}"))
}

/// An annotation of an object; empty without.
pub fn annotation<'a>(change: &'a Change, key: &str) -> &'a str {
    let key = key.replace('/', "~1");
    change.text(&format!("/metadata/annotations/{key}"))
}

/// Status and reason of a condition.
fn condition_of<'a>(object: &'a Value, name: &str) -> Option<(&'a str, &'a str)> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    let of = |it: &'a Value, field: &str| it.get(field).and_then(Value::as_str);
    let found = conditions.iter().find(|it| of(it, "type") == Some(name))?;
    Some((of(found, "status")?, of(found, "reason")?))
}

/// Claims of this runtime, and of this session where one is named, that hold a place.
pub fn holding(standing: &Standing<'_>, runtime: (&str, &str), session: Option<&str>) -> usize {
    let claims = standing.values().filter(|it| it.place.0 == Kind::Claim);
    claims
        .filter(|it| it.is_live() && it.is_admitted() && it.runtime() == runtime)
        .filter(|it| session.is_none_or(|session| it.session() == session))
        .count()
}

/// What a ceiling was at a moment and as long before as what is decided by may be old; `None` is no
/// ceiling.
pub fn ceilings(
    history: &[Change],
    at: &Change,
    runtime: (&str, &str),
    field: &str,
) -> Vec<Option<u64>> {
    let pointer = format!("/spec/sandbox/{field}");
    let versions: Vec<&Change> = super::of_kind(history, Kind::Runtime)
        .filter(|it| (it.place.1.as_str(), it.place.2.as_str()) == runtime)
        .filter(|it| it.version < at.version)
        .collect();
    let since = at.at.saturating_sub(STALE);
    let outdated = versions.iter().rposition(|it| it.at <= since);
    let recent = versions.iter().skip(outdated.unwrap_or_default());
    recent
        .map(|it| it.object.pointer(&pointer).and_then(Value::as_u64))
        .collect()
}

/// The loosest of these ceilings; `None` if there was a time without one.
pub fn loosest(history: &[Change], at: &Change, field: &str) -> Option<u64> {
    let ceilings = ceilings(history, at, at.runtime(), field);
    let all: Option<Vec<u64>> = ceilings.into_iter().collect();
    all.and_then(|all| all.into_iter().max())
}
