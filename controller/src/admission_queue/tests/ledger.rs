//! What is promised to whom, while several workers ask at once and the cache is behind.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::jiff::Timestamp;
use proptest::prelude::*;
use sandgate_shared::api::outside::Ceiling;
use sandgate_shared::trust::Trust;

use super::{any_ceilings, any_seats, at_once, has, waits};
use crate::admission_queue::{Admission, Basis, Ceilings, Ledger, Seat, Standing};
use crate::watch::Key;

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
    ledger.ask(&runtime(), seat, on, || seats.to_vec())
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
        assert!(is_held(answer));
    }
    assert_eq!(decisions.get(), 1);
}

#[test]
fn a_claim_that_nothing_limits_is_never_counted() {
    let ledger = Ledger::default();
    let seat = waits("a", 1);
    let answer = ledger.ask(&runtime(), &seat, &basis(1, Ceilings::default()), || {
        unreachable!("nothing to decide")
    });
    assert_eq!(answer, Admission::Unlimited);
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
                if !is_held(answer) {
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
    // Proves: C-008, C-009
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
            let stood = count(&cluster.truth);
            cluster.step(step, ceilings);
            let stands = count(&cluster.truth);
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
    assert_eq!(answer, Admission::Granted);
}
