//! Laws of who is admitted. Pure.

use std::collections::BTreeSet;

use super::of_kind;
use super::seat::{self, STALE, Seat as _};
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
        let instances = instances(history, standing, claim);
        if claim.most().is_some_and(|most| instances > most) {
            let name = &claim.place.2;
            let seen = format!("{name} was admitted as number {instances} (maxInstances)");
            found.push((claim.version, seen));
        }
    });
    found
}

/// How many of the claim's sandbox its session has, which is all of its session's claims. One that has no such
/// limit takes a place that may have been promised, so it counts once everybody knows of it.
fn instances(history: &[Change], standing: &Standing<'_>, claim: &Change) -> u64 {
    let since = claim.at.saturating_sub(STALE);
    let known = |it: &Change| {
        let mut versions = of_kind(history, Kind::Claim).filter(|other| other.uid() == it.uid());
        versions.any(|it| it.is_admitted() && it.at <= since)
    };
    let holders = standing.values().filter(|it| it.place.0 == Kind::Claim);
    let holders = holders
        .filter(|it| it.is_live() && it.is_admitted())
        .filter(|it| it.runtime() == claim.runtime() && it.session() == claim.session());
    let counted = holders.filter(|it| it.uid() == claim.uid() || it.most().is_some() || known(it));
    counted.count() as u64
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
