use super::*;
use sandgate_probe::line::{Contact, Protocol};

const LABEL: &str = "forbidden-pod-tcp";

fn sender(name: &str, started_us: u64, dialled: Tally) -> Sighting {
    Sighting {
        name: name.to_owned(),
        started_us: Some(started_us),
        dialled: vec![Tally {
            target: LABEL.to_owned(),
            ..dialled
        }],
        hardening: None,
    }
}

fn heard(times: &[(&str, u64)]) -> Ledger {
    let mut ledger = Ledger::of_run("run");
    for (sender, at_us) in times {
        ledger.enter(&Contact {
            at_us: *at_us,
            contact: Protocol::Tcp,
            port: 8080,
            from: "10.0.0.9".to_owned(),
            to: None,
            said: format!("run/{sender}>{LABEL}"),
        });
    }
    ledger
}

fn attempts(attempts: u64) -> Tally {
    Tally {
        attempts,
        timeouts: attempts,
        first_attempt_us: Some(300),
        ..Tally::default()
    }
}

#[test]
fn what_arrived_is_a_leak_even_if_no_answer_came_back() {
    let ledger = heard(&[("a", 1_012_300), ("a", 1_040_000)]);
    let seen = Evidence::gather(
        &[sender("a", 1_000_000, attempts(400))],
        LABEL,
        true,
        &ledger,
    );
    assert_eq!((seen.pods, seen.reached, seen.answers), (1, 1, 0));
    assert_eq!(seen.arrivals, Some(2));
    assert_eq!(seen.first_reached_ms, Some(12.3));
    assert_eq!(seen.last_reached_ms, Some(40.0));
}

#[test]
fn answers_are_timed_by_the_senders_own_clock() {
    let answered = Tally {
        answers: 2,
        first_answer_us: Some(4_000),
        last_answer_us: Some(9_000),
        ..attempts(400)
    };
    // The receiver's node is an hour ahead.
    let ledger = heard(&[("a", 3_600_000_000), ("a", 3_600_005_000)]);
    let seen = Evidence::gather(&[sender("a", 1_000_000, answered)], LABEL, true, &ledger);
    assert_eq!(seen.first_reached_ms, Some(4.0));
    assert_eq!(seen.last_reached_ms, Some(9.0));
    assert_eq!(seen.times_reached(), 2);
}

#[test]
fn many_pods_add_up_and_the_slowest_first_dial_is_told() {
    let leaky = Tally {
        answers: 1,
        first_answer_us: Some(2_000),
        last_answer_us: Some(2_000),
        ..attempts(10)
    };
    let late = Tally {
        first_attempt_us: Some(900),
        ..attempts(10)
    };
    let pods = [
        sender("a", 0, attempts(10)),
        sender("b", 0, leaky),
        sender("c", 0, late),
    ];
    let seen = Evidence::gather(&pods, LABEL, false, &Ledger::default());
    assert_eq!((seen.pods, seen.reached, seen.attempts), (3, 1, 30));
    assert_eq!(seen.reached_by, ["b"]);
    assert_eq!(seen.first_attempt_ms, Some(0.9));
    assert_eq!(seen.first_reached_ms, Some(2.0));
    assert_eq!(seen.arrivals, None);
}

#[test]
fn of_a_pod_that_was_not_heard_arrivals_tell_and_silence_does_not() {
    let endless = Sighting {
        name: "a".to_owned(),
        ..Sighting::default()
    };
    let seen = Evidence::gather(
        std::slice::from_ref(&endless),
        LABEL,
        true,
        &heard(&[("a", 5), ("b", 6)]),
    );
    assert_eq!((seen.pods, seen.reached, seen.arrivals), (1, 1, Some(1)));
    let seen = Evidence::gather(&[endless], LABEL, true, &Ledger::default());
    assert_eq!((seen.pods, seen.mute, seen.arrivals), (0, 1, Some(0)));
}

#[test]
fn a_pod_that_never_dialled_counts_for_nothing_but_its_reason() {
    let mute = Tally {
        last_error: Some("may not send ICMP".to_owned()),
        ..Tally::default()
    };
    let seen = Evidence::gather(&[sender("a", 0, mute)], LABEL, false, &Ledger::default());
    assert_eq!((seen.pods, seen.mute), (0, 1));
    assert_eq!(seen.last_error.as_deref(), Some("may not send ICMP"));
}
