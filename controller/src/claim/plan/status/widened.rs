//! Policies that open the sandbox's pod beyond what its own policy opens (O-040). Pure.

use std::collections::BTreeSet;

use kube::ResourceExt as _;
use sandgate_shared::{
    names,
    reason::{self, condition},
};

use super::{Report, conditions::Conditions};
use crate::claim::{
    observed::{ObjectKind, Widening},
    plan::{Outcome, lineage},
};

/// Most policies that are named.
const MAX_NAMED: usize = 10;

impl Report<'_> {
    /// Names the policies that widen. What is said changes only with them, so that it is one write and
    /// one Event a change.
    pub(super) fn note_widening(&self, conditions: &mut Conditions<'_>) {
        let widenings = self.widenings();
        if widenings.is_empty() {
            return note_nothing(conditions);
        }
        let named = widenings.iter().take(MAX_NAMED);
        let named: Vec<_> = named
            .map(|widening| format!("{} ({})", widening.policy, widening.opens))
            .collect();
        let more = match widenings.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let message = format!(
            "the sandbox's pod is open beyond its class, by NetworkPolicy {}{more}. Unless that is meant, delete \
             what is not the operator's, or have its podSelector leave the pod out",
            named.join(", ")
        );
        let (name, reason) = (
            condition::NETWORK_POLICY_WIDENED,
            reason::NETWORK_POLICY_WIDENED,
        );
        conditions.set(name, true, reason, &message);
    }

    /// In order of their names, once for all pods.
    fn widenings(&self) -> BTreeSet<Widening> {
        let mended = !self.baseline_is_open();
        let pods = lineage::pods(self.observed, self.deployment()).filter(|pod| !pod.finished);
        let others = pods.flat_map(|pod| &pod.opened_by);
        let others = others.filter(|it| !(mended && it.policy == names::BASELINE_POLICY));
        others.cloned().chain(self.own_edit()).collect()
    }

    /// Whether the baseline policy could not be put right.
    fn baseline_is_open(&self) -> bool {
        let tried = self.outcome(ObjectKind::Baseline);
        let refused = self.observed.memory.refusal.as_ref();
        let refused = refused.is_some_and(|past| past.kind == ObjectKind::Baseline);
        tried.map_or(refused, |outcome| outcome.stored().is_none())
    }

    /// A stranger's edit of the claim's own policy that is left for a while.
    fn own_edit(&self) -> Option<Widening> {
        let kind = ObjectKind::NetworkPolicy;
        let held = self.observed.memory.held.get(&kind)?;
        let live = self.observed.policy.as_ref();
        let stands = live.is_some_and(|live| live.digest == held.digest)
            || matches!(self.outcome(kind), Some(Outcome::HeldBack(_)));
        (stands && held.opens).then(|| Widening {
            policy: names::sandbox(&self.observed.claim.name_any()),
            opens: "the claim's own, which somebody edits again and again".to_owned(),
        })
    }
}

/// No policy widens, or none can: what was said before is taken back.
pub(super) fn note_nothing(conditions: &mut Conditions<'_>) {
    let message = "no NetworkPolicy opens the sandbox's pod beyond its class";
    let (name, reason) = (
        condition::NETWORK_POLICY_WIDENED,
        reason::NETWORK_POLICY_NOT_WIDENED,
    );
    conditions.set_if_present(name, false, reason, message);
}
