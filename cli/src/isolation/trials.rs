//! Carries out scenarios. Does I/O.

mod callers;
mod disturbed;
mod endings;
mod fresh;

use super::assemble::Trial;
use super::disturb::Disturb;
use super::ending::Watched;
use super::evidence::Sighting;
use super::ingress::{Caller, Door};
use super::scenario::{Ending, Kind, Scenario};
use super::scene::{Scene, asked};
use super::trouble::Trouble;

/// What was gathered in a scenario, as it goes: what is there when trouble comes stays.
#[derive(Default)]
struct Notes {
    sandboxes: Vec<Sighting>,
    callers: Vec<(Caller, Sighting)>,
    doors: Vec<Door>,
    watched: Watched,
}

/// Carries out one scenario; trouble becomes part of what is gathered.
pub async fn carry_out(
    scene: &Scene<'_>,
    scenario: &'static Scenario,
    parallel: usize,
    disturb: &dyn Disturb,
) -> Trial {
    let mut notes = Notes::default();
    let done = match scenario.kind {
        Kind::Egress(_) => fresh::one(scene, scenario, &mut notes).await,
        Kind::Parallel => fresh::many(scene, scenario, parallel, &mut notes).await,
        Kind::Restart => fresh::restarted(scene, scenario, &mut notes).await,
        Kind::Ingress => callers::call(scene, scenario, &mut notes).await,
        Kind::Ending(Ending::Policy) => endings::without_policy(scene, scenario, &mut notes).await,
        Kind::Ending(ending) => endings::end(scene, scenario, ending, &mut notes).await,
        Kind::Disturbed(action) => {
            disturbed::disturb(scene, scenario, action, disturb, &mut notes).await
        }
        Kind::AddressReuse => disturbed::reuse(scene, scenario, disturb, &mut notes).await,
    };
    trial(scenario, notes, done.err())
}

/// A scenario that is not tried, and why.
pub fn left_out(scenario: &'static Scenario, why: &str) -> Trial {
    let mut trial = trial(scenario, Notes::default(), None);
    trial.trouble = Some(why.to_owned());
    trial
}

fn trial(scenario: &'static Scenario, notes: Notes, trouble: Option<Trouble>) -> Trial {
    Trial {
        scenario,
        trouble: trouble.map(|trouble| trouble.to_string()),
        sandboxes: notes.sandboxes,
        callers: notes.callers,
        doors: notes.doors,
        watched: notes.watched,
        asked: asked(scenario.read_only_root()),
    }
}
