use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use rstest::rstest;
use sandgate_shared::api::SandboxClaim;
use serde_json::json;

use super::{FLOOR, due, idle, is_over, limit};
use crate::claim::observed::{Lookup, Observed};
use crate::leader::Leaderless;

const DEFAULT: Duration = Duration::from_mins(30);

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_796_000_000 + second).unwrap()
}

fn observed(spec: &serde_json::Value, status: &serde_json::Value) -> Observed {
    let claim: SandboxClaim = serde_json::from_value(json!({
        "apiVersion": "omnia.altairalabs.ai/v1alpha1", "kind": "SandboxClaim",
        "metadata": {"name": "a", "namespace": "ns"}, "spec": spec, "status": status,
    }))
    .unwrap();
    Observed {
        leaderless: Some(Leaderless::default()),
        ..Observed::of(claim)
    }
}

fn plain() -> serde_json::Value {
    json!({"agentRuntimeRef": {"name": "rt"}, "classRef": {"name": "py"}, "sessionID": "s"})
}

fn used(phase: &str) -> serde_json::Value {
    json!({"phase": phase, "lastUsedAt": at(0).to_string()})
}

// Proves: R-003, R-004, R-005
#[rstest]
#[case::unset(json!({}), DEFAULT)]
#[case::longer(json!({"idleTimeout": "1h30m"}), Duration::from_mins(90))]
#[case::shorter_than_the_floor(json!({"idleTimeout": "90s"}), FLOOR)]
#[case::just_the_floor(json!({"idleTimeout": "10m"}), FLOOR)]
#[case::just_above_it(json!({"idleTimeout": "10m0.5s"}), FLOOR + Duration::from_millis(500))]
#[case::no_duration(json!({"idleTimeout": "half an hour"}), DEFAULT)]
#[case::no_text(json!({"idleTimeout": 30}), DEFAULT)]
#[case::nothing(json!({"idleTimeout": "0s"}), DEFAULT)]
#[case::less_than_nothing(json!({"idleTimeout": "-1h"}), DEFAULT)]
fn a_runtimes_timeout_counts_from_ten_minutes_on(
    #[case] sandbox: serde_json::Value,
    #[case] wait: Duration,
) {
    let runtime = serde_json::from_value(json!({ "sandbox": sandbox })).unwrap();
    assert_eq!(limit(&Lookup::Found(runtime), DEFAULT), wait);
    assert_eq!(limit(&Lookup::Missing, Duration::from_secs(1)), FLOOR);
}

// Proves: R-003, R-004, R-005, R-006
#[rstest]
#[case::pending("Pending", true)]
#[case::queued("Queued", true)]
#[case::failed("Failed", true)]
#[case::bound("Bound", false)]
#[case::completed("Completed", false)]
fn a_claim_is_over_strictly_after_its_time_and_is_looked_at_just_then(
    #[case] phase: &str,
    #[case] ends: bool,
) {
    let seen = observed(&plain(), &used(phase));
    let status = seen.claim.status.clone().unwrap();
    assert!(!is_over(&seen, DEFAULT, at(1800)));
    assert_eq!(is_over(&seen, DEFAULT, at(1801)), ends);
    let next = due(&seen, &status, DEFAULT, at(60));
    let then = Duration::from_millis(1_740_001);
    assert_eq!(next, ends.then_some(then));
    let looked = Duration::from_mins(1) + then;
    let looked = at(0) + SignedDuration::try_from(looked).unwrap();
    assert_eq!(is_over(&seen, DEFAULT, looked), ends);
}

// Proves: R-006, C-017
#[rstest]
#[case::no_status(plain(), json!(null))]
#[case::no_phase(plain(), json!({"lastUsedAt": at(0).to_string()}))]
#[case::no_use(plain(), json!({"phase": "Pending"}))]
#[case::a_failed_one_without_use(plain(), json!({"phase": "Failed"}))]
#[case::an_enrolment(
    json!({"classRef": {"name": "py"}, "sessionID": "s", "enrolment": {"connection": "c", "requester": "r"}}),
    used("Pending")
)]
fn a_claim_that_no_time_ends_is_never_over(
    #[case] spec: serde_json::Value,
    #[case] status: serde_json::Value,
) {
    let seen = observed(&spec, &status);
    let status = seen.claim.status.clone().unwrap_or_default();
    assert!(!is_over(&seen, DEFAULT, Timestamp::MAX));
    assert_eq!(due(&seen, &status, DEFAULT, at(0)), None);
}

// Proves: R-003
#[test]
fn nothing_is_over_while_it_is_not_known_what_time_it_is_or_when_nobody_led() {
    let seen = Observed {
        leaderless: None,
        ..observed(&plain(), &used("Pending"))
    };
    let status = seen.claim.status.clone().unwrap();
    assert!(!is_over(&seen, DEFAULT, Timestamp::MAX));
    let again = due(&seen, &status, DEFAULT, at(0));
    assert_eq!(again, Some(Duration::from_mins(1)));
}

proptest! {
    // Proves: R-003
    #[test]
    fn time_without_a_leader_moves_the_end_by_just_as_much(
        from in 0_i64..5000,
        length in 0_i64..5000,
        later in 0_i64..10_000,
    ) {
        let leaderless = Leaderless::default().with(at(from), at(from + length));
        let seen = Observed {
            leaderless: Some(leaderless.clone()),
            ..observed(&plain(), &used("Pending"))
        };
        let counted = (0..later).filter(|second| !(from..from + length).contains(second)).count();
        let counted = i64::try_from(counted).unwrap();
        prop_assert_eq!(idle(at(later), at(0), &leaderless).as_secs(), counted);
        prop_assert_eq!(is_over(&seen, DEFAULT, at(later)), counted > 1800);
    }

    // Proves: R-003
    #[test]
    fn what_is_looked_at_when_it_is_due_is_over(used_at in 0_i64..5000, now in 0_i64..5000) {
        let status = json!({"phase": "Pending", "lastUsedAt": at(used_at).to_string()});
        let seen = observed(&plain(), &status);
        let status = seen.claim.status.clone().unwrap();
        let wait = due(&seen, &status, DEFAULT, at(now)).unwrap();
        let then = at(now) + SignedDuration::try_from(wait).unwrap();
        prop_assert!(is_over(&seen, DEFAULT, then));
    }
}
