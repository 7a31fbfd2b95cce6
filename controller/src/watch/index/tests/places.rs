//! The seats of a runtime's claims, and whom it concerns when one is left.

use std::collections::BTreeSet;

use rstest::rstest;
use serde_json::{Value, json};

use super::{claim, object};
use crate::admission_queue::{Limit, Standing};
use crate::key::Key;
use crate::watch::index::Index;
use crate::watch::{Source, Subject};

fn runtime() -> Key {
    Key::new("ns", "rt")
}

fn with(mut claim: Value, phase: &str, admitted: bool) -> Value {
    let admitted = if admitted { "True" } else { "False" };
    claim["status"] = json!({"phase": phase, "conditions": [
        {"type": "Admitted", "status": admitted, "reason": "Admitted", "message": "",
            "lastTransitionTime": "2026-11-20T10:00:00Z"},
        {"type": "Ready", "status": "False", "reason": "CeilingReached", "message": "",
            "lastTransitionTime": "2026-11-20T10:00:00Z"}]});
    claim
}

fn deleted(mut claim: Value) -> Value {
    claim["metadata"]["deletionTimestamp"] = json!("2026-11-20T10:00:00Z");
    claim
}

fn observe(index: &Index, claim: Value) -> BTreeSet<Subject> {
    index.observe(Source::Claims, object(claim)).unwrap()
}

/// Name and standing of each claim that has a seat.
fn seats(index: &Index) -> Vec<(String, Standing)> {
    let seats = index.seats(&runtime(), |_| true).into_iter();
    seats
        .map(|seat| (seat.key.name.clone(), seat.standing))
        .collect()
}

// Proves: C-012, C-016
#[rstest]
#[case::new(claim("a", 1), Some(Standing::Waiting))]
#[case::queued(with(claim("a", 1), "Queued", false), Some(Standing::Waiting))]
#[case::admitted(with(claim("a", 1), "Pending", true), Some(Standing::Admitted))]
#[case::bound(with(claim("a", 1), "Bound", true), Some(Standing::Admitted))]
#[case::bound_by_an_earlier_version(with(claim("a", 1), "Bound", false), Some(Standing::Admitted))]
#[case::pending_and_not_admitted(with(claim("a", 1), "Pending", false), Some(Standing::Waiting))]
#[case::failed(with(claim("a", 1), "Failed", true), None)]
#[case::completed(with(claim("a", 1), "Completed", true), None)]
#[case::being_deleted(deleted(with(claim("a", 1), "Bound", true)), None)]
fn a_claim_holds_a_place_from_its_admission_until_it_is_over(
    #[case] claim: Value,
    #[case] standing: Option<Standing>,
) {
    let index = Index::default();
    observe(&index, claim);
    let expected = standing.map(|standing| ("a".to_owned(), standing));
    assert_eq!(seats(&index), Vec::from_iter(expected));
}

// Proves: C-012
#[test]
fn an_object_of_its_own_is_the_place_of_a_claim_that_an_earlier_version_left_without_a_record() {
    let index = Index::default();
    observe(&index, claim("a", 1));
    let service = json!({
        "metadata": {"namespace": "ns", "name": "a-sandbox", "uid": "s", "resourceVersion": "2",
            "ownerReferences": [{"apiVersion": "v1", "kind": "SandboxClaim", "name": "a", "uid": "uid-a",
                "controller": true}]},
        "spec": {},
    });
    index.observe(Source::Services, object(service)).unwrap();
    assert_eq!(seats(&index), [("a".to_owned(), Standing::Admitted)]);
}

#[test]
fn a_claim_that_does_not_ask_stands_aside() {
    let index = Index::default();
    observe(&index, claim("a", 1));
    let seats = index.seats(&runtime(), |_| false);
    assert_eq!(seats[0].standing, Standing::Aside);
}

// Proves: C-017
#[test]
fn an_enrolment_has_no_seat() {
    let index = Index::default();
    let mut enrolment = claim("a", 1);
    enrolment["spec"]["agentRuntimeRef"] = json!(null);
    enrolment["spec"]["enrolment"] = json!({"connection": "mail"});
    observe(&index, enrolment);
    assert_eq!(seats(&index), []);
    assert_eq!(index.revision_of(&runtime()), 0);
}

