//! The law of who comes first. Pure.

use super::admission::each_admission;
use super::seat::{self, STALE, Seat as _};
use crate::chaos::history::{Change, Kind, Standing, advance};

/// A claim that took the place of an older one which was in the same line the whole time in which a
/// controller may have decided. A place is promised some time before that is written: who comes to the line
/// meanwhile, or is only then known to be the operator's, was not overtaken, nor was one whose own place is
/// kept while another's is written sooner.
pub fn overtaken(history: &[Change]) -> Vec<(u64, String)> {
    let mut found = Vec::new();
    each_admission(history, |standing, claim| {
        for (field, session) in [
            ("maxConcurrent", None),
            ("maxPerSession", Some(claim.session())),
        ] {
            let Some(most) = seat::loosest(history, claim, field) else {
                continue;
            };
            let older = standing.values().filter(|it| {
                it.place.0 == Kind::Claim
                    && it.turn() < claim.turn()
                    && it.runtime() == claim.runtime()
                    && session.is_none_or(|session| it.session() == session)
                    // Its own limit may hold it.
                    && it.most().is_none()
            });
            // Whom his session holds up waits in no other's line.
            let room = session
                .is_none()
                .then(|| tightest(history, claim))
                .flatten();
            let waiting: Vec<&str> = older
                .filter(|it| throughout(history, claim, |now| waits(now, it, room)))
                .map(|it| it.place.2.as_str())
                .collect();
            let holding = seat::holding(standing, claim.runtime(), session);
            if !waiting.is_empty() && (holding + waiting.len()) as u64 > most {
                let (name, waiting) = (&claim.place.2, waiting.join(", "));
                let seen =
                    format!("{name}, with {holding} of {most} in ({field}), before {waiting}");
                found.push((claim.version, seen));
            }
        }
    });
    found
}

/// The least that sessions were allowed in the time before this admission.
fn tightest(history: &[Change], claim: &Change) -> Option<u64> {
    let ceilings = seat::ceilings(history, claim, claim.runtime(), "maxPerSession");
    ceilings.into_iter().flatten().min()
}

/// Whether a claim is in line at this moment, and its session has `room` for it.
fn waits(now: &Standing<'_>, waiter: &Change, room: Option<u64>) -> bool {
    let stands = now.get(&waiter.place).filter(|it| it.uid() == waiter.uid());
    let in_line = stands.is_some_and(|it| it.phase() == "Queued" && it.is_live());
    let beside = || seat::holding(now, waiter.runtime(), Some(waiter.session())) as u64;
    in_line && room.is_none_or(|most| beside() < most)
}

