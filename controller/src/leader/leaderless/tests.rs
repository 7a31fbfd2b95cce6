use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

use super::{Leaderless, MOST};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_796_000_000 + second).unwrap()
}

fn of(intervals: &[(i64, i64)]) -> Leaderless {
    let intervals = intervals.iter().map(|(from, to)| (at(*from), at(*to)));
    Leaderless(intervals.collect()).tidy()
}

#[rstest]
#[case::apart(&[(0, 5)], (10, 15), &[(0, 5), (10, 15)])]
#[case::touching(&[(0, 5)], (5, 15), &[(0, 15)])]
#[case::overlapping(&[(0, 12)], (10, 15), &[(0, 15)])]
#[case::around(&[(3, 5), (7, 8)], (0, 15), &[(0, 15)])]
#[case::of_no_time(&[(0, 5)], (15, 15), &[(0, 5)])]
#[case::backwards(&[(0, 5)], (17, 15), &[(0, 5)])]
#[case::older_than_a_week(&[(0, 5)], (604_804, 604_806), &[(604_804, 604_806)])]
#[case::younger_than_a_week(&[(0, 5)], (604_803, 604_804), &[(0, 5), (604_803, 604_804)])]
fn an_interval_is_added_to_those_of_the_last_week(
    #[case] known: &[(i64, i64)],
    #[case] more: (i64, i64),
    #[case] all: &[(i64, i64)],
) {
    let added = of(known).with(at(more.0), at(more.1));
    assert_eq!(added, of(all));
    assert_eq!(Leaderless::read(&added.text()), Some(added));
}

fn lease(annotation: Option<&str>, managed: &serde_json::Value) -> ObjectMeta {
    let annotations = annotation.map(|text| json!({"omnia.altairalabs.ai/leaderless": text}));
    serde_json::from_value(json!({"annotations": annotations, "managedFields": managed})).unwrap()
}

fn stored(manager: &str, second: i64) -> serde_json::Value {
    json!({"manager": manager, "operation": "Update", "time": at(second).to_string()})
}

#[test]
fn the_time_since_the_last_renewal_counts_whatever_others_wrote_after_it() {
    let managed = json!([
        stored("sandgate-controller", 20),
        stored("kubectl-edit", 50)
    ]);
    let found = Leaderless::found(Some(&lease(Some("[]"), &managed)), at(60));
    assert_eq!(found, of(&[(20, 60)]));
}

#[rstest]
#[case::without_annotation(None, json!([stored("sandgate-controller", 20)]))]
#[case::with_an_odd_annotation(Some("5m"), json!([stored("sandgate-controller", 20)]))]
#[case::without_a_time_of_storage(Some("[]"), json!([{}]))]
#[case::written_by_others_alone(Some("[]"), json!([stored("kubectl-edit", 20)]))]
fn a_lease_that_tells_nothing_leaves_nothing_before_now_counted(
    #[case] annotation: Option<&str>,
    #[case] managed: serde_json::Value,
) {
    let found = Leaderless::found(Some(&lease(annotation, &managed)), at(60));
    let whole = at(60).duration_since(at(0));
    assert_eq!(found.within(at(0), at(60)), whole);
    assert_eq!(found, Leaderless::found(None, at(60)));
}

proptest! {
    #[test]
    fn never_less_is_subtracted_than_nobody_led_and_the_text_stays_small(
        intervals in prop::collection::vec((0_i64..500_000, 1_i64..500), 0..200),
        since in 0_i64..500_000,
    ) {
        let now = at(500_500);
        let mut seconds = vec![false; 500_500];
        let mut found = Leaderless::default();
        for (from, length) in &intervals {
            found = found.with(at(*from), at(from + length));
            for second in *from..from + length {
                seconds[usize::try_from(second).unwrap()] = true;
            }
        }
        let since_index = usize::try_from(since).unwrap();
        let exact = seconds[since_index..].iter().filter(|led| **led).count();
        let exact = SignedDuration::from_secs(i64::try_from(exact).unwrap());
        let counted = found.within(at(since), now);
        prop_assert!(counted >= exact, "{counted:?} is less than {exact:?}");
        prop_assert!(counted <= now.duration_since(at(since)));
        prop_assert!(found.0.len() <= MOST);
        prop_assert!(found.0.len() >= MOST || intervals.len() > MOST || counted == exact);
        prop_assert!(found.text().len() < 4096, "{}", found.text().len());
    }
}
