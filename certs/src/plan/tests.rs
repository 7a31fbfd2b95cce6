use std::collections::VecDeque;
use std::time::{Duration, Instant, UNIX_EPOCH};

use rstest::rstest;

use super::*;
use crate::directory::{TlsFiles, next_files};
use crate::issue::{self, Lifetimes};
use crate::trust::{SETTLING, held_by_all};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

fn start() -> SystemTime {
    UNIX_EPOCH + 20_000 * DAY
}

fn names() -> Vec<String> {
    vec![
        "sandgate-webhook.sandgate-system.svc".to_owned(),
        "127.0.0.1".to_owned(),
    ]
}

/// One CA and one leaf, both made at [`start`].
fn stored() -> Stored {
    let authority = issue::authority(365 * DAY, start()).unwrap();
    let leaf = issue::leaf(&authority, &names(), 30 * DAY, start()).unwrap();
    Stored {
        authorities: vec![authority],
        leaf: Some(leaf),
        unreadable: Vec::new(),
    }
}

/// Each CA of `stored` seen in every `caBundle` for so long.
fn standing(stored: &Stored, stood: Duration) -> StandingSince {
    let mut standing = StandingSince::default();
    let (held, first) = (held(stored), Instant::now());
    standing.observe(&held, first);
    standing.observe(&held, first + stood);
    standing
}

fn held(stored: &Stored) -> Vec<Certificate> {
    let authorities = stored.authorities.iter();
    authorities.map(|it| it.certificate.clone()).collect()
}

fn fingerprint(stored: &Stored, index: usize) -> Fingerprint {
    stored.authorities[index].certificate.fingerprint().clone()
}

// Proves: X-012
#[test]
fn an_empty_secret_gets_a_ca_and_a_leaf_of_it_at_once() {
    let plan = plan(
        start(),
        &Stored::default(),
        &names(),
        &StandingSince::default(),
    );
    assert_eq!(plan.authority, Some(AuthorityReason::NoneValid));
    assert_eq!(plan.leaf, Some((Signer::New, LeafReason::Missing)));
    assert!(plan.retire.is_empty());
}

// Proves: X-012
#[test]
fn without_a_name_to_serve_only_a_ca_is_made() {
    let plan = plan(start(), &Stored::default(), &[], &StandingSince::default());
    assert_eq!(plan.authority, Some(AuthorityReason::NoneValid));
    assert_eq!(plan.leaf, None);
}

// Proves: X-012
#[rstest]
#[case::just_made(Duration::ZERO, None)]
#[case::before_two_thirds(19 * DAY, None)]
#[case::after_two_thirds(20 * DAY, Some(LeafReason::RenewalDue))]
#[case::in_its_last_second(Duration::from_secs(30 * 24 * 3600 - 1), Some(LeafReason::RenewalDue))]
#[case::expired(30 * DAY, Some(LeafReason::NotValidNow))]
fn a_leaf_is_renewed_when_two_thirds_of_its_life_are_over(
    #[case] after: Duration,
    #[case] expected: Option<LeafReason>,
) {
    let stored = stored();
    let plan = plan(start() + after, &stored, &names(), &standing(&stored, DAY));
    let signer = Signer::Stored(fingerprint(&stored, 0));
    assert_eq!(plan.leaf, expected.map(|reason| (signer, reason)));
    assert_eq!(plan.authority, None);
}

// Proves: X-012
#[test]
fn a_leaf_is_renewed_by_its_own_ca_though_no_leader_stayed_long_enough_to_see_one_settle() {
    let stored = stored();
    let seen = standing(&stored, SECOND);
    let plan = plan(start() + 20 * DAY, &stored, &names(), &seen);
    let signer = Signer::Stored(fingerprint(&stored, 0));
    assert_eq!(plan.leaf, Some((signer, LeafReason::RenewalDue)));
}

// Proves: X-012
#[test]
fn a_leaf_that_ends_with_its_ca_is_renewed_by_the_next_one_and_not_by_its_own_again_and_again() {
    let mut stored = stored();
    let late = start() + 365 * DAY - HOUR / 3;
    let leaf = issue::leaf(&stored.authorities[0], &names(), 30 * DAY, late).unwrap();
    assert!(leaf.certificate.renewal_due() <= late);
    stored.leaf = Some(leaf);
    let next = issue::authority(365 * DAY, late).unwrap();
    stored.authorities.push(next);
    let seen = standing(&stored, SECOND);
    assert!(plan(late, &stored, &names(), &seen).is_nothing());
    let seen = standing(&stored, SETTLING);
    let signer = Signer::Stored(fingerprint(&stored, 1));
    let plan = plan(late, &stored, &names(), &seen);
    assert_eq!(plan.leaf, Some((signer, LeafReason::RenewalDue)));
}