/// Whether something held at every moment of the time before this admission.
fn throughout(
    history: &[Change],
    admission: &Change,
    holds: impl Fn(&Standing<'_>) -> bool,
) -> bool {
    let since = admission.at.saturating_sub(STALE);
    let mut standing = Standing::new();
    let before = history.iter().filter(|it| it.version < admission.version);
    for change in before {
        if change.at > since && !holds(&standing) {
            return false;
        }
        advance(&mut standing, change);
    }
    holds(&standing)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rstest::rstest;
    use serde_json::{Value, json};

    use super::super::tests::{claim, history, with};
    use super::*;

    /// The only runtime, and what becomes of claims at which second.
    fn story(ceilings: &Value, claims: Vec<(u64, &str, Value)>) -> Vec<Change> {
        let runtime = json!({ "spec": { "sandbox": ceilings } });
        let seconds: Vec<u64> = claims.iter().map(|it| it.0).collect();
        let claims = claims
            .into_iter()
            .map(|(_, name, it)| (Kind::Claim, name, it));
        let runtime = std::iter::once((Kind::Runtime, "agent", runtime));
        let mut story = history(runtime.chain(claims).collect());
        for (change, second) in story.iter_mut().zip(std::iter::once(0).chain(seconds)) {
            change.at = Duration::from_secs(second);
        }
        story
    }

    fn of(session: &str, claim: Value) -> Value {
        with(claim, &json!({ "spec": { "sessionID": session } }))
    }

    /// Not known to be the operator's.
    fn unproved() -> Value {
        with(
            claim(1, "Queued"),
            &json!({ "status": { "phase": "Pending" } }),
        )
    }

    fn one() -> Value {
        json!({ "maxConcurrent": 1 })
    }

    #[rstest]
    #[case::in_the_line_of_the_runtime(one(), vec![
        (1, "a", claim(1, "Queued")),
        (9, "b", claim(2, "Pending")),
    ])]
    #[case::whose_author_was_proved_long_ago(one(), vec![
        (0, "a", unproved()),
        (1, "a", claim(1, "Queued")),
        (9, "b", claim(2, "Pending")),
    ])]
    #[case::whose_session_had_room_all_the_time(
        json!({ "maxConcurrent": 2, "maxPerSession": 1 }),
        vec![
            (1, "first", claim(0, "Pending")),
            (1, "a", of("s0", claim(1, "Queued"))),
            (2, "first", with(claim(0, "Pending"), &json!({ "gone": true }))),
            (3, "other", claim(3, "Pending")),
            (9, "b", claim(2, "Pending")),
        ],
    )]
    #[case::in_the_line_of_the_session(json!({ "maxPerSession": 1 }), vec![
        (1, "a", claim(1, "Queued")),
        (9, "b", of("s1", claim(2, "Pending"))),
    ])]
    fn who_waited_for_the_same_all_the_time_is_overtaken(
        #[case] ceilings: Value,
        #[case] claims: Vec<(u64, &str, Value)>,
    ) {
        let found = overtaken(&story(&ceilings, claims));
        assert!(
            found.len() == 1 && found[0].1.contains("before a"),
            "{found:?}"
        );
    }

    #[rstest]
    #[case::who_came_once_the_place_may_have_been_promised(one(), vec![
        (4, "a", claim(1, "Queued")),
        (9, "b", claim(2, "Pending")),
    ])]
    #[case::who_was_known_only_then_to_be_the_operators(one(), vec![
        (1, "a", unproved()),
        (4, "a", claim(1, "Queued")),
        (9, "b", claim(2, "Pending")),
    ])]
    #[case::another_of_the_same_name(one(), vec![
        (1, "a", with(claim(1, "Queued"), &json!({ "metadata": { "uid": "earlier" } }))),
        (4, "a", claim(1, "Queued")),
        (9, "b", claim(2, "Pending")),
    ])]
    #[case::whose_place_is_kept(json!({ "maxConcurrent": 2 }), vec![
        (1, "a", claim(1, "Queued")),
        (9, "b", claim(2, "Pending")),
    ])]
    #[case::who_waits_for_his_own_limit(one(), vec![
        (1, "a", with(claim(1, "Queued"), &json!({ "spec": { "maxInstances": 1 } }))),
        (9, "b", claim(2, "Pending")),
    ])]
    #[case::whose_session_was_full_until_a_moment_ago(
        json!({ "maxConcurrent": 2, "maxPerSession": 1 }),
        vec![
            (1, "first", claim(0, "Pending")),
            (1, "a", of("s0", claim(1, "Queued"))),
            (5, "first", with(claim(0, "Pending"), &json!({ "gone": true }))),
            (6, "other", claim(3, "Pending")),
            (9, "b", claim(2, "Pending")),
        ],
    )]
    #[case::of_another_session(json!({ "maxPerSession": 1 }), vec![
        (1, "a", claim(1, "Queued")),
        (9, "b", claim(2, "Pending")),
    ])]
    #[case::who_is_younger(one(), vec![
        (1, "a", claim(3, "Queued")),
        (9, "b", claim(2, "Pending")),
    ])]
    fn nobody_else_is(#[case] ceilings: Value, #[case] claims: Vec<(u64, &str, Value)>) {
        assert_eq!(overtaken(&story(&ceilings, claims)), []);
    }
}
