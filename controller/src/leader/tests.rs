use std::time::Duration;

use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::jiff::Timestamp;
use rstest::rstest;

use super::{Record, Step, Timing, decide};

const FIFTEEN: Duration = Duration::from_secs(15);

fn held_by(holder: &str) -> Record {
    Record::held_by(holder, None, FIFTEEN, second(100))
}

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

// Proves: C-001
#[rstest]
#[case::nobody_made_one(None, 0, Step::Create)]
#[case::we_hold_it(Some(held_by("me")), 0, Step::Renew)]
#[case::we_hold_it_and_were_silent(Some(held_by("me")), 60, Step::Renew)]
#[case::another_holds_it(Some(held_by("you")), 14, Step::Wait)]
#[case::another_was_silent_for_its_duration(Some(held_by("you")), 15, Step::Take)]
#[case::it_was_given_up(Some(held_by("you").released(second(101))), 0, Step::Take)]
fn the_lease_is_taken_only_when_free_or_silent(
    #[case] standing: Option<Record>,
    #[case] unchanged_seconds: u64,
    #[case] expected: Step,
) {
    let unchanged = Duration::from_secs(unchanged_seconds);
    assert_eq!(decide("me", standing.as_ref(), unchanged), expected);
}

// Proves: C-001
#[test]
fn another_holders_wall_clock_is_not_asked() {
    // Renewed in a distant past or future by its holder's clock: only our own waiting counts.
    for renewed in [0, 4_000_000_000] {
        let record = Record {
            renewed: Some(second(renewed)),
            ..held_by("you")
        };
        assert_eq!(decide("me", Some(&record), Duration::ZERO), Step::Wait);
    }
}

// Proves: C-001
#[test]
fn our_own_term_ends_before_others_may_take_the_lease() {
    for seconds in [1, 2, 15, 60] {
        let timing = Timing::of(Duration::from_secs(seconds));
        assert!(timing.deadline < timing.duration);
        // At least two renewals can fail before the term is over.
        assert!(timing.period * 3 <= timing.deadline);
    }
}

#[test]
fn a_taken_lease_counts_one_transition_and_a_renewed_one_none() {
    let first = Record::held_by("me", None, FIFTEEN, second(1));
    assert_eq!((first.transitions, first.acquired), (0, Some(second(1))));
    let renewed = Record::held_by("me", Some(&first), FIFTEEN, second(5));
    assert_eq!(
        (renewed.transitions, renewed.acquired),
        (0, Some(second(1)))
    );
    assert_eq!(renewed.renewed, Some(second(5)));
    let taken = Record::held_by("you", Some(&renewed), FIFTEEN, second(30));
    assert_eq!((taken.transitions, taken.acquired), (1, Some(second(30))));
    let again = Record::held_by("me", Some(&taken.released(second(31))), FIFTEEN, second(32));
    assert_eq!((again.transitions, again.acquired), (2, Some(second(32))));
}

#[test]
fn a_record_reads_back_as_it_was_written() {
    for record in [held_by("me"), held_by("me").released(second(7))] {
        assert_eq!(
            Record::read(Some(&record.to_spec()), Duration::ZERO),
            record
        );
    }
}

#[rstest]
#[case(None)]
#[case(Some(0))]
#[case(Some(-3))]
fn a_lease_without_a_sensible_duration_is_read_with_ours(#[case] seconds: Option<i32>) {
    let spec = LeaseSpec {
        holder_identity: Some("you".to_owned()),
        lease_duration_seconds: seconds,
        ..LeaseSpec::default()
    };
    let record = Record::read(Some(&spec), FIFTEEN);
    assert_eq!(record.duration, FIFTEEN);
    assert_eq!(
        decide("me", Some(&record), Duration::from_secs(14)),
        Step::Wait
    );
}

#[test]
fn an_empty_holder_is_none() {
    let spec = LeaseSpec {
        holder_identity: Some(String::new()),
        ..LeaseSpec::default()
    };
    assert_eq!(Record::read(Some(&spec), FIFTEEN).holder, None);
    assert_eq!(Record::read(None, FIFTEEN).holder, None);
}
