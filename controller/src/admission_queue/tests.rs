//! Whose turn it is: a table of what the requirements say, and laws that hold of every runtime.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use k8s_openapi::jiff::Timestamp;
use proptest::prelude::*;
use rstest::rstest;
use sandgate_shared::api::SandboxClaim;
use sandgate_shared::api::outside::Ceiling;
use serde_json::json;

use super::{Admission, Ceilings, Limit, Seat, Standing, decide};
use crate::key::Key;

mod ledger;

/// A claim of session `s` without a handle, made in this second.
pub(super) fn seat(name: &str, second: i64, standing: Standing) -> Seat {
    Seat {
        key: Key::new("ns", name),
        uid: format!("uid-{name}"),
        created: Timestamp::from_second(second).unwrap(),
        session: "s".to_owned(),
        sandbox: None,
        max_instances: None,
        standing,
    }
}

fn waits(name: &str, second: i64) -> Seat {
    seat(name, second, Standing::Waiting)
}

fn has(name: &str) -> Seat {
    seat(name, 0, Standing::Admitted)
}

fn of(session: &str, seat: Seat) -> Seat {
    Seat {
        session: session.to_owned(),
        ..seat
    }
}

fn instance(sandbox: &str, most: Option<u32>, seat: Seat) -> Seat {
    Seat {
        sandbox: Some(sandbox.to_owned()),
        max_instances: most,
        ..seat
    }
}

fn at_once(most: u32) -> Ceilings {
    Ceilings {
        concurrent: Ceiling::Of(most),
        ..Ceilings::default()
    }
}

fn a_session(most: u32) -> Ceilings {
    Ceilings {
        per_session: Ceiling::Of(most),
        ..Ceilings::default()
    }
}

/// Each claim that waits, by name: `ok`, or what holds it.
fn answers(seats: &[Seat], ceilings: Ceilings) -> BTreeMap<String, String> {
    let decided = decide(seats, &ceilings, &BTreeSet::new());
    let named = |uid: &str| uid.trim_start_matches("uid-").to_owned();
    decided
        .iter()
        .map(|(uid, answer)| (named(uid), word(*answer)))
        .collect()
}

fn word(answer: Admission) -> String {
    match answer {
        Admission::Unlimited | Admission::Granted => "ok".to_owned(),
        Admission::Held { limit, of } => {
            let of = of.map_or_else(|| "unreadable".to_owned(), |most| most.to_string());
            format!("{limit:?} {of}")
        }
    }
}