// Proves: X-012
#[test]
fn a_leaf_that_is_not_valid_yet_is_replaced_by_one_of_a_ca_that_is() {
    let stored = stored();
    let plan = plan(
        start() - 2 * HOUR,
        &stored,
        &names(),
        &standing(&stored, DAY),
    );
    assert_eq!(plan.authority, Some(AuthorityReason::NoneValid));
    assert_eq!(plan.leaf, Some((Signer::New, LeafReason::NotValidNow)));
    assert!(
        plan.retire.is_empty(),
        "a clock that is behind must not cost the real CA"
    );
}

// Proves: X-012
#[test]
fn a_leaf_that_lacks_a_wanted_name_is_replaced_at_once() {
    let stored = stored();
    let mut wanted = names();
    wanted.push("192.0.2.7".to_owned());
    let plan = plan(start(), &stored, &wanted, &StandingSince::default());
    let signer = Signer::Stored(fingerprint(&stored, 0));
    assert_eq!(plan.leaf, Some((signer, LeafReason::NamesMissing)));
}

#[test]
fn a_leaf_with_more_names_than_wanted_stays() {
    let stored = stored();
    let plan = plan(start(), &stored, &names()[..1], &standing(&stored, DAY));
    assert!(plan.is_nothing(), "{plan:?}");
}

#[test]
fn names_are_compared_without_regard_to_their_spelling() {
    let stored = stored();
    let wanted = ["Sandgate-Webhook.sandgate-system.SVC".to_owned()];
    let plan = plan(start(), &stored, &wanted, &standing(&stored, DAY));
    assert!(plan.is_nothing(), "{plan:?}");
}

// Proves: X-012
#[test]
fn a_leaf_of_a_strange_ca_is_replaced() {
    let mut stored = stored();
    let strange = issue::authority(365 * DAY, start()).unwrap();
    stored.leaf = Some(issue::leaf(&strange, &names(), 30 * DAY, start()).unwrap());
    let plan = plan(start(), &stored, &names(), &StandingSince::default());
    let signer = Signer::Stored(fingerprint(&stored, 0));
    assert_eq!(plan.leaf, Some((signer, LeafReason::NotOurs)));
}

// Proves: X-012
#[test]
fn a_second_ca_is_made_when_two_thirds_of_the_firsts_life_are_over_and_the_leaf_stays() {
    let mut stored = stored();
    let now = start() + 244 * DAY;
    stored.leaf = Some(issue::leaf(&stored.authorities[0], &names(), 30 * DAY, now).unwrap());
    let plan = plan(now, &stored, &names(), &standing(&stored, DAY));
    assert_eq!(plan.authority, Some(AuthorityReason::RenewalDue));
    assert_eq!(plan.leaf, None);
    assert!(plan.retire.is_empty());
}

// Proves: X-012
#[rstest]
#[case::not_published(None, false)]
#[case::just_published(Some(Duration::ZERO), false)]
#[case::not_quite_settled(Some(Duration::from_secs(59)), false)]
#[case::settled(Some(SETTLING), true)]
fn the_leaf_moves_to_a_new_ca_only_after_it_has_settled(
    #[case] published_for: Option<Duration>,
    #[case] moves: bool,
) {
    let mut stored = stored();
    let now = start() + DAY;
    let mut seen = standing(&stored, DAY);
    stored
        .authorities
        .push(issue::authority(365 * DAY, now).unwrap());
    if let Some(published_for) = published_for {
        let (held, published) = (held(&stored), Instant::now() + 2 * DAY);
        seen.observe(&held, published);
        seen.observe(&held, published + published_for);
    }
    let plan = plan(now, &stored, &names(), &seen);
    let signer = Signer::Stored(fingerprint(&stored, 1));
    assert_eq!(
        plan.leaf,
        moves.then_some((signer, LeafReason::NewerAuthority))
    );
}

// Proves: X-012
#[test]
fn a_ca_that_left_a_bundle_in_between_has_to_settle_again() {
    let stored = stored();
    let (ca, held, first) = (fingerprint(&stored, 0), held(&stored), Instant::now());
    let mut seen = StandingSince::default();
    seen.observe(&held, first);
    seen.observe(&[], first + SETTLING);
    seen.observe(&held, first + SETTLING + SECOND);
    assert!(seen.stands(&ca) && !seen.is_settled(&ca));
    seen.observe(&held, first + 2 * SETTLING);
    assert!(!seen.is_settled(&ca));
    seen.observe(&held, first + 2 * SETTLING + SECOND);
    assert!(seen.is_settled(&ca));
}

