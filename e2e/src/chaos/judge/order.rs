//! The law of who comes first. Pure.

use super::admission::each_admission;
use super::seat::{self, STALE, Seat as _};
use crate::chaos::history::{Change, Kind, Standing, advance};

/// A claim that took the place of an older one that is known to wait, and that its session would have let
/// in the whole time in which a controller may have decided. Whose place is kept is not overtaken by one
/// that is merely written sooner.
pub fn overtaken(history: &[Change]) -> Vec<(u64, String)> {
    let mut found = Vec::new();
    each_admission(history, |standing, claim| {
        let waiting = standing.values().filter(|it| {
            it.place.0 == Kind::Claim
                && it.phase() == "Queued"
                && it.is_live()
                && it.runtime() == claim.runtime()
                && it.turn() < claim.turn()
                // Its own limit may hold it.
                && it.most().is_none()
        });
        let waiting: Vec<&Change> = waiting
            .copied()
            .filter(|waiter| !was_shut(history, claim, waiter))
            .collect();
        let Some(most) = seat::loosest(history, claim, "maxConcurrent") else {
            return;
        };
        let holding = seat::holding(standing, claim.runtime(), None);
        if !waiting.is_empty() && (holding + waiting.len()) as u64 > most {
            let names: Vec<&str> = waiting.iter().map(|it| it.place.2.as_str()).collect();
            let name = &claim.place.2;
            let seen = format!(
                "{name}, with {holding} of {most} in, before {}",
                names.join(", ")
            );
            found.push((claim.version, seen));
        }
    });
    found
}

/// Whether the waiter's session was full at any moment of the time before this admission.
fn was_shut(history: &[Change], claim: &Change, waiter: &Change) -> bool {
    let ceilings = seat::ceilings(history, claim, claim.runtime(), "maxPerSession");
    let Some(tightest) = ceilings.into_iter().flatten().min() else {
        return false;
    };
    let since = claim.at.saturating_sub(STALE);
    let mut standing = Standing::new();
    let before = history.iter().filter(|it| it.version < claim.version);
    let mut full = false;
    for change in before {
        if change.at > since {
            full |= is_full(&standing, waiter, tightest);
        }
        advance(&mut standing, change);
    }
    full || is_full(&standing, waiter, tightest)
}

fn is_full(standing: &Standing<'_>, waiter: &Change, most: u64) -> bool {
    seat::holding(standing, waiter.runtime(), Some(waiter.session())) as u64 >= most
}
