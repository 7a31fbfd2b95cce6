//! What follows from what stands: write, wait, or only tell, and everything told once. Pure.

use std::time::Duration;

use sandgate_shared::reason;
use tokio::time::Instant;

use super::compare::{Difference, Standing};
use super::pace::{Pace, Turn};

/// How long a configuration of another version is left alone. An upgrade replaces the leader well
/// before; one that hangs leaves the old version to answer, and its rules ought to stand.
pub(super) const OTHER_VERSION: Duration = Duration::from_mins(10);
/// Before each further heal of what is changed back again and again.
const REST: Duration = Duration::from_mins(5);

/// Longest list of differences in a note, in bytes.
const MAX_LISTED: usize = 700;

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// Nothing.
    Leave,
    /// Nothing before so long.
    Wait(Duration),
    /// Put these right.
    Heal(Vec<Difference>),
}

/// What people ought to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// There is no such configuration.
    Missing,
    /// It is another version's, by this mark.
    OtherVersion(String),
    /// Somebody changes it back: it is left for a while.
    BackedOff(Vec<Difference>),
}

impl News {
    /// Reason of the Event.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Missing => reason::WEBHOOK_CONFIGURATION_MISSING,
            Self::OtherVersion(_) => reason::WEBHOOK_CONFIGURATION_REPLACED,
            Self::BackedOff(_) => reason::HEAL_BACKED_OFF,
        }
    }

    fn says_the_same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::BackedOff(_), Self::BackedOff(_)) => true,
            _ => self == other,
        }
    }

    /// What it says. `name`: what the configuration is called.
    pub(super) fn note(&self, name: &str) -> String {
        match self {
            Self::Missing => format!(
                "{name} is gone: Sandgate's webhook is not asked about what it names, only CRD rules \
                 and the policy judge; it is left to whoever installed it, so install the chart again"
            ),
            Self::OtherVersion(mark) => format!(
                "{name} holds the rules of another version of Sandgate ({mark:?}); it is left to that \
                 version's controller for {} minutes",
                OTHER_VERSION.as_secs() / 60
            ),
            Self::BackedOff(differences) => format!(
                "{name} was put right {} times and changed back each time, so it is put right every \
                 {} minutes only; find out who changes it: {}",
                super::pace::AT_ONCE,
                REST.as_secs() / 60,
                noted(differences)
            ),
        }
    }
}

/// Differences in one line.
pub(super) fn listed(differences: &[Difference]) -> String {
    let all: Vec<String> = differences.iter().map(Difference::to_string).collect();
    all.join("; ")
}

/// The same as far as a note has room for it: at least every path.
pub(super) fn noted(differences: &[Difference]) -> String {
    let listed = listed(differences);
    if listed.len() <= MAX_LISTED {
        return listed;
    }
    let paths: Vec<&str> = differences.iter().map(|it| it.path.as_str()).collect();
    format!("{}; the controller's log has the values", paths.join(", "))
}

/// What is remembered of one configuration during a term.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    pace: Pace,
    other: Option<(String, Instant)>,
    told: Option<News>,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            pace: Pace::new(REST),
            other: None,
            told: None,
        }
    }
}

impl Memory {
    /// Decides, and says what is news.
    pub(super) fn decide(&mut self, standing: &Standing, now: Instant) -> (Decision, Option<News>) {
        let (decision, news) = match standing {
            Standing::Absent => (Decision::Leave, Some(News::Missing)),
            Standing::Sound => (Decision::Leave, None),
            Standing::OtherVersion { mark, differences } => {
                let left = self.left_to_other(mark, now);
                if left.is_zero() {
                    self.heal(differences, now)
                } else {
                    let news = News::OtherVersion(mark.clone());
                    (Decision::Wait(left), Some(news))
                }
            }
            Standing::Altered(differences) => self.heal(differences, now),
        };
        if !matches!(standing, Standing::OtherVersion { .. }) {
            self.other = None;
        }
        let told = self.told.as_ref();
        let fresh = news
            .clone()
            .filter(|new| !told.is_some_and(|told| told.says_the_same_as(new)));
        // Between two heals of a quarrel it stands well for a moment, which is no end of it.
        if news.is_some() || (*standing == Standing::Sound && self.pace.is_calm(now)) {
            self.told = news;
        }
        (decision, fresh)
    }

    /// Takes note of a heal.
    pub(super) fn healed(&mut self, now: Instant) {
        self.pace.healed(now);
    }

    fn heal(&mut self, differences: &[Difference], now: Instant) -> (Decision, Option<News>) {
        match self.pace.turn(now) {
            Turn::Heal => (Decision::Heal(differences.to_vec()), None),
            Turn::Rest(left) => {
                let news = News::BackedOff(differences.to_vec());
                (Decision::Wait(left), Some(news))
            }
        }
    }

    /// How long a configuration with this mark is still another version's.
    fn left_to_other(&mut self, mark: &str, now: Instant) -> Duration {
        let since = match &self.other {
            Some((seen, since)) if seen == mark => *since,
            _ => {
                self.other = Some((mark.to_owned(), now));
                now
            }
        };
        OTHER_VERSION.saturating_sub(now.saturating_duration_since(since))
    }
}

#[cfg(test)]
mod tests;
