//! From what was gathered to the report. Pure.

mod cells;

use std::time::Duration;

use super::destination::Destination;
use super::ending::{self, Watched};
use super::evidence::{Evidence, Sighting};
use super::hardening::{self, Asked};
use super::ingress::{Caller, Door};
use super::ledger::Ledger;
use super::report::{Cluster, Counts, Ended, Hardened, Report, Tried, VERSION};
use super::scenario::{Expected, Kind, Scenario};
use super::verdict::{Outcome, Witness};

/// What was gathered in one scenario.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Which.
    pub scenario: &'static Scenario,
    /// What kept it from being carried out to its end.
    pub trouble: Option<String>,
    /// What its sandboxes did and saw.
    pub sandboxes: Vec<Sighting>,
    /// What its callers did and saw.
    pub callers: Vec<(Caller, Sighting)>,
    /// The doors they dialled.
    pub doors: Vec<Door>,
    /// What was watched of an ending.
    pub watched: Watched,
    /// What the class of its sandboxes asks for.
    pub asked: Asked,
}

/// What was gathered in a run.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// When it began (RFC 3339).
    pub began: String,
    /// How long it took.
    pub seconds: f64,
    /// Where.
    pub cluster: Cluster,
    /// What was different from the usual.
    pub variant: Option<String>,
    /// Whether a run with unmeasured cells may pass.
    pub allow_unmeasured: bool,
    /// How long each sandbox dialled.
    pub period: Duration,
    /// All destinations.
    pub destinations: Vec<Destination>,
    /// The witness, before and after all scenarios.
    pub witnesses: [Sighting; 2],
    /// What arrived at receivers.
    pub ledger: Ledger,
    /// The scenarios.
    pub trials: Vec<Trial>,
}

/// Judges everything.
pub fn assemble(gathered: &Gathered) -> Report {
    let mut cells = Vec::new();
    let mut endings = Vec::new();
    let mut hardening = Vec::new();
    for trial in &gathered.trials {
        match trial.scenario.kind {
            Kind::Ingress => cells.extend(cells::ingress(trial)),
            Kind::Ending(_) => endings.push(ended(gathered, trial)),
            _ => cells.extend(cells::egress(gathered, trial)),
        }
        hardening.extend(hardened(trial));
    }
    let counts = Counts::of(&cells, &endings, &hardening);
    Report {
        version: VERSION,
        began: gathered.began.clone(),
        seconds: gathered.seconds,
        cluster: gathered.cluster.clone(),
        variant: gathered.variant.clone(),
        passed: counts.pass(gathered.allow_unmeasured),
        sentence: if nothing_enforces(gathered) {
            NOTHING_ENFORCES.to_owned()
        } else {
            counts.sentence(gathered.allow_unmeasured)
        },
        counts,
        scenarios: gathered.trials.iter().map(tried).collect(),
        cells,
        endings,
        hardening,
    }
}

const NOTHING_ENFORCES: &str = "Nothing here enforces NetworkPolicies: sandboxes reach everything; install a network plugin that does, such as Calico, Cilium or kube-network-policies.";

fn nothing_enforces(gathered: &Gathered) -> bool {
    let mut trials = gathered.trials.iter();
    trials.any(|trial| unenforced(trial, &gathered.destinations, gathered.period))
}

/// Whether, in this trial of a fresh sandbox, everything that should be shut was open to the end:
/// then nothing enforces policies here at all, and trying on is pointless.
pub fn unenforced(trial: &Trial, destinations: &[Destination], period: Duration) -> bool {
    if !matches!(trial.scenario.kind, Kind::Egress(_)) {
        return false;
    }
    let late = period.as_secs_f64() * 1000.0 * 0.8;
    let mut shut = destinations
        .iter()
        .filter(|row| {
            row.logged && row.target.is_ok() && trial.scenario.expects(row) == Expected::Shut
        })
        .map(|row| Evidence::gather(&trial.sandboxes, &row.label, false, &Ledger::default()))
        .filter(|evidence| evidence.pods > 0)
        .peekable();
    shut.peek().is_some()
        && shut.all(|evidence| evidence.last_reached_ms.is_some_and(|last| last >= late))
}

fn tried(trial: &Trial) -> Tried {
    Tried {
        id: trial.scenario.id.to_owned(),
        title: trial.scenario.title.to_owned(),
        about: trial.scenario.about.to_owned(),
        trouble: trial.trouble.clone(),
    }
}

/// Whether the witness got through, before and after: what it lost on the way is no proof.
fn witness(gathered: &Gathered, row: &Destination) -> Witness {
    if let (true, Some(why)) = (row.logged, &gathered.ledger.missing) {
        return Err(why.clone());
    }
    let label = &row.label;
    for (sighting, when) in gathered.witnesses.iter().zip(["before", "after"]) {
        match sighting.of(label) {
            Some(dialled) if dialled.answers > 0 => {}
            Some(dialled) => {
                let error = dialled.last_error.as_deref().unwrap_or("no answer");
                return Err(format!(
                    "the unpoliced pod did not get through {when} the run ({error})"
                ));
            }
            None => {
                return Err(format!(
                    "the unpoliced pod said nothing of it {when} the run"
                ));
            }
        }
    }
    Ok(())
}

fn ended(gathered: &Gathered, trial: &Trial) -> Ended {
    let (Kind::Ending(how), Some(sighting)) = (trial.scenario.kind, trial.sandboxes.first()) else {
        let trouble = trial.trouble.as_deref().unwrap_or("no sandbox was made");
        return ending::unmeasured(trial.scenario, trouble);
    };
    let mut ended = ending::judge(
        trial.scenario,
        how,
        sighting,
        trial.watched,
        &gathered.destinations,
        &gathered.ledger,
        |row| witness(gathered, row),
    );
    if let Some(trouble) = &trial.trouble
        && ended.outcome != Outcome::Leak
    {
        ended.outcome = Outcome::Unmeasured;
        ended.reason = Some(trouble.clone());
    }
    ended
}

/// Of each scenario one sandbox tells, where it was told to.
fn hardened(trial: &Trial) -> Option<Hardened> {
    if !trial.scenario.looks_at_itself() || trial.sandboxes.is_empty() {
        return None;
    }
    let seen = trial
        .sandboxes
        .iter()
        .find_map(|sighting| sighting.hardening.as_ref());
    Some(Hardened {
        scenario: trial.scenario.id.to_owned(),
        checks: seen.map_or_else(Vec::new, |seen| hardening::judge(seen, &trial.asked)),
    })
}

#[cfg(test)]
pub(crate) mod tests;
