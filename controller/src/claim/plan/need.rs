//! Whether one of the claim's objects needs a request now. Pure.

use k8s_openapi::jiff::Timestamp;

use super::{Action, LiveRef, connected::Connected, intent::Sealed};
use crate::claim::observed::{AppliedRecord, LiveObject, ObjectKind, Observed};

/// What an object needs.
pub(super) enum Need {
    /// No request.
    Nothing,
    /// Nothing before this moment: a stranger's edit is left for a while (O-040).
    Held(Timestamp),
    /// This.
    Write(Action),
}

/// What the object needs for what was sealed.
pub(super) fn needed(
    observed: &Observed,
    connected: &Connected<'_>,
    sealed: &Sealed,
    now: Timestamp,
) -> Need {
    let Some(live) = observed.live(sealed.kind) else {
        return Need::Write(Action::Create);
    };
    let pinned = sealed.kind.runs_pods();
    if connected.differ_from(sealed.kind, live) {
        return Need::Write(Action::Update(LiveRef::of(live)));
    }
    let held = observed.memory.held.get(&sealed.kind);
    let held = held.filter(|held| held.digest == live.digest && held.until > now);
    if let Some(held) = held.filter(|_| !sealed.is_change_of_ours(observed)) {
        return Need::Held(held.until);
    }
    let same_intent = live.intent.as_deref() == Some(sealed.hash.as_str());
    let target = LiveRef::of(live);
    let known = untouched(observed, sealed.kind, live);
    // Certain when this very process wrote it last. A record of an earlier process may be older
    // than its last write: then an annotation that names another intent is a change of ours.
    let edited = known == Some(false) && wrote_here(observed, sealed.kind, live);
    let current = same_intent || pinned;
    match known {
        Some(true) if current => Need::Nothing,
        Some(false) | None if current || edited => Need::Write(Action::Verify(target)),
        _ => Need::Write(Action::Update(target)),
    }
}

fn record<'a>(
    observed: &'a Observed,
    kind: ObjectKind,
    live: &LiveObject,
) -> Option<&'a AppliedRecord> {
    let record = observed.memory.applied.get(&kind).map(AsRef::as_ref);
    record.filter(|record| record.uid == live.uid)
}

/// Whether the object is as we last wrote it; `None` when that is not known.
pub(super) fn untouched(observed: &Observed, kind: ObjectKind, live: &LiveObject) -> Option<bool> {
    record(observed, kind, live).map(|record| record.digest == live.digest)
}

fn wrote_here(observed: &Observed, kind: ObjectKind, live: &LiveObject) -> bool {
    record(observed, kind, live).is_some_and(|record| record.intent.is_some())
}