// Proves: C-008, C-009, C-010, C-011, C-013, C-016
#[rstest]
#[case::no_limit(vec![waits("a", 1), waits("b", 2)], Ceilings::default(), &["a ok", "b ok"])]
#[case::the_runtime_is_full(vec![has("x"), waits("a", 1)], at_once(1), &["a Runtime 1"])]
#[case::one_place_for_the_oldest(vec![waits("b", 1), waits("a", 2)], at_once(1), &["a Runtime 1", "b ok"])]
#[case::of_the_same_second_the_first_by_name(
    vec![waits("b", 1), waits("a", 1)], at_once(1), &["a ok", "b Runtime 1"]
)]
#[case::none_at_all(vec![waits("a", 1)], at_once(0), &["a Runtime 0"])]
#[case::more_have_a_place_than_may_by_now(
    vec![has("x"), has("y"), has("z"), waits("a", 1)], at_once(2), &["a Runtime 2"]
)]
#[case::a_ceiling_that_cannot_be_read(
    vec![waits("a", 1)],
    Ceilings { concurrent: Ceiling::Unreadable, ..Ceilings::default() },
    &["a Runtime unreadable"]
)]
#[case::a_session_ceiling_that_cannot_be_read(
    vec![waits("a", 1)],
    Ceilings { per_session: Ceiling::Unreadable, ..Ceilings::default() },
    &["a Session unreadable"]
)]
#[case::the_session_is_full(vec![has("x"), waits("a", 1)], a_session(1), &["a Session 1"])]
#[case::another_session_has_room(
    vec![has("x"), waits("a", 1), of("t", waits("b", 2))], a_session(1), &["a Session 1", "b ok"]
)]
#[case::who_waits_for_the_session_holds_up_no_other(
    vec![has("x"), waits("a", 1), of("t", waits("b", 2))],
    Ceilings { concurrent: Ceiling::Of(2), per_session: Ceiling::Of(1) },
    &["a Session 1", "b ok"]
)]
#[case::who_waits_for_the_runtime_is_not_overtaken_by_another_session(
    vec![has("x"), of("t", waits("a", 1)), of("u", waits("b", 2))],
    at_once(2),
    &["a ok", "b Runtime 2"]
)]
#[case::the_sandbox_has_its_instances(
    vec![instance("py", None, has("x")), instance("py", Some(1), waits("a", 1))],
    Ceilings::default(),
    &["a Instance 1"]
)]
#[case::another_sandbox_of_the_session_counts_for_itself(
    vec![instance("py", None, has("x")), instance("js", Some(1), waits("a", 1))],
    Ceilings::default(),
    &["a ok"]
)]
#[case::the_same_sandbox_of_another_session_counts_for_itself(
    vec![of("t", instance("py", None, has("x"))), instance("py", Some(1), waits("a", 1))],
    Ceilings::default(),
    &["a ok"]
)]
#[case::without_max_instances_there_is_no_such_limit(
    vec![instance("py", Some(1), has("x")), instance("py", None, waits("a", 1))],
    Ceilings::default(),
    &["a ok"]
)]
#[case::without_a_handle_there_is_no_such_limit(
    vec![has("x"), Seat { max_instances: Some(1), ..waits("a", 1) }],
    Ceilings::default(),
    &["a ok"]
)]
#[case::the_narrowest_limit_is_named(
    vec![instance("py", None, has("x")), instance("py", Some(1), waits("a", 1))],
    Ceilings { concurrent: Ceiling::Of(1), per_session: Ceiling::Of(1) },
    &["a Instance 1"]
)]
#[case::the_session_before_the_runtime(
    vec![has("x"), waits("a", 1)],
    Ceilings { concurrent: Ceiling::Of(1), per_session: Ceiling::Of(1) },
    &["a Session 1"]
)]
#[case::who_does_not_ask_yet_holds_nobody_up(
    vec![seat("x", 1, Standing::Aside), waits("a", 2)], at_once(1), &["a ok"]
)]
fn a_claim_waits_for_its_limits_and_for_those_before_it(
    #[case] seats: Vec<Seat>,
    #[case] ceilings: Ceilings,
    #[case] expected: &[&str],
) {
    let answers = answers(&seats, ceilings);
    let lines: Vec<String> = answers
        .iter()
        .map(|(name, answer)| format!("{name} {answer}"))
        .collect();
    assert_eq!(lines, expected);
}

// Proves: C-008
#[test]
fn a_place_that_is_promised_is_taken() {
    let seats = [waits("a", 1), waits("b", 2)];
    let promised = BTreeSet::from(["uid-b".to_owned()]);
    let decided = decide(&seats, &at_once(1), &promised);
    let held = Admission::Held {
        limit: Limit::Runtime,
        of: Some(1),
    };
    assert_eq!(decided, HashMap::from([("uid-a".to_owned(), held)]));
}

// Proves: C-010
#[rstest]
#[case::two_segments(Some("py/second"), Some("py"))]
#[case::one_segment(Some("py"), Some("py"))]
#[case::none(None, None)]
fn the_first_segment_of_the_handle_is_what_instances_are_counted_by(
    #[case] handle: Option<&str>,
    #[case] sandbox: Option<&str>,
) {
    let claim: SandboxClaim = serde_json::from_value(json!({
        "metadata": {"namespace": "ns", "name": "a", "uid": "u", "creationTimestamp": "2026-11-20T10:00:00Z"},
        "spec": {"agentRuntimeRef": {"name": "rt"}, "classRef": {"name": "py"}, "sessionID": "s",
            "handle": handle, "maxInstances": 2},
    }))
    .unwrap();
    let seat = Seat::of(&claim, Standing::Waiting);
    assert_eq!(seat.sandbox.as_deref(), sandbox);
    assert_eq!((seat.session.as_str(), seat.max_instances), ("s", Some(2)));
    assert_eq!(seat.created, "2026-11-20T10:00:00Z".parse().unwrap());
}

prop_compose! {
    fn any_seat()(
        second in 0..4_i64,
        session in "[st]",
        sandbox in proptest::option::of("[pj]"),
        max_instances in proptest::option::of(0..3_u32),
        standing in prop_oneof![
            Just(Standing::Admitted), Just(Standing::Waiting), Just(Standing::Waiting), Just(Standing::Aside)
        ],
    ) -> Seat {
        Seat { session, sandbox, max_instances, ..seat("", second, standing) }
    }
}

