//! What a leader makes of the answers it gets.

use super::*;

fn stood() -> Stood {
    Stood {
        policy: "p".to_owned(),
        binding: "b".to_owned(),
        policy_created: Timestamp::UNIX_EPOCH,
        since: Timestamp::UNIX_EPOCH,
    }
}

fn session(proof: Option<Timestamp>, answers: &[Answer]) -> Session {
    let now = Instant::now();
    let mut session = Session::of(stood(), now);
    session.proof = proof;
    for answer in answers {
        session.answered(answer.clone(), now);
    }
    session
}

fn foreign() -> Answer {
    Answer::Policy("theirs".to_owned())
}

const PROOF: Option<Timestamp> = Some(Timestamp::UNIX_EPOCH);

// Proves: P-029
#[test]
fn without_a_record_nothing_is_proven_and_the_last_answer_is_told() {
    let unproven = |answered| Trust::Unproven {
        stood: stood(),
        answered,
    };
    assert_eq!(session(None, &[]).trust(), unproven(None));
    assert_eq!(
        session(None, &[Answer::Admitted, foreign()]).trust(),
        unproven(Some(foreign()))
    );
    assert_eq!(
        session(None, &[foreign(), Answer::Ours]).trust(),
        unproven(None)
    );
}

// Proves: P-029
#[test]
fn a_record_counts_once_this_leader_has_tried_the_policy_whoever_answered() {
    let proven = Trust::Proven {
        stood: stood(),
        proof: Timestamp::UNIX_EPOCH,
    };
    assert_eq!(session(PROOF, &[]).trust(), Trust::Unknown);
    assert_eq!(session(PROOF, &[Answer::Ours]).trust(), proven);
    assert_eq!(session(PROOF, &[foreign()]).trust(), proven);
}

// Proves: P-029
#[test]
fn a_policy_that_let_something_through_stops_verification_until_it_refuses_again() {
    let stopped = Trust::Stopped {
        stood: stood(),
        answered: Answer::Admitted,
    };
    let passed = [Answer::Ours, Answer::Admitted];
    assert_eq!(session(PROOF, &passed).trust(), stopped);
    // What answers before the policy does not show that it is back.
    let then = [Answer::Admitted, foreign()];
    assert_eq!(session(PROOF, &then).trust(), stopped);
    let back = [Answer::Admitted, Answer::Ours];
    assert!(matches!(
        session(PROOF, &back).trust(),
        Trust::Proven { .. }
    ));
}

// Proves: P-029
#[test]
fn a_policy_that_refuses_is_tried_every_five_minutes_and_another_sooner_and_sooner_less() {
    let now = Instant::now();
    let mut session = Session::of(stood(), now);
    assert_eq!(session.due, now);
    let mut waits = Vec::new();
    for _ in 0..12 {
        session.answered(Answer::Admitted, now);
        waits.push(session.due.duration_since(now).as_millis());
    }
    assert_eq!(waits[..4], [200, 400, 800, 1600]);
    assert_eq!(waits[11], 30_000);
    session.answered(Answer::Ours, now);
    assert_eq!(session.due.duration_since(now), EVERY);
    session.answered(foreign(), now);
    assert_eq!(session.due.duration_since(now), SOON);
}
