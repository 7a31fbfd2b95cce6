//! Claims as the laws read them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api_server::fake::history::text;

/// What stands, by path.
pub type Standing = BTreeMap<String, std::sync::Arc<Value>>;

/// One claim.
#[derive(Clone, Copy)]
pub struct Claim<'a>(pub &'a Value);

impl<'a> Claim<'a> {
    /// All that stand.
    pub fn all(standing: &'a Standing) -> impl Iterator<Item = Self> {
        let claims = standing
            .iter()
            .filter(|(path, _)| path.contains("/sandboxclaims/"));
        claims.map(|(_, object)| Self(object))
    }

    pub fn name(self) -> &'a str {
        text(self.0, "/metadata/name")
    }

    pub fn uid(self) -> &'a str {
        text(self.0, "/metadata/uid")
    }

    pub fn phase(self) -> &'a str {
        text(self.0, "/status/phase")
    }

    pub fn class(self) -> &'a str {
        text(self.0, "/spec/classRef/name")
    }

    pub fn session(self) -> &'a str {
        text(self.0, "/spec/sessionID")
    }

    pub fn most(self) -> Option<u64> {
        self.0.pointer("/spec/maxInstances").and_then(Value::as_u64)
    }

    pub fn turn(self) -> (&'a str, &'a str) {
        (text(self.0, "/metadata/creationTimestamp"), self.name())
    }

    /// Status and reason of a condition.
    pub fn condition(self, name: &str) -> Option<(&'a str, &'a str)> {
        let conditions = self.0.pointer("/status/conditions")?.as_array()?;
        let mut conditions = conditions.iter();
        let found = conditions.find(|it| text(it, "/type") == name)?;
        Some((text(found, "/status"), text(found, "/reason")))
    }

    pub fn is_admitted(self) -> bool {
        self.condition("Admitted").is_some_and(|it| it.0 == "True")
    }

    pub fn was_bound(self) -> bool {
        self.condition("Bound").is_some_and(|it| it.0 == "True")
    }

    pub fn is_live(self) -> bool {
        let leaves = !text(self.0, "/metadata/deletionTimestamp").is_empty();
        !leaves && !["Failed", "Completed"].contains(&self.phase())
    }

    /// Whether it holds a place.
    pub fn holds(self) -> bool {
        self.is_live() && self.is_admitted()
    }

    pub fn has_addresses(self) -> bool {
        let addresses = self.0.pointer("/status/addresses");
        addresses
            .and_then(Value::as_object)
            .is_some_and(|all| !all.is_empty())
    }
}

/// How many of the runtime hold a place, and how many of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    pub all: u64,
    pub of_session: u64,
}

/// Every claim's handle is of the same sandbox: its instances are those of its session.
pub fn held(standing: &Standing, session: &str) -> Held {
    let holders: Vec<Claim<'_>> = Claim::all(standing).filter(|it| it.holds()).collect();
    let of_session = holders.iter().filter(|it| it.session() == session);
    Held {
        of_session: of_session.count() as u64,
        all: holders.len() as u64,
    }
}
