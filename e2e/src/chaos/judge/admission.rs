//! Laws of who is admitted. Pure.

use std::collections::BTreeSet;

use super::of_kind;
use super::seat::{self, Seat as _};
use crate::chaos::history::{Change, Kind, Standing, advance};

/// Calls `judge` with what stands after each change that admits a claim.
pub fn each_admission<'h>(history: &'h [Change], mut judge: impl FnMut(&Standing<'h>, &'h Change)) {
    let mut standing = Standing::new();
    for change in history {
        let before = standing.get(&change.place).copied();
        advance(&mut standing, change);
        let was = before.is_some_and(|it| it.uid() == change.uid() && it.is_admitted());
        if change.place.0 == Kind::Claim && change.is_live() && change.is_admitted() && !was {
            judge(&standing, change);
        }
    }
}

pub fn ceilings(history: &[Change]) -> Vec<(u64, String)> {
    let mut found = Vec::new();
    each_admission(history, |standing, claim| {
        for (field, session) in [
            ("maxConcurrent", None),
            ("maxPerSession", Some(claim.session())),
        ] {
            let holding = seat::holding(standing, claim.runtime(), session);
            let most = seat::loosest(history, claim, field);
            if most.is_some_and(|most| holding as u64 > most) {
                let name = &claim.place.2;
                let seen = format!("{name} was admitted as number {holding} of {most:?} ({field})");
                found.push((claim.version, seen));
            }
        }
        // Every claim of a session is of the same sandbox.
        let instances = seat::holding(standing, claim.runtime(), Some(claim.session()));
        if claim.most().is_some_and(|most| instances as u64 > most) {
            let name = &claim.place.2;
            let seen = format!("{name} was admitted as number {instances} (maxInstances)");
            found.push((claim.version, seen));
        }
    });
    found
}

pub fn built(history: &[Change]) -> Vec<(u64, String)> {
    let mut found = Vec::new();
    let mut admitted = BTreeSet::new();
    for change in history {
        let kind = change.place.0;
        if kind == Kind::Claim && change.is_admitted() {
            admitted.insert(change.uid());
        }
        let claim = seat::claim_of(change);
        let of_a_claim =
            !matches!(kind, Kind::Claim | Kind::Runtime | Kind::Connection) && !claim.is_empty();
        if of_a_claim && !admitted.contains(claim) {
            found.push((change.version, format!("{:?} for {claim}", change.place)));
        }
    }
    found
}

pub fn taken_back(history: &[Change]) -> Vec<(u64, String)> {
    let mut found = Vec::new();
    let mut admitted = BTreeSet::new();
    for change in of_kind(history, Kind::Claim) {
        if change.is_admitted() {
            admitted.insert(change.uid());
        } else if admitted.contains(change.uid()) {
            found.push((change.version, change.place.2.clone()));
        }
    }
    found
}