prop_compose! {
    /// The claims of a runtime, each of a name of its own.
    fn any_seats()(seats in prop::collection::vec(any_seat(), 0..12)) -> Vec<Seat> {
        let named = seats.into_iter().enumerate().map(|(turn, seat)| {
            let name = format!("claim-{turn}");
            Seat { uid: format!("uid-{name}"), key: Key::new("ns", name), ..seat }
        });
        named.collect()
    }
}

fn any_ceiling() -> impl Strategy<Value = Ceiling> {
    prop_oneof![
        Just(Ceiling::None),
        (0..6_u32).prop_map(Ceiling::Of),
        Just(Ceiling::Unreadable)
    ]
}

prop_compose! {
    fn any_ceilings()(concurrent in any_ceiling(), per_session in any_ceiling()) -> Ceilings {
        Ceilings { concurrent, per_session }
    }
}

fn allows(ceiling: Ceiling, count: usize) -> bool {
    match ceiling {
        Ceiling::None => true,
        Ceiling::Of(most) => count <= usize::try_from(most).unwrap(),
        Ceiling::Unreadable => false,
    }
}

fn is_next(decided: &HashMap<String, Admission>, seat: &Seat) -> bool {
    let answer = decided.get(&seat.uid);
    answer.is_some_and(|answer| !matches!(answer, Admission::Held { .. }))
}

proptest! {
    // Proves: C-008, C-009, C-010
    #[test]
    fn no_limit_is_ever_passed_by_those_who_are_let_in(
        seats in any_seats(),
        ceilings in any_ceilings(),
    ) {
        let decided = decide(&seats, &ceilings, &BTreeSet::new());
        let inside: Vec<&Seat> = seats
            .iter()
            .filter(|seat| seat.standing == Standing::Admitted || is_next(&decided, seat))
            .collect();
        for next in seats.iter().filter(|seat| is_next(&decided, seat)) {
            prop_assert!(allows(ceilings.concurrent, inside.len()));
            let session = inside.iter().filter(|seat| seat.session == next.session);
            prop_assert!(allows(ceilings.per_session, session.count()));
            // Whoever came later may have no such limit, and comes on top.
            let before = inside.iter().filter(|seat| {
                let first = (seat.created, &seat.key.name) <= (next.created, &next.key.name);
                let same = (&seat.session, &seat.sandbox) == (&next.session, &next.sandbox);
                same && (first || seat.standing == Standing::Admitted)
            });
            let own = next.max_instances.filter(|_| next.sandbox.is_some());
            prop_assert!(allows(own.map_or(Ceiling::None, Ceiling::Of), before.count()));
        }
    }

    // Proves: C-011, C-013
    #[test]
    fn nobody_overtakes_on_the_limit_that_he_waits_for(
        seats in any_seats(),
        ceilings in any_ceilings(),
    ) {
        let decided = decide(&seats, &ceilings, &BTreeSet::new());
        for held in &seats {
            let Some(Admission::Held { limit, .. }) = decided.get(&held.uid) else { continue };
            for next in seats.iter().filter(|seat| is_next(&decided, seat)) {
                let later = (next.created, &next.key.name) > (held.created, &held.key.name);
                let same = match limit {
                    Limit::Runtime => true,
                    Limit::Session => next.session == held.session,
                    Limit::Instance => {
                        (&next.session, &next.sandbox) == (&held.session, &held.sandbox)
                            && next.max_instances.is_some_and(|most| most <= held.max_instances.unwrap())
                    }
                };
                prop_assert!(!(later && same), "{} overtook {} on {limit:?}", next.uid, held.uid);
            }
        }
    }

    // Proves: C-014
    #[test]
    fn no_place_stays_empty_while_somebody_could_have_it(
        seats in any_seats(),
        ceilings in any_ceilings(),
    ) {
        let decided = decide(&seats, &ceilings, &BTreeSet::new());
        let next: BTreeSet<String> = seats
            .iter()
            .filter(|seat| is_next(&decided, seat))
            .map(|seat| seat.uid.clone())
            .collect();
        let again = decide(&seats, &ceilings, &next);
        prop_assert!(seats.iter().all(|seat| !is_next(&again, seat)), "{again:?}");
    }

    // Proves: C-011
    #[test]
    fn the_order_in_which_claims_are_seen_changes_nothing(
        (seats, shuffled) in any_seats().prop_flat_map(|seats| {
            (Just(seats.clone()), Just(seats).prop_shuffle())
        }),
        ceilings in any_ceilings(),
    ) {
        let none = BTreeSet::new();
        prop_assert_eq!(decide(&seats, &ceilings, &none), decide(&shuffled, &ceilings, &none));
    }
}
