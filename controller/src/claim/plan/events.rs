//! The Events that a change of status is worth: one for each change a person would want to hear of,
//! at most two from creation to `Bound`. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use sandgate_shared::{
    api::{ClaimPhase, SandboxClaimStatus},
    reason::{self, condition},
};

use super::{Applied, EventDraft, Outcome, Plan, Verdict};
use crate::claim::observed::ObjectKind;

/// Longest note, in bytes: the API server takes 1,024.
const MAX_NOTE: usize = 1000;

/// Reasons of a claim that is well, or waits as it should.
const GOOD: [&str; 6] = [
    reason::SANDBOX_STARTING,
    reason::SANDBOX_READY,
    reason::CEILING_REACHED,
    reason::SESSION_LIMIT_REACHED,
    reason::INSTANCE_LIMIT_REACHED,
    reason::PREVIOUS_OBJECTS_REMAIN,
];

/// The Events between two statuses.
pub(super) fn events(before: &SandboxClaimStatus, after: &SandboxClaimStatus) -> Vec<EventDraft> {
    let mut drafts = Vec::new();
    if let Some(ready) = find(after, condition::READY) {
        let told = find(before, condition::READY).map(|old| old.reason.as_str());
        let moved = told != Some(ready.reason.as_str());
        let reason = known(&ready.reason);
        if moved {
            drafts.extend(reason.map(|reason| EventDraft {
                warning: !GOOD.contains(&reason),
                reason,
                action: action(after.phase),
                note: note(&ready.message),
            }));
        }
    }
    for (name, bad, what) in [
        (condition::SANDBOX_MODIFIED, "True", "Heal"),
        (condition::ALLOWED_SERVICES_RESOLVED, "False", "OpenEgress"),
        (condition::OBJECTS_CURRENT, "False", "Write"),
        (condition::CONNECTIONS_CURRENT, "False", "Revoke"),
        (condition::NETWORK_POLICY_WIDENED, "True", "Isolate"),
        (condition::EGRESS_PROXY_READY, "False", "OpenEgress"),
        (condition::INSECURE_EGRESS_TEST_HOSTS, "True", "OpenEgress"),
    ] {
        let news = find(after, name).filter(|new| new.status == bad);
        let told = find(before, name).filter(|old| old.status == bad);
        let Some(new) = news.filter(|new| told.map(|old| &old.message) != Some(&new.message))
        else {
            continue;
        };
        drafts.extend(known(&new.reason).map(|reason| EventDraft {
            warning: true,
            reason,
            action: what,
            note: note(&new.message),
        }));
    }
    drafts.extend(isolated_again(before, after));
    drafts
}

/// The sandbox was started anew for another address of its egress proxy.
pub(super) fn moved(plan: &Plan, applied: &Applied) -> Option<EventDraft> {
    let Verdict::Build(build) = &plan.verdict else {
        return None;
    };
    let (from, to) = build.proxy.as_ref()?.moved.as_ref()?;
    let mut outcomes = applied.outcomes.iter();
    let (_, outcome) = outcomes.find(|(kind, _)| *kind == ObjectKind::Deployment)?;
    matches!(outcome, Outcome::Updated(_)).then(|| EventDraft {
        warning: true,
        reason: reason::EGRESS_PROXY_MOVED,
        action: "Build",
        note: note(&format!(
            "the Service of the sandbox's egress proxy was made anew and answers at {to} instead of {from}, so the sandbox is started anew to know it"
        )),
    })
}

/// The end of a breach is worth an Event, too: whoever was woken by its beginning waits for it.
fn isolated_again(before: &SandboxClaimStatus, after: &SandboxClaimStatus) -> Option<EventDraft> {
    let name = condition::NETWORK_POLICY_WIDENED;
    let told = find(before, name).is_some_and(|old| old.status == "True");
    let over = find(after, name).filter(|new| told && new.status == "False")?;
    Some(EventDraft {
        warning: false,
        reason: known(&over.reason)?,
        action: "Isolate",
        note: note(&over.message),
    })
}

fn action(phase: Option<ClaimPhase>) -> &'static str {
    match phase {
        Some(ClaimPhase::Bound) => "Bind",
        Some(ClaimPhase::Failed) => "Fail",
        Some(ClaimPhase::Queued) => "Queue",
        _ => "Build",
    }
}

fn find<'a>(status: &'a SandboxClaimStatus, name: &str) -> Option<&'a Condition> {
    let mut all = status.conditions.iter().flatten();
    all.find(|found| found.type_ == name)
}

/// The registered reason of these letters: an Event never carries words from elsewhere.
fn known(reason: &str) -> Option<&'static str> {
    let mut all = reason::CLAIM.iter();
    all.find(|registered| **registered == reason).copied()
}

/// A message as an Event may carry it.
pub(crate) fn note(message: &str) -> String {
    let end = message.floor_char_boundary(MAX_NOTE);
    message.get(..end).unwrap_or(message).to_owned()
}
