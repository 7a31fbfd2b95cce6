use std::collections::BTreeMap;

use k8s_openapi::jiff::SignedDuration;
use proptest::prelude::*;

use super::*;

const EVERY: Duration = Duration::from_mins(1);

fn now() -> Timestamp {
    "2026-11-20T10:00:00Z".parse().unwrap()
}

// Proves: M-021
#[test]
fn directories_that_were_looked_at_together_are_looked_at_one_after_the_other_from_then_on() {
    let mut by_second: BTreeMap<u64, u32> = BTreeMap::new();
    for number in 0..10_000 {
        let turn = turn(&format!("claim-{number}"), EVERY, now());
        *by_second.entry(turn.as_secs()).or_default() += 1;
    }
    // 185 a second if they were spread with a ruler.
    let most = by_second.values().max().unwrap();
    assert!(*most < 250, "{by_second:?}");
    assert!(by_second.len() > 53, "{by_second:?}");
}

proptest! {
    // Proves: M-021
    #[test]
    fn a_directory_is_never_left_alone_for_longer_than_told_and_its_turns_are_evenly_apart(
        uid in "[0-9a-f-]{1,36}",
        every in 1_u64..=3600,
        since in 0_i64..1_000_000_000,
    ) {
        let every = Duration::from_secs(every);
        let mut at = now() + SignedDuration::from_millis(since);
        let first = turn(&uid, every, at);
        prop_assert!(first >= every / 10 && first <= every, "{first:?}");
        for _ in 0..3 {
            at += turn(&uid, every, at);
            prop_assert_eq!(turn(&uid, every, at), every * 9 / 10);
        }
    }
}
