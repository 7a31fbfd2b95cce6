//! What one leader has seen of one pair of policy and binding. Pure.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use sandgate_shared::trust::{Answer, Stood, Trust};
use tokio::time::Instant;

/// How often a policy that refuses is tried again (P-029).
pub(super) const EVERY: Duration = Duration::from_mins(5);
/// How soon after an answer that is not the policy's refusal it is tried again at first: an API server
/// loads a new policy within about a second, and tells nobody.
const SOON: Duration = Duration::from_millis(200);
/// The longest wait of that kind.
const LATEST: Duration = Duration::from_secs(30);

/// What was seen.
#[derive(Clone, Debug)]
pub(super) struct Session {
    /// Of which pair.
    pub stood: Stood,
    /// When its first refusal was recorded, if it was.
    pub proof: Option<Timestamp>,
    /// When the policy is to be tried again.
    pub due: Instant,
    /// The last answer.
    answer: Option<Answer>,
    /// The answer that showed the policy out of force, until it refuses again.
    passed: Option<Answer>,
    /// How many answers in a row were not its refusal.
    misses: u32,
}

impl Session {
    /// Of a pair that was just seen to stand.
    pub(super) fn of(stood: Stood, now: Instant) -> Self {
        Self {
            stood,
            proof: None,
            due: now,
            answer: None,
            passed: None,
            misses: 0,
        }
    }

    /// The policy was tried.
    pub(super) fn answered(&mut self, answer: Answer, now: Instant) {
        if answer == Answer::Ours {
            self.passed = None;
            self.misses = 0;
            self.due = now + EVERY;
        } else {
            if answer.passed_ours() {
                self.passed = Some(answer.clone());
            }
            self.due = now + pause(self.misses);
            self.misses = self.misses.saturating_add(1);
        }
        self.answer = Some(answer);
    }

    /// Whether the policy has just refused.
    pub(super) fn refuses(&self) -> bool {
        self.answer == Some(Answer::Ours)
    }

    /// What follows from it. A recorded proof counts once this leader has tried the policy itself, and
    /// whoever answers before the policy takes nothing back: only a policy that lets something through
    /// does.
    pub(super) fn trust(&self) -> Trust {
        let stood = self.stood.clone();
        match (self.proof, &self.answer, &self.passed) {
            (None, answer, _) => Trust::Unproven {
                stood,
                answered: answer.clone().filter(|answer| *answer != Answer::Ours),
            },
            (Some(_), None, _) => Trust::Unknown,
            (Some(_), Some(_), Some(answered)) => Trust::Stopped {
                stood,
                answered: answered.clone(),
            },
            (Some(proof), Some(_), None) => Trust::Proven { stood, proof },
        }
    }
}

fn pause(misses: u32) -> Duration {
    SOON.saturating_mul(2_u32.saturating_pow(misses))
        .min(LATEST)
}

#[cfg(test)]
mod tests;
