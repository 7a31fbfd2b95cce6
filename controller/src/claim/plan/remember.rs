//! What is remembered of a plan that was carried out. Pure.

use k8s_openapi::jiff::Timestamp;

use super::strangers::strangers;
use super::{Applied, Outcome, Plan, Verdict};
use crate::claim::observed::{AppliedRecord, Memory, PastHeal};

impl Memory {
    /// Takes in what apply did at `now`. To be called once after each apply, with the plan that was
    /// applied.
    pub fn record(&mut self, plan: &Plan, applied: &Applied, now: Timestamp) {
        self.forget_old(now);
        self.strangers = strangers(plan, applied, now).or(self.strangers.take());
        if matches!(plan.verdict, Verdict::Build(_)) {
            // What goes because it is not needed was taken away by nobody.
            for deletion in &plan.delete {
                self.applied.remove(&deletion.kind);
            }
        }
        for (kind, outcome) in &applied.outcomes {
            let intent = plan.ensure.iter().find(|intent| intent.kind == *kind);
            let hash = intent.map(|intent| intent.hash.clone());
            if let Some(stored) = outcome.stored() {
                let record = AppliedRecord {
                    uid: stored.uid.clone(),
                    digest: stored.digest.clone(),
                    intent: hash.clone(),
                };
                self.applied.insert(*kind, Box::new(record));
                if self.refusal.as_ref().is_some_and(|past| past.kind == *kind) {
                    self.refusal = None;
                }
            }
            match outcome {
                Outcome::Healed { paths, .. } => {
                    self.heals.extend(paths.iter().map(|path| PastHeal {
                        kind: *kind,
                        path: path.clone(),
                        at: now,
                    }));
                }
                Outcome::HeldBack(held) => {
                    self.held.insert(*kind, held.clone());
                }
                Outcome::Refused(refusal) => {
                    self.remember_refusal(*kind, hash.unwrap_or_default(), refusal, now);
                }
                Outcome::Created(_)
                | Outcome::Updated(_)
                | Outcome::Unchanged(_)
                | Outcome::LeftOver
                | Outcome::Conflict => {}
            }
        }
    }
}
