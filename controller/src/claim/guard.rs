//! Keeps the policy that shuts every sandbox of a namespace in order for as long as a claim or a
//! sandbox's pod is there: also while a claim is leaving, and after it, when its own policy is gone and
//! its pod is not (O-037). Does I/O through its parts.
//!
//! A claim that is built makes the policy itself, before anything else of its own.

use super::Reconciler;
use super::plan::{self, Outcome, RefusalClass};
use crate::kind::Kind;
use crate::queue::Next;
use crate::watch::Subject;

impl Reconciler {
    pub(super) async fn guard(&self, namespace: &str) -> Next {
        let Some(guarded) = self.gather.guarded(namespace) else {
            return Next::Settled;
        };
        let Some(intent) = plan::guard(&guarded, namespace) else {
            return Next::Settled;
        };
        let Outcome::Refused(refusal) = self.apply.carry_out(&intent).await else {
            self.metrics.healed(Kind::NetworkPolicy);
            tracing::warn!(namespace, "the baseline policy was put back in order");
            return Next::Settled;
        };
        if refusal.class(&self.settings.operator_username) == RefusalClass::NamespaceTerminating {
            return Next::Settled;
        }
        tracing::warn!(
            namespace,
            refusal = refusal.message,
            "the baseline policy could not be put back in order"
        );
        // Each claim that is looked after says so in its status.
        for claim in self.watches.index.claims_in(namespace) {
            self.watches.queue.push(Subject::Claim(claim));
        }
        Next::Retry
    }
}