// Proves: C-014, C-016
#[rstest]
#[case::fails(with(claim("a", 5), "Failed", true), true)]
#[case::is_completed(with(claim("a", 5), "Completed", true), true)]
#[case::is_being_deleted(deleted(with(claim("a", 5), "Pending", true)), true)]
#[case::binds(with(claim("a", 5), "Bound", true), false)]
#[case::is_another_by_its_name(
    {
        let mut again = with(claim("a", 5), "Pending", true);
        again["metadata"]["uid"] = json!("another");
        again
    },
    true
)]
fn a_place_that_is_left_concerns_the_runtimes_places_while_somebody_waits(
    #[case] next: Value,
    #[case] leaves: bool,
) {
    for waits in [false, true] {
        let index = Index::default();
        observe(&index, with(claim("a", 1), "Pending", true));
        if waits {
            observe(&index, with(claim("b", 2), "Queued", false));
        }
        let concerned = observe(&index, next.clone());
        let places = concerned.contains(&Subject::Places(runtime()));
        assert_eq!(places, leaves && waits, "{concerned:?}");
        assert!(!concerned.contains(&Subject::Claim(Key::new("ns", "b"))));
    }
}

// Proves: C-014
#[test]
fn a_claim_that_we_failed_ourselves_leaves_its_place_when_the_answer_is_read() {
    let index = Index::default();
    observe(&index, with(claim("a", 1), "Pending", true));
    observe(&index, with(claim("b", 2), "Queued", false));
    let failed = object(with(claim("a", 5), "Failed", true));
    let concerned = index.wrote_claim(failed.clone()).unwrap();
    assert_eq!(concerned, BTreeSet::from([Subject::Places(runtime())]));
    assert_eq!(
        index.observe(Source::Claims, failed).unwrap(),
        BTreeSet::new()
    );
}

// Proves: C-014
#[test]
fn an_edited_runtime_concerns_its_claims_but_those_in_the_queue() {
    let index = Index::default();
    observe(&index, with(claim("a", 1), "Pending", true));
    observe(&index, with(claim("b", 2), "Queued", false));
    let runtime = json!({"metadata": {"namespace": "ns", "name": "rt", "resourceVersion": "4"},
        "spec": {"sandbox": {"enabled": true, "maxConcurrent": 5}}});
    let concerned = index.observe(Source::Runtimes, object(runtime)).unwrap();
    let expected = [
        Subject::Claim(Key::new("ns", "a")),
        Subject::Places(self::runtime()),
    ];
    assert_eq!(concerned, BTreeSet::from(expected));
}

#[test]
fn the_revision_changes_with_the_seats_and_with_nothing_else() {
    let index = Index::default();
    observe(&index, claim("a", 1));
    let first = index.revision_of(&runtime());
    let mut touched = claim("a", 2);
    touched["metadata"]["labels"] = json!({"x": "y"});
    observe(&index, touched);
    assert_eq!(index.revision_of(&runtime()), first);
    observe(&index, with(claim("a", 3), "Pending", true));
    let admitted = index.revision_of(&runtime());
    assert!(admitted > first);
    observe(&index, with(claim("a", 4), "Bound", true));
    assert_eq!(index.revision_of(&runtime()), admitted);
    let elsewhere = Key::new("ns", "other");
    assert_eq!(index.revision_of(&elsewhere), 0);
}

#[test]
fn claims_that_wait_are_counted_by_what_they_wait_for() {
    let index = Index::default();
    observe(&index, with(claim("a", 1), "Queued", false));
    observe(&index, with(claim("b", 2), "Queued", false));
    observe(&index, with(claim("c", 3), "Pending", false));
    let counts = Limit::ALL.map(|limit| index.held_back_by(limit));
    assert_eq!(counts, [0, 0, 2]);
    observe(&index, with(claim("a", 4), "Pending", true));
    assert_eq!(index.held_back_by(Limit::Runtime), 1);
}

// Proves: C-001
#[test]
fn what_was_read_beside_a_watch_that_is_behind_counts_until_the_watch_catches_up() {
    let index = Index::default();
    observe(&index, claim("a", 1));
    observe(&index, claim("gone", 2));
    index
        .read_claim(object(with(claim("a", 7), "Pending", true)))
        .unwrap();
    index.read_claim(object(claim("new", 8))).unwrap();
    let all = ["a", "new"].map(|name| Key::new("ns", name));
    index.only_claims(&BTreeSet::from(all), "9");
    let expected = [("a", Standing::Admitted), ("new", Standing::Waiting)];
    let expected = expected.map(|(name, standing)| (name.to_owned(), standing));
    assert_eq!(seats(&index), expected);
    // The watch tells what was so before, and then what is.
    observe(&index, with(claim("a", 5), "Queued", false));
    assert_eq!(seats(&index), expected);
    observe(&index, with(claim("a", 10), "Failed", true));
    assert_eq!(seats(&index), [("new".to_owned(), Standing::Waiting)]);
}

#[test]
fn what_was_made_after_all_claims_were_read_is_kept() {
    let index = Index::default();
    observe(&index, claim("later", 12));
    index.only_claims(&BTreeSet::new(), "9");
    assert_eq!(index.claim_count(), 1);
}
