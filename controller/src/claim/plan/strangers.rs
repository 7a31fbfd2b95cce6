//! What strangers did to the claim's objects and what became of it, in words (O-040). Pure.

use k8s_openapi::jiff::Timestamp;
use sandgate_shared::reason;

use super::{Applied, Finding, Outcome, Plan, Verdict};
use crate::claim::observed::ObjectKind;

/// What is to be said of strangers after a plan was carried out; `None` if none showed.
pub(super) fn strangers(plan: &Plan, applied: &Applied, now: Timestamp) -> Option<Finding> {
    let mut healed = Vec::new();
    let mut held = Vec::new();
    for (kind, outcome) in &applied.outcomes {
        let name = if kind.is_of_proxy() {
            kind.described()
        } else {
            kind.as_str().to_owned()
        };
        let anew = origin(plan, *kind, outcome);
        match outcome {
            Outcome::Healed { paths, .. } => {
                healed.push(format!("{name} {}{anew}", paths.join(", ")));
            }
            Outcome::Created(_) if stood_before(plan, *kind) => {
                healed.push(format!("{name} was deleted and is made again{anew}"));
            }
            Outcome::HeldBack(edit) => {
                let until = whole_second(edit.until);
                held.push(format!("{name} {} until {until}", edit.paths.join(", ")));
            }
            _ => {}
        }
    }
    if !held.is_empty() {
        return Some(Finding {
            reason: reason::HEAL_BACKED_OFF,
            message: format!(
                "somebody changes this again and again, so it is left for a while: {}",
                held.join("; "),
            ),
        });
    }
    (!healed.is_empty()).then(|| Finding {
        reason: reason::HEALED,
        message: format!(
            "somebody changed the sandbox's objects; put back at {}: {}",
            whole_second(now),
            healed.join("; "),
        ),
    })
}

/// Says when a Deployment could not be put back as it was (C-034).
fn origin(plan: &Plan, kind: ObjectKind, outcome: &Outcome) -> &'static str {
    let anew = matches!(&plan.verdict, Verdict::Build(build) if build.rerendered);
    if anew && kind == ObjectKind::Deployment && outcome.wrote_spec() {
        " (from its class as that is now, which differs from what it was first built from)"
    } else {
        ""
    }
}

/// Whether we had written this object before, so that its absence is a stranger's deed.
fn stood_before(plan: &Plan, kind: ObjectKind) -> bool {
    let mut intents = plan.ensure.iter();
    intents.any(|intent| intent.kind == kind && intent.known_uid.is_some())
}

fn whole_second(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}
