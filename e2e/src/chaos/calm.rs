//! The last scenes: single accidents, while nothing else fails. Does I/O.

use std::time::{Duration, Instant};

use sandgate_shared::names::BASELINE_POLICY;

use super::actors::Actors;
use super::history::{self, Change, History, Kind, Place};
use super::{LOOK_EVERY, SETTLES_WITHIN, judge};
use crate::failure::Outcome;

/// Takes the baseline policy away from a namespace with a sandbox and says how long it was away; `None`
/// if it never came back. No time if there was none.
pub async fn baseline_away(history: &mut History, actors: &Actors) -> Outcome<Option<Duration>> {
    let seen = history.so_far()?;
    let now = history::standing(&seen);
    let mut places = now.keys();
    let Some((_, namespace, _)) = places.find(|place| place.0 == Kind::Pod) else {
        return Ok(Some(Duration::ZERO));
    };
    let baseline = (Kind::Policy, namespace.clone(), BASELINE_POLICY.to_owned());
    let from = seen.len();
    strike(history, actors, &baseline, |seen| {
        let mut later = seen.iter().skip(from).filter(|it| it.place == baseline);
        let (went, came) = (later.next()?, later.next()?);
        Some(came.at.saturating_sub(went.at))
    })
    .await
}

/// The same of a proxy's Service, which has not come back before the sandbox knows where it is now.
pub async fn proxy_away(history: &mut History, actors: &Actors) -> Outcome<Option<Duration>> {
    let seen = history.so_far()?;
    let now = history::standing(&seen);
    let Some(service) = judge::proxy_service(&now) else {
        return Ok(Some(Duration::ZERO));
    };
    strike(history, actors, &service.place, |seen| {
        judge::proxy_back(seen, service)
    })
    .await
}

/// Takes an object away and looks until something is found in the history.
async fn strike(
    history: &mut History,
    actors: &Actors,
    what: &Place,
    found: impl Fn(&[Change]) -> Option<Duration>,
) -> Outcome<Option<Duration>> {
    actors.without(what).await?;
    let deadline = Instant::now() + SETTLES_WITHIN;
    let mut turn = tokio::time::interval(LOOK_EVERY);
    loop {
        turn.tick().await;
        let away = found(&history.so_far()?);
        if away.is_some() || Instant::now() >= deadline {
            return Ok(away);
        }
    }
}
