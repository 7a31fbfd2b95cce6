use rstest::rstest;

use super::*;

fn seen(pods: u32, reached: u32) -> Evidence {
    Evidence {
        pods,
        reached,
        ..Evidence::default()
    }
}

#[rstest]
#[case(Expected::Shut, 0, Measured::Shut, Outcome::AsExpected)]
#[case(Expected::Shut, 1, Measured::Open, Outcome::Leak)]
#[case(Expected::Open, 3, Measured::Open, Outcome::AsExpected)]
#[case(Expected::Open, 0, Measured::Shut, Outcome::Blocked)]
#[case(
    Expected::ImplementationDefined,
    0,
    Measured::Shut,
    Outcome::ImplementationDefined
)]
#[case(
    Expected::ImplementationDefined,
    3,
    Measured::Open,
    Outcome::ImplementationDefined
)]
fn what_a_witness_confirms_is_compared_with_what_should_be(
    #[case] expected: Expected,
    #[case] reached: u32,
    #[case] measured: Measured,
    #[case] outcome: Outcome,
) {
    let verdict = judge(expected, Presence::Always, &seen(3, reached), None, &Ok(()));
    assert_eq!((verdict.measured, verdict.outcome), (measured, outcome));
}

#[test]
fn silence_counts_for_nothing_where_the_witness_met_silence_too() {
    let silent = Err("the witness got no answer either".to_owned());
    for expected in [
        Expected::Shut,
        Expected::Open,
        Expected::ImplementationDefined,
    ] {
        let verdict = judge(expected, Presence::Always, &seen(3, 0), None, &silent);
        assert_eq!(verdict.outcome, Outcome::Unmeasured);
        assert_eq!(
            verdict.reason.as_deref(),
            Some("the witness got no answer either")
        );
    }
}

#[test]
fn what_some_clusters_lack_is_absent_when_nobody_reaches_it() {
    let silent = Err("the witness got no answer".to_owned());
    let verdict = judge(
        Expected::Shut,
        Presence::Perhaps,
        &seen(3, 0),
        None,
        &silent,
    );
    assert_eq!(verdict.outcome, Outcome::Absent);
    assert!(!verdict.outcome.fails(false));
}

#[test]
fn a_leak_stays_a_leak_without_a_witness_and_in_a_scenario_that_broke_off() {
    let silent = Err("the witness got no answer".to_owned());
    let trouble = Some("the claim was never Bound");
    let verdict = judge(
        Expected::Shut,
        Presence::Always,
        &seen(3, 1),
        trouble,
        &silent,
    );
    assert_eq!(verdict.outcome, Outcome::Leak);
}

#[test]
fn a_scenario_that_broke_off_says_nothing_of_what_was_shut() {
    let trouble = Some("the claim was never Bound");
    let verdict = judge(
        Expected::Shut,
        Presence::Always,
        &seen(3, 0),
        trouble,
        &Ok(()),
    );
    assert_eq!(verdict.outcome, Outcome::Unmeasured);
    assert_eq!(verdict.reason.as_deref(), trouble);
}

#[test]
fn fifteen_are_shut_in_only_if_fifteen_dialled() {
    let evidence = Evidence {
        mute: 14,
        last_error: Some("too many open files".to_owned()),
        ..seen(1, 0)
    };
    let verdict = judge(Expected::Shut, Presence::Always, &evidence, None, &Ok(()));
    assert_eq!(verdict.outcome, Outcome::Unmeasured);
    let reason = verdict.reason.unwrap();
    assert_eq!(reason, "14 of 15 pods did not dial it: too many open files");
}

#[test]
fn what_was_never_dialled_is_not_shut() {
    let evidence = Evidence {
        last_error: Some("may not send ICMP".to_owned()),
        ..Evidence::default()
    };
    let verdict = judge(Expected::Shut, Presence::Always, &evidence, None, &Ok(()));
    assert_eq!(verdict.outcome, Outcome::Unmeasured);
    assert_eq!(
        verdict.reason.as_deref(),
        Some("it was not dialled: may not send ICMP")
    );
}

#[rstest]
#[case(Outcome::Leak, true, true)]
#[case(Outcome::Blocked, true, true)]
#[case(Outcome::Unmeasured, true, false)]
#[case(Outcome::AsExpected, false, false)]
#[case(Outcome::ImplementationDefined, false, false)]
#[case(Outcome::Absent, false, false)]
fn only_what_is_wrong_or_unknown_fails_a_run(
    #[case] outcome: Outcome,
    #[case] fails: bool,
    #[case] fails_if_the_unknown_is_allowed: bool,
) {
    assert_eq!(outcome.fails(false), fails);
    assert_eq!(outcome.fails(true), fails_if_the_unknown_is_allowed);
}
