//! What is promised to whom, while several workers ask at once and the cache is behind.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::jiff::Timestamp;
use proptest::prelude::*;
use rstest::rstest;
use sandgate_shared::api::outside::Ceiling;
use sandgate_shared::trust::Trust;

use super::{any_ceilings, any_seats, at_once, has, instance, seat, waits};
use crate::admission_queue::{Admission, Basis, Ceilings, Ledger, Seat, Standing};
use crate::key::Key;

fn runtime() -> Key {
    Key::new("ns", "rt")
}

fn basis(revision: u64, ceilings: Ceilings) -> Basis {
    Basis {
        revision,
        ceilings,
        trust: Trust::default(),
    }
}

fn ask(ledger: &Ledger, name: &str, on: &Basis, seats: &[Seat]) -> Admission {
    let uid = format!("uid-{name}");
    let seat = seats.iter().find(|seat| seat.uid == uid).unwrap();
    let answer = ledger.ask(&runtime(), seat, on, || seats.to_vec());
    answer.unwrap_or_else(|| panic!("{name} is told to come back"))
}

/// Whether this claim is told to come back once another's admission has its answer.
fn comes_after(ledger: &Ledger, name: &str, on: &Basis, seats: &[Seat]) -> bool {
    let uid = format!("uid-{name}");
    let seat = seats.iter().find(|seat| seat.uid == uid).unwrap();
    ledger
        .ask(&runtime(), seat, on, || seats.to_vec())
        .is_none()
}

fn is_held(admission: Admission) -> bool {
    matches!(admission, Admission::Held { .. })
}

// Proves: C-008
#[test]
fn of_two_that_ask_before_the_cache_shows_the_first_one_gets_the_only_place() {
    let (ledger, on) = (Ledger::default(), basis(1, at_once(1)));
    let seats = [waits("a", 1), waits("b", 2)];
    assert_eq!(ask(&ledger, "a", &on, &seats), Admission::Granted);
    // The cache does not know yet, or knows and `a` is older than `b`: it makes no difference.
    assert!(is_held(ask(&ledger, "b", &on, &seats)));
    assert!(is_held(ask(&ledger, "b", &basis(2, at_once(1)), &seats)));
}

// Proves: C-008
#[test]
fn a_younger_claim_whose_admission_is_being_written_keeps_an_older_one_out() {
    let (ledger, on) = (Ledger::default(), basis(1, at_once(1)));
    let young = [waits("b", 2)];
    assert_eq!(ask(&ledger, "b", &on, &young), Admission::Granted);
    let both = [waits("a", 1), waits("b", 2)];
    assert!(is_held(ask(&ledger, "a", &basis(2, at_once(1)), &both)));
}

// Proves: C-008
#[test]
fn a_promise_is_taken_back_after_a_look_that_failed_unless_it_may_be_written() {
    let (ledger, on, none) = (
        Ledger::default(),
        basis(1, at_once(1)),
        basis(1, at_once(0)),
    );
    let seats = [waits("a", 1)];
    assert_eq!(ask(&ledger, "a", &on, &seats), Admission::Granted);
    ledger.give_up(&runtime(), "uid-a");
    assert!(is_held(ask(&ledger, "a", &none, &seats)));

    assert_eq!(ask(&ledger, "a", &on, &seats), Admission::Granted);
    ledger.write(&runtime(), "uid-a");
    ledger.give_up(&runtime(), "uid-a");
    assert_eq!(ask(&ledger, "a", &none, &seats), Admission::Granted);
    ledger.settle(&runtime(), "uid-a");
    assert!(is_held(ask(&ledger, "a", &none, &seats)));
}

#[test]
fn a_promise_whose_fate_is_unknown_is_repeated_and_one_that_is_settled_is_not() {
    let (ledger, on) = (Ledger::default(), basis(1, at_once(1)));
    let seats = [waits("a", 1), waits("b", 2)];
    assert_eq!(ask(&ledger, "a", &on, &seats), Admission::Granted);
    // The answer was lost: whatever happened to the limit meanwhile, it may have been carried out.
    let none = basis(2, at_once(0));
    assert_eq!(ask(&ledger, "a", &none, &seats), Admission::Granted);
    ledger.settle(&runtime(), "uid-a");
    assert!(is_held(ask(&ledger, "a", &none, &seats)));
    assert_eq!(ask(&ledger, "a", &on, &seats), Admission::Granted);
}

