//! What is known of policy, binding and proof, and what that says about a claim. Pure.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

use super::{Answer, Distrust, Stood};

/// What is known of policy, binding and proof.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Nothing yet.
    #[default]
    Unknown,
    /// They could not be read; the text says why.
    Unread(String),
    /// They are absent, and the policy of another version of this release stands: its operator is on
    /// its way out or in, and will decide (P-030).
    Held {
        /// Name of that policy.
        sibling: String,
    },
    /// They are absent or not as they have to be.
    Broken(Distrust),
    /// They stand as rendered, and the policy has not been seen to refuse anything yet.
    Unproven {
        /// What stands.
        stood: Stood,
        /// The last answer that was not the policy's refusal.
        answered: Option<Answer>,
    },
    /// They stand and the proof is recorded, but lately the policy let through what it should have
    /// refused: nothing is verified until it refuses again (P-029).
    Stopped {
        /// What stands.
        stood: Stood,
        /// Who answered instead.
        answered: Answer,
    },
    /// They stand, and the policy refused.
    Proven {
        /// What stands.
        stood: Stood,
        /// When the first refusal was recorded.
        proof: Timestamp,
    },
}

/// What is known about who wrote a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nobody but the operator can have.
    Verified,
    /// It is not known yet; the text says what is awaited.
    Awaited(String),
    /// It can never be known; the text says why.
    Unprovable(String),
}

impl Trust {
    /// Policy and binding, if they stand as they have to.
    pub fn stood(&self) -> Option<&Stood> {
        match self {
            Self::Unproven { stood, .. }
            | Self::Stopped { stood, .. }
            | Self::Proven { stood, .. } => Some(stood),
            Self::Unknown | Self::Unread(_) | Self::Held { .. } | Self::Broken(_) => None,
        }
    }

    /// Judges a claim by the moment of its creation. `grace` counts from the latest of the creations of
    /// policy, binding and proof; only a claim created after that moment is provable, not at it (P-013).
    pub fn about(&self, created: Timestamp, grace: Duration) -> Verdict {
        match self {
            Self::Unknown => Verdict::Awaited(
                "the operator is still finding out whether its admission policy is in force"
                    .to_owned(),
            ),
            Self::Unread(why) => Verdict::Awaited(format!(
                "the operator could not read its admission policy and tries again: {why}"
            )),
            Self::Held { sibling } => Verdict::Awaited(format!(
                "the release is being upgraded, and ValidatingAdmissionPolicy {sibling} is another version's; the operator of the version that stays decides"
            )),
            Self::Broken(why) => Verdict::Unprovable(why.to_string()),
            Self::Unproven { stood, .. } if created < stood.since => {
                Verdict::Unprovable(too_early(created, stood.since, Duration::ZERO))
            }
            Self::Unproven { answered, .. } => Verdict::Awaited(match answered {
                None => "the operator's admission policy has not been seen at work yet; it is tried by dry run".to_owned(),
                Some(answer) => format!(
                    "the operator's admission policy has not been seen at work: {answer}; it is tried again by itself"
                ),
            }),
            Self::Stopped { answered, .. } => Verdict::Awaited(format!(
                "the operator's admission policy does not refuse what it has to: {answered}; it is tried again by itself"
            )),
            Self::Proven { stood, proof } => {
                let since = stood.since.max(*proof);
                if is_after(created, since, grace) {
                    Verdict::Verified
                } else {
                    Verdict::Unprovable(too_early(created, since, grace))
                }
            }
        }
    }

    /// The same, once policy and binding were read anew: what was proved of one pair says nothing of
    /// another.
    #[must_use]
    pub fn confirmed_by(self, live: Result<Stood, Self>) -> Self {
        match (self, live) {
            (_, Err(anew)) => anew,
            (
                Self::Proven { stood, .. }
                | Self::Unproven { stood, .. }
                | Self::Stopped { stood, .. },
                Ok(live),
            ) if stood != live => Self::Unknown,
            (Self::Broken(_) | Self::Held { .. }, Ok(_)) => Self::Unknown,
            (known, Ok(_)) => known,
        }
    }
}

/// Whether `created` is more than `grace` after `since`. A moment too far off to be told is not.
fn is_after(created: Timestamp, since: Timestamp, grace: Duration) -> bool {
    since
        .checked_add(grace)
        .is_ok_and(|provable| created > provable)
}

fn too_early(created: Timestamp, since: Timestamp, grace: Duration) -> String {
    let grace = grace.as_secs();
    let least = if grace == 0 {
        String::new()
    } else {
        format!(" more than {grace} s")
    };
    format!(
        "it was created at {created}, and only one created{least} after {since}, when the operator's admission policy came into force, is known to be the operator's; ask for the sandbox again"
    )
}
