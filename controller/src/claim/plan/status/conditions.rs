//! The list of conditions: what stands keeps its transition time while its status does. Pure.

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};
use sandgate_shared::api::SandboxClaimStatus;

/// Longest message kept, in bytes. The API server takes 32,768; nobody reads as much.
const MAX_MESSAGE: usize = 2048;

/// The conditions of a status that is being made.
pub(super) struct Conditions<'a> {
    list: &'a mut Vec<Condition>,
    generation: Option<i64>,
    now: Timestamp,
}

impl<'a> Conditions<'a> {
    pub(super) fn of(
        status: &'a mut SandboxClaimStatus,
        generation: Option<i64>,
        now: Timestamp,
    ) -> Self {
        Self {
            list: status.conditions.get_or_insert_default(),
            generation,
            now,
        }
    }

    /// Sets a condition. The moment of transition moves only when `holds` changes.
    pub(super) fn set(&mut self, name: &str, holds: bool, reason: &str, message: &str) {
        let status = if holds { "True" } else { "False" };
        let present = self.list.iter_mut().find(|found| found.type_ == name);
        let since = present
            .as_ref()
            .filter(|found| found.status == status)
            .map_or(Time(self.now), |found| found.last_transition_time.clone());
        let next = Condition {
            type_: name.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: shortened(message).to_owned(),
            last_transition_time: since,
            observed_generation: self.generation,
        };
        match present {
            Some(present) => *present = next,
            None => self.list.push(next),
        }
    }

    /// Sets a condition only if one of this name stands.
    pub(super) fn set_if_present(&mut self, name: &str, holds: bool, reason: &str, message: &str) {
        if self.list.iter().any(|found| found.type_ == name) {
            self.set(name, holds, reason, message);
        }
    }
}

/// The longest beginning that fits, cut between characters.
fn shortened(message: &str) -> &str {
    let end = message.floor_char_boundary(MAX_MESSAGE);
    message.get(..end).unwrap_or(message)
}