// Proves: C-014
#[test]
fn exactly_those_are_woken_that_have_a_place_and_do_not_know_it() {
    let ledger = Ledger::default();
    let seats = [
        has("x"),
        waits("a", 1),
        waits("b", 2),
        waits("c", 3),
        waits("d", 4),
    ];
    let on = basis(1, at_once(3));
    let next = |on: &Basis| {
        let mut next = ledger.next(&runtime(), on, || seats.to_vec());
        next.sort();
        next.iter().map(|key| key.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(next(&on), ["a", "b"]);
    ask(&ledger, "a", &on, &seats);
    assert_eq!(next(&on), ["b"]);
    assert_eq!(next(&basis(2, at_once(1))), [""; 0]);
    assert_eq!(next(&basis(3, Ceilings::default())), ["b", "c", "d"]);
}

// Proves: C-015
#[test]
fn a_thousand_claims_that_look_after_their_turn_cost_one_decision() {
    let (ledger, on) = (Ledger::default(), basis(1, at_once(1)));
    let mut seats = vec![has("x")];
    seats.extend((0..1000).map(|turn| waits(&format!("{turn:04}"), 1)));
    let decisions = Cell::new(0);
    for seat in &seats[1..] {
        let answer = ledger.ask(&runtime(), seat, &on, || {
            decisions.set(decisions.get() + 1);
            seats.clone()
        });
        assert!(answer.is_some_and(is_held));
    }
    assert_eq!(decisions.get(), 1);
}

// Proves: C-013
#[test]
fn claims_that_nothing_limits_cost_no_decision() {
    let (ledger, on) = (Ledger::default(), basis(1, Ceilings::default()));
    for turn in 0..1000 {
        let seat = instance("box", None, waits(&format!("{turn:04}"), 1));
        let answer = ledger.ask(&runtime(), &seat, &on, || unreachable!("nothing to decide"));
        assert_eq!(answer, Some(Admission::Unlimited));
    }
}

// Proves: C-010
#[test]
fn an_unlimited_claim_whose_admission_is_being_written_counts_for_the_limit_of_another() {
    let (ledger, on) = (Ledger::default(), basis(1, Ceilings::default()));
    let seats = [
        instance("box", Some(1), waits("a", 1)),
        instance("box", None, waits("b", 2)),
    ];
    assert_eq!(ask(&ledger, "b", &on, &seats), Admission::Unlimited);
    assert!(is_held(ask(&ledger, "a", &on, &seats)));
    // Its answer was lost: it may have a place.
    ledger.write(&runtime(), "uid-b");
    ledger.give_up(&runtime(), "uid-b");
    assert!(is_held(ask(&ledger, "a", &on, &seats)));
    assert_eq!(ask(&ledger, "b", &on, &seats), Admission::Unlimited);
    // It was refused.
    ledger.settle(&runtime(), "uid-b");
    assert_eq!(ask(&ledger, "a", &on, &seats), Admission::Granted);
}

// Proves: C-010, C-013
#[rstest]
#[case::without_a_limit(None, true)]
#[case::with_a_looser_limit(Some(2), true)]
#[case::of_another_sandbox(None, false)]
fn who_would_be_too_many_for_one_that_is_being_admitted_comes_after_it(
    #[case] most: Option<u32>,
    #[case] same: bool,
    #[values(Ceilings::default(), at_once(9))] ceilings: Ceilings,
) {
    let (ledger, on) = (Ledger::default(), basis(1, ceilings));
    let sandbox = if same { "box" } else { "other" };
    let seats = [
        instance("box", Some(1), waits("a", 1)),
        instance(sandbox, most, waits("b", 2)),
    ];
    assert_eq!(ask(&ledger, "a", &on, &seats), Admission::Granted);
    assert_eq!(comes_after(&ledger, "b", &on, &seats), same);
    ledger.write(&runtime(), "uid-a");
    assert_eq!(ledger.give_up(&runtime(), "uid-a"), BTreeSet::new());
    let after = ledger.settle(&runtime(), "uid-a");
    assert_eq!(after.contains(&Key::new("ns", "b")), same);
    assert!(!is_held(ask(&ledger, "b", &on, &seats)));
}

#[test]
fn instances_with_the_same_limit_wait_for_no_answer_of_each_other() {
    let (ledger, on) = (Ledger::default(), basis(1, Ceilings::default()));
    let seats = ["a", "b", "c"].map(|name| instance("box", Some(2), waits(name, 1)));
    assert_eq!(ask(&ledger, "a", &on, &seats), Admission::Granted);
    assert_eq!(ask(&ledger, "b", &on, &seats), Admission::Granted);
    assert!(is_held(ask(&ledger, "c", &on, &seats)));
}

#[test]
fn what_the_cache_shows_kept_holds_up_nobody_and_whoever_came_after_it_is_told() {
    let (ledger, on) = (Ledger::default(), basis(1, Ceilings::default()));
    let seats = |a: Standing| {
        [
            instance("box", Some(1), seat("a", 1, a)),
            instance("box", None, waits("b", 2)),
            instance("box", None, waits("c", 3)),
        ]
    };
    let (asks, has) = (seats(Standing::Waiting), seats(Standing::Admitted));
    assert_eq!(ask(&ledger, "a", &on, &asks), Admission::Granted);
    assert!(comes_after(&ledger, "b", &on, &asks));
    // The watch was faster than the answer.
    let shown = basis(2, Ceilings::default());
    assert_eq!(ask(&ledger, "c", &shown, &has), Admission::Unlimited);
    let after = ledger.settle(&runtime(), "uid-a");
    assert_eq!(after, BTreeSet::from([Key::new("ns", "b")]));
}

#[test]
fn nothing_is_kept_of_claims_that_are_gone() {
    let (ledger, on) = (Ledger::default(), basis(1, Ceilings::default()));
    let seats = [
        instance("box", Some(1), waits("a", 1)),
        instance("box", None, waits("b", 2)),
    ];
    assert_eq!(ask(&ledger, "a", &on, &seats), Admission::Granted);
    ledger.write(&runtime(), "uid-a");
    assert!(comes_after(&ledger, "b", &on, &seats));
    let after = ledger.gone(&Key::new("ns", "a"));
    assert_eq!(after, BTreeSet::from([Key::new("ns", "b")]));
    assert_eq!(ask(&ledger, "b", &on, &seats[1..]), Admission::Unlimited);
    ledger.gone(&Key::new("ns", "b"));
    assert!(ledger.is_empty());
}

/// What happens to a runtime.
#[derive(Clone, Debug)]
enum Step {
    /// A worker asks for this claim.
    Ask(usize),
    /// The API server has carried the admission of this claim out, and answered.
    Written(usize),
    /// It has carried it out, and the answer was lost.
    Lost(usize),
    /// It has refused it.
    Refused(usize),
    /// The watch catches up.
    Watch,
    /// The claim is over.
    Over(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    let one = 0..12_usize;
    prop_oneof![
        4 => one.clone().prop_map(Step::Ask),
        2 => one.clone().prop_map(Step::Written),
        1 => one.clone().prop_map(Step::Lost),
        1 => one.clone().prop_map(Step::Refused),
        2 => Just(Step::Watch),
        1 => one.prop_map(Step::Over),
    ]
}

/// The API server's claims, and the cache that is behind them.
struct Cluster {
    ledger: Ledger,
    truth: Vec<Seat>,
    cache: Vec<Seat>,
    revision: u64,
    /// Claims whose admission is on its way to the API server.
    asked: BTreeSet<usize>,
}

impl Cluster {
    fn step(&mut self, step: &Step, ceilings: Ceilings) {
        let on = basis(self.revision, ceilings);
        match *step {
            Step::Ask(turn) => {
                let Some(seat) = self.cache.get(turn) else {
                    return;
                };
                if seat.standing != Standing::Waiting {
                    return;
                }
                let present = || {
                    self.cache
                        .iter()
                        .filter(|seat| !is_over(seat))
                        .cloned()
                        .collect()
                };
                let answer = self.ledger.ask(&runtime(), seat, &on, present);
                if answer.is_some_and(|answer| !is_held(answer)) {
                    self.asked.insert(turn);
                }
            }
            Step::Written(turn) if self.asked.remove(&turn) => {
                self.admit(turn);
                // What our own write returned is in the cache at once.
                self.cache[turn] = self.truth[turn].clone();
                self.revision += 1;
                self.ledger.settle(&runtime(), &self.truth[turn].uid);
            }
            Step::Lost(turn) if self.asked.remove(&turn) => self.admit(turn),
            Step::Refused(turn) if self.asked.remove(&turn) => {
                self.ledger.settle(&runtime(), &self.truth[turn].uid);
            }
            Step::Written(_) | Step::Lost(_) | Step::Refused(_) => {}
            Step::Watch => {
                self.cache.clone_from(&self.truth);
                self.revision += 1;
            }
            Step::Over(turn) => {
                if let Some(seat) = self.truth.get_mut(turn) {
                    seat.session = "over".to_owned();
                }
            }
        }
    }

    fn admit(&mut self, turn: usize) {
        if !is_over(&self.truth[turn]) {
            self.truth[turn].standing = Standing::Admitted;
        }
    }
}

fn is_over(seat: &Seat) -> bool {
    seat.session == "over"
}

proptest! {
    // Proves: C-008, C-009, C-010
    #[test]
    fn however_late_the_cache_is_no_more_are_admitted_than_may_be(
        seats in any_seats(),
        ceilings in any_ceilings(),
        steps in prop::collection::vec(any_step(), 0..60),
    ) {
        let mut cluster = Cluster {
            ledger: Ledger::default(),
            cache: seats.clone(),
            truth: seats,
            revision: 1,
            asked: BTreeSet::new(),
        };
        for step in &steps {
            let before = cluster.truth.clone();
            let stood = count(&before);
            cluster.step(step, ceilings);
            let stands = count(&cluster.truth);
            for (was, is) in before.iter().zip(&cluster.truth) {
                let admitted = was.standing != is.standing && is.standing == Standing::Admitted;
                let instances = instances_of(is, &cluster.truth);
                let most = is.max_instances.filter(|_| admitted && is.sandbox.is_some());
                prop_assert!(
                    most.is_none_or(|most| instances <= most),
                    "{step:?}: {} is number {instances} of {most:?}", is.uid
                );
            }
            for (whose, number) in &stands {
                // More may have been admitted before than may be now; no further one is.
                let grew = *number > stood.get(whose).copied().unwrap_or(0);
                let ceiling = match whose {
                    Some(_) => ceilings.per_session,
                    None => ceilings.concurrent,
                };
                let most = match ceiling {
                    Ceiling::Of(most) => most,
                    Ceiling::None => u32::MAX,
                    Ceiling::Unreadable => 0,
                };
                prop_assert!(!grew || *number <= most, "{step:?}: {whose:?} has {number} of {most}");
            }
        }
    }
}

/// How many have a place of those that count for the limit of this one.
fn instances_of(of: &Seat, seats: &[Seat]) -> u32 {
    let counts = |seat: &&Seat| {
        seat.standing == Standing::Admitted && !is_over(seat) && seat.is_instance_beside(of)
    };
    seats.iter().filter(counts).count().try_into().unwrap()
}

/// How many have a place, in all and of each session.
fn count(seats: &[Seat]) -> BTreeMap<Option<String>, u32> {
    let mut counts = BTreeMap::new();
    let admitted = |seat: &&Seat| seat.standing == Standing::Admitted && !is_over(seat);
    for seat in seats.iter().filter(admitted) {
        *counts.entry(None).or_insert(0) += 1;
        *counts.entry(Some(seat.session.clone())).or_insert(0) += 1;
    }
    counts
}

#[test]
fn a_claim_made_again_under_the_name_of_one_that_was_promised_a_place_gets_its_own() {
    let (ledger, on) = (Ledger::default(), basis(1, at_once(1)));
    let first = [waits("a", 1)];
    assert_eq!(ask(&ledger, "a", &on, &first), Admission::Granted);
    let again = Seat {
        uid: "uid-of-the-second".to_owned(),
        created: Timestamp::from_second(9).unwrap(),
        ..waits("a", 1)
    };
    let answer = ledger.ask(&runtime(), &again, &basis(2, at_once(1)), || {
        vec![again.clone()]
    });
    assert_eq!(answer, Some(Admission::Granted));
}
