//! Laws of what is built, and what has to stand in the end. Pure.

use std::collections::BTreeSet;

use sandgate_shared::names::{self, BASELINE_POLICY, COMPONENT_SANDBOX};
use serde_json::Value;

use super::of_kind;
use super::seat::{self, Seat as _, claim_of};
use super::{bound, pods, proxy, secrets};
use crate::chaos::history::{Change, Kind, Standing, leaving, standing};

fn has_addresses(claim: &Change) -> bool {
    let addresses = claim.object.pointer("/status/addresses");
    addresses
        .and_then(Value::as_object)
        .is_some_and(|all| !all.is_empty())
}

pub fn addresses(history: &[Change]) -> Vec<(u64, String)> {
    let mut had: BTreeSet<&str> = BTreeSet::new();
    let mut found = Vec::new();
    for claim in of_kind(history, Kind::Claim) {
        if !has_addresses(claim) {
            had.remove(claim.uid());
        } else if had.insert(claim.uid())
            && !pods::one_was_ready(history, claim, claim.uid(), COMPONENT_SANDBOX)
        {
            found.push((claim.version, claim.place.2.clone()));
        }
    }
    found
}

pub fn baseline_first(history: &[Change]) -> Vec<(u64, String)> {
    let mut shut: BTreeSet<&str> = BTreeSet::new();
    let mut found = Vec::new();
    for change in history {
        let (kind, namespace, name) = &change.place;
        if *kind == Kind::Policy && name == BASELINE_POLICY {
            shut.insert(namespace);
        }
        let built = *kind == Kind::Deployment && !claim_of(change).is_empty();
        if built && !shut.contains(namespace.as_str()) {
            found.push((change.version, format!("{namespace}/{name}")));
        }
    }
    found
}

/// What has not come to its end: one sentence for each claim and object that is not as it has to be when
/// nothing happens any more. `may_fail` are claims, by namespace and name, that have a reason to.
pub fn unsettled(history: &[Change], may_fail: &[(String, String)]) -> Vec<String> {
    let now = standing(history);
    let mut told = Vec::new();
    for claim in now.values().filter(|it| it.place.0 == Kind::Claim) {
        let name = format!("{}/{}", claim.place.1, claim.place.2);
        let (phase, reason) = (claim.phase(), claim.reason());
        let said = |what: &str| format!("{name} is {phase} / {reason}, {what}");
        let doomed = may_fail.contains(&(claim.place.1.clone(), claim.place.2.clone()));
        // What would be in the way of a proxy is in nobody's where there is none.
        let unproxied = bound::binds(claim) && bound::hosts(&now, claim).is_empty();
        let settled = match phase {
            _ if claim
                .object
                .pointer("/metadata/deletionTimestamp")
                .is_some() =>
            {
                false
            }
            // One that binds a Connection may find it gone.
            "Failed" => doomed || reason.starts_with("Connection"),
            "Queued" => is_full(&now, claim),
            "Bound" => has_addresses(claim) && (!doomed || unproxied),
            "Pending" => claim.text("/spec/classRef/name") == "stuck" && claim.is_admitted(),
            _ => false,
        };
        if !settled {
            told.push(said("and may not stay so"));
        }
        if let Some(misplaced) = secrets::misplaced(&now, claim) {
            told.push(said(&misplaced));
        }
        let builds = claim.is_live() && claim.is_admitted();
        let proxy = proxy::misplaced(&now, claim, builds);
        told.extend(proxy.iter().map(|it| said(it)));
        for kind in [Kind::Deployment, Kind::Service, Kind::Policy] {
            let stands = seat::stands(&now, claim, kind, &names::sandbox(&claim.place.2));
            if stands != builds {
                told.push(said(&format!("its {kind:?} stands: {stands}")));
            }
        }
    }
    told.extend(orphans(&now));
    told.extend(left_behind(history, &now));
    told
}

/// What still stands in a namespace that was deleted.
fn left_behind(history: &[Change], now: &Standing<'_>) -> Vec<String> {
    let leaving = leaving(history);
    let left = now
        .keys()
        .filter(|place| leaving.contains_key(place.1.as_str()));
    left.map(|place| format!("{place:?} outlives its namespace"))
        .collect()
}

fn orphans(now: &Standing<'_>) -> Vec<String> {
    let claims = now.values().filter(|it| it.place.0 == Kind::Claim);
    let claims: BTreeSet<&str> = claims.map(|it| it.uid()).collect();
    let left = now.values().filter(|it| {
        let of = claim_of(it);
        it.place.0 != Kind::Claim && !of.is_empty() && !claims.contains(of)
    });
    left.map(|it| format!("{:?} belongs to no claim any more", it.place))
        .collect()
}

/// Whether a claim that waits has to.
fn is_full(now: &Standing<'_>, claim: &Change) -> bool {
    let limits = [
        ("maxConcurrent", None),
        ("maxPerSession", Some(claim.session())),
    ];
    let (namespace, runtime) = claim.runtime();
    let place = (Kind::Runtime, namespace.to_owned(), runtime.to_owned());
    limits.into_iter().any(|(field, session)| {
        let most = now.get(&place).and_then(|it| {
            let pointer = format!("/spec/sandbox/{field}");
            it.object.pointer(&pointer)?.as_u64()
        });
        let holding = seat::holding(now, claim.runtime(), session);
        most.is_some_and(|most| holding as u64 >= most)
    }) || {
        let instances = seat::holding(now, claim.runtime(), Some(claim.session()));
        claim.most().is_some_and(|most| instances as u64 >= most)
    }
}
