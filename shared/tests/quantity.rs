//! Quantities as Go's own library reads and compares them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failing test stops where it stands"
)]

use std::cmp::Ordering;

use proptest::prelude::*;
use rstest::rstest;
use sandgate_shared::quantity::{Quantity, QuantityError};
use serde::Deserialize;

/// A text, and its rank among all of the list that are quantities, as Go ranks it.
#[derive(Deserialize)]
struct Known {
    text: String,
    rank: Option<usize>,
}

fn known() -> Vec<Known> {
    serde_json::from_str(include_str!("oracles/quantities.json")).unwrap()
}

fn quantity(text: &str) -> Quantity {
    text.parse()
        .unwrap_or_else(|error: QuantityError| unreachable!("{text}: {error}"))
}

// Proves: T-047, T-048
#[test]
fn what_go_takes_for_a_quantity_is_one_and_nothing_else() {
    for Known { text, rank } in known() {
        let read = text.parse::<Quantity>();
        // Go takes a number without digits for nothing; the schema's pattern does not let it come.
        let is_one = rank.is_some() && read != Err(QuantityError::Digits);
        assert_eq!(read.is_ok(), is_one, "{text:?} is {read:?}");
    }
}

// Proves: T-047, T-048
#[test]
fn quantities_compare_as_in_go_however_they_are_written() {
    let known: Vec<_> = known()
        .into_iter()
        .filter(|known| known.text.contains(|c: char| c.is_ascii_digit()))
        .filter(|known| !known.text.starts_with('e'))
        .filter_map(|known| Some((known.text, known.rank?)))
        .collect();
    assert!(known.len() > 50, "the list is not all there");
    for (ours, our_rank) in &known {
        for (theirs, their_rank) in &known {
            assert_eq!(
                quantity(ours).cmp(&quantity(theirs)),
                our_rank.cmp(their_rank),
                "{ours} and {theirs}"
            );
        }
    }
}

#[rstest]
#[case::nothing("", QuantityError::Digits)]
#[case::a_sign("-", QuantityError::Digits)]
#[case::a_point(".", QuantityError::Digits)]
#[case::a_word("lots", QuantityError::Digits)]
#[case::a_foreign_suffix("1GB", QuantityError::Suffix)]
#[case::a_bare_exponent("1e", QuantityError::Suffix)]
#[case::half_an_exponent("1e0.5", QuantityError::Exponent)]
#[case::a_monstrous_exponent("1e1000000000", QuantityError::Exponent)]
fn what_is_no_quantity_says_why(#[case] text: &str, #[case] error: QuantityError) {
    assert_eq!(text.parse::<Quantity>(), Err(error));
}

#[test]
fn the_default_is_nothing() {
    assert_eq!(Quantity::default(), quantity("0"));
    assert!(quantity("1n") > Quantity::default());
    assert!(quantity("-1n") < Quantity::default());
}

#[test]
fn a_long_number_is_compared_to_its_last_digit() {
    let long = "9".repeat(5_000);
    let longer = format!("{long}0");
    assert!(quantity(&longer) > quantity(&long));
    assert_eq!(quantity(&longer), quantity(&format!("{long}e1")));
}

proptest! {
    #[test]
    fn no_text_makes_reading_panic(text in ".*") {
        let _ = text.parse::<Quantity>();
    }

    #[test]
    fn nothing_like_a_quantity_makes_reading_panic(text in "[-+]?[0-9.]{0,40}([eE][-+0-9.]{0,12}|[numkKMGTPEi]{0,3})") {
        let _ = text.parse::<Quantity>();
    }

    #[test]
    fn thousandths_compare_as_the_numbers_they_are(ours in any::<i32>(), theirs in any::<i32>()) {
        let read = |thousandths: i32| quantity(&format!("{thousandths}m"));
        prop_assert_eq!(read(ours).cmp(&read(theirs)), ours.cmp(&theirs));
    }

    #[test]
    fn binary_suffixes_multiply(number in 0_u64..1 << 20, power in 0_usize..4) {
        let suffix = ["Ki", "Mi", "Gi", "Ti"].get(power).copied().unwrap();
        let factor = 1024_u64.pow(u32::try_from(power).unwrap() + 1);
        let written = quantity(&format!("{number}{suffix}"));
        prop_assert_eq!(written.cmp(&quantity(&(number * factor).to_string())), Ordering::Equal);
    }

    #[test]
    fn zeros_around_a_number_change_nothing(number in 1_u32.., before in 0_usize..20, behind in 0_usize..20) {
        let padded = format!("{}{number}.{}", "0".repeat(before), "0".repeat(behind));
        prop_assert_eq!(quantity(&padded), quantity(&number.to_string()));
    }
}
