use rstest::rstest;
use sandgate_probe::line::{Contact, Protocol};
use sandgate_probe::tally::Tally;

use super::*;
use crate::isolation::destination::{destinations, tests::facts};
use crate::isolation::scenario::{Kind, scenario};

const ALIVE: [(&str, u64); 3] = [
    ("numbered-pod-tcp", 1_000_000),
    ("numbered-pod-tcp", 1_025_000),
    ("numbered-pod-tcp", 1_900_000),
];

fn heard(scenario: &str, arrivals: &[(&str, u64)]) -> Ledger {
    let mut ledger = Ledger::of_run("run");
    for (label, at_us) in arrivals {
        ledger.enter(&Contact {
            at_us: *at_us,
            contact: Protocol::Tcp,
            port: 8080,
            from: "10.0.0.9".to_owned(),
            to: None,
            said: format!("run/{scenario}>{label}"),
        });
    }
    ledger
}

fn ended(id: &str, arrivals: &[(&str, u64)], watched: Watched, witness: &Witness) -> Ended {
    let scenario = scenario(id).unwrap();
    let Kind::Ending(ending) = scenario.kind else {
        panic!("{id} is no ending");
    };
    judge(
        scenario,
        ending,
        &Sighting::of_pod(id),
        watched,
        &destinations(&facts(false)),
        &heard(id, arrivals),
        |_| witness.clone(),
    )
}

const LONG: Watched = Watched {
    asked_us: Some(1_000_000),
    lived_on_seconds: Some(30.2),
    dialled_on_seconds: Some(29.4),
    healed_after_seconds: Some(0.2),
};

#[rstest]
#[case("claim-deleted-background")]
#[case("claim-deleted-foreground")]
#[case("claim-failed")]
#[case("policy-deleted")]
fn a_workload_that_dialled_on_and_arrived_nowhere_stayed_shut_in(#[case] id: &str) {
    let ended = ended(id, &ALIVE, LONG, &Ok(()));
    assert_eq!(ended.outcome, Outcome::AsExpected, "{:?}", ended.reason);
    assert_eq!(ended.allowed_arrivals, 3);
}

#[test]
fn one_packet_that_arrives_is_a_leak_and_its_window_is_told() {
    let mut arrivals = ALIVE.to_vec();
    arrivals.extend([
        ("forbidden-pod-udp", 2_000_000),
        ("forbidden-pod-udp", 4_500_000),
    ]);
    let ended = ended("claim-deleted-background", &arrivals, LONG, &Ok(()));
    assert_eq!(ended.outcome, Outcome::Leak);
    assert_eq!(ended.window_seconds, Some(2.5));
    assert_eq!(ended.first_forbidden_seconds, Some(1.0));
    assert_eq!(ended.forbidden_before_end, 0);
    assert_eq!(ended.reached, ["forbidden-pod-udp"]);
}

#[test]
fn an_answer_that_the_sandbox_itself_tells_of_is_a_leak_as_well() {
    let scenario = scenario("claim-failed").unwrap();
    let mut sighting = Sighting::of_pod(scenario.id);
    sighting.dialled.push(Tally {
        target: "forbidden-svc-tcp".to_owned(),
        attempts: 5,
        answers: 1,
        ..Tally::default()
    });
    let ended = judge(
        scenario,
        Ending::Failed,
        &sighting,
        LONG,
        &destinations(&facts(false)),
        &heard(scenario.id, &ALIVE),
        |_| Ok(()),
    );
    assert_eq!(ended.outcome, Outcome::Leak);
    assert_eq!(ended.reached, ["forbidden-svc-tcp"]);
}

#[rstest]
#[case("namespace-deleted")]
#[case("pod-deleted-by-force")]
fn an_end_that_nobody_can_police_is_published_and_not_judged(#[case] id: &str) {
    let arrivals = [
        ALIVE[0],
        ("forbidden-pod-tcp", 9),
        ("forbidden-pod-tcp", 12_000_009),
    ];
    let silent = Err("the witness got no answer".to_owned());
    let ended = ended(id, &arrivals, LONG, &silent);
    assert_eq!(ended.outcome, Outcome::ImplementationDefined);
    assert_eq!(ended.window_seconds, Some(12.0));
    assert!(!ended.outcome.fails(false));
}

#[rstest]
#[case::never_alive(&[], LONG, Ok(()), "reached nothing at all")]
#[case(&ALIVE, LONG, Err("no witness".to_owned()), "no witness")]
#[case(
    &ALIVE,
    // Its pod stayed, and its process went at SIGTERM.
    Watched { dialled_on_seconds: Some(1.2), ..LONG },
    Ok(()),
    "no dial later than 1.2 s"
)]
#[case(
    &ALIVE,
    Watched { dialled_on_seconds: None, ..LONG },
    Ok(()),
    "no dial at all"
)]
#[case(&ALIVE, Watched::default(), Ok(()), "end was not seen")]
fn silence_that_proves_nothing_is_not_taken_for_isolation(
    #[case] arrivals: &[(&str, u64)],
    #[case] watched: Watched,
    #[case] witness: Witness,
    #[case] why: &str,
) {
    let ended = ended("claim-deleted-background", arrivals, watched, &witness);
    assert_eq!(ended.outcome, Outcome::Unmeasured);
    let reason = ended.reason.unwrap();
    assert!(reason.contains(why), "{reason}");
}

#[rstest]
#[case("namespace-deleted")]
#[case("pod-deleted-by-force")]
fn an_end_of_a_workload_that_never_dialled_is_not_published_as_silence(#[case] id: &str) {
    let ended = ended(id, &[], LONG, &Ok(()));
    assert_eq!(ended.outcome, Outcome::Unmeasured);
}

#[test]
fn a_healed_policy_counts_only_if_the_workload_dialled_on_after_it() {
    let short = Watched {
        dialled_on_seconds: Some(0.4),
        ..LONG
    };
    let ended = ended("policy-deleted", &ALIVE, short, &Ok(()));
    assert_eq!(ended.outcome, Outcome::Unmeasured, "{:?}", ended.reason);
}

#[test]
fn how_long_a_healed_policy_was_missed_is_told() {
    let ended = ended("policy-deleted", &ALIVE, LONG, &Ok(()));
    assert_eq!(ended.allowed_silent_seconds, Some(0.875));
    assert_eq!(ended.healed_after_seconds, Some(0.2));
}

#[test]
fn a_leak_of_the_first_moments_is_told_from_one_of_the_end() {
    let mut arrivals = ALIVE.to_vec();
    arrivals.extend([
        ("forbidden-pod-udp", 400_000),
        ("forbidden-pod-tcp", 600_000),
        ("forbidden-pod-udp", 1_300_000),
    ]);
    let ended = ended("claim-failed", &arrivals, LONG, &Ok(()));
    assert_eq!(ended.outcome, Outcome::Leak);
    assert_eq!(ended.first_forbidden_seconds, Some(-0.6));
    assert_eq!(ended.forbidden_before_end, 2);
}