// Proves: X-012
#[test]
fn an_expired_leaf_is_replaced_by_one_of_the_ca_that_stands_rather_than_of_a_newer_one() {
    let mut stored = stored();
    let now = start() + 31 * DAY;
    let seen = standing(&stored, SECOND);
    stored
        .authorities
        .push(issue::authority(365 * DAY, now).unwrap());
    let plan = plan(now, &stored, &names(), &seen);
    let signer = Signer::Stored(fingerprint(&stored, 0));
    assert_eq!(plan.leaf, Some((signer, LeafReason::NotValidNow)));
}

// Proves: X-012
#[test]
fn an_expired_ca_is_retired_and_its_leaf_replaced_by_one_of_the_next() {
    let mut stored = stored();
    let now = start() + 365 * DAY;
    stored
        .authorities
        .push(issue::authority(365 * DAY, now - DAY).unwrap());
    let plan = plan(now, &stored, &names(), &standing(&stored, HOUR));
    assert_eq!(plan.retire, vec![fingerprint(&stored, 0)]);
    let signer = Signer::Stored(fingerprint(&stored, 1));
    assert_eq!(plan.leaf, Some((signer, LeafReason::NotValidNow)));
}

#[test]
fn unreadable_entries_of_the_secret_are_cleared_away() {
    let mut stored = stored();
    stored
        .unreadable
        .push("ca-0.crt: failed to read the PEM text".to_owned());
    let plan = plan(start(), &stored, &names(), &standing(&stored, DAY));
    assert!(plan.clear_unreadable && !plan.is_nothing());
}

// Proves: X-012
#[rstest]
#[case::new_secret(Stored::default(), start())]
#[case::leaf_expired(stored(), start() + 40 * DAY)]
#[case::ca_due(stored(), start() + 250 * DAY)]
#[case::all_expired(stored(), start() + 400 * DAY)]
fn what_was_carried_out_is_not_planned_again(#[case] stored: Stored, #[case] now: SystemTime) {
    let seen = standing(&stored, DAY);
    let first = plan(now, &stored, &names(), &seen);
    assert!(!first.is_nothing());
    let next = issue::carry_out(&first, &stored, &names(), Lifetimes::default(), now).unwrap();
    let second = plan(now, &next, &names(), &seen);
    assert!(second.is_nothing(), "{second:?}");
}

/// Many lives of a CA in a row, with API servers that see a `caBundle` 50 s after it was written.
// Proves: X-012
#[test]
fn through_every_rotation_the_leaf_served_is_one_that_a_lagging_api_server_accepts() {
    let lifetimes = Lifetimes {
        authority: HOUR,
        leaf: HOUR / 4,
    };
    let (tick, began) = (10 * SECOND, Instant::now());
    let mut stored = Stored::default();
    let mut seen = StandingSince::default();
    let mut served: Option<TlsFiles> = None;
    let mut bundles = VecDeque::from(vec![String::new(); 6]);
    let (mut authorities, mut leaves, mut refused) = (0, 0, 0);
    for step in 0..1500 {
        let now = start() + step * tick;
        let applied = bundles.back().unwrap().clone();
        let held = held_by_all(&[applied.as_bytes(), applied.as_bytes()]);
        seen.observe(&held, began + step * tick);
        let plan = plan(now, &stored, &names(), &seen);
        authorities += u32::from(plan.authority.is_some());
        leaves += u32::from(plan.leaf.is_some());
        stored = issue::carry_out(&plan, &stored, &names(), lifetimes, now).unwrap();
        bundles.push_back(stored.bundle(now));
        bundles.pop_front();
        served = next_files(served.as_ref(), &stored, &held, &names(), now);
        let chain: Vec<_> = Certificate::read_all(served.as_ref().unwrap().certificate.as_bytes())
            .unwrap()
            .iter()
            .map(|certificate| certificate.der().clone())
            .collect();
        let lagging = held_by_all(&[bundles.front().unwrap()]);
        if trust::verify(&chain, &lagging, "127.0.0.1", now).is_err() {
            refused += 1;
            assert!(
                step < 6,
                "refused at {step}, long after the first bundle was published"
            );
        }
    }
    assert!(refused > 0, "the lag was not simulated");
    assert!(
        authorities > 4 && leaves > 20,
        "{authorities} CAs, {leaves} leaves"
    );
    assert!(stored.authorities.len() <= 2, "expired CAs are retired");
}
