//! Kubernetes quantities, compared by value. Pure.
//!
//! `0.5`, `500m` and `5e-1` are one quantity. Exact: digits are kept as they are written, so nothing
//! overflows and no float rounds. As in the API server, what is finer than a billionth is rounded
//! away from zero.

use std::{cmp::Ordering, str::FromStr};

use thiserror::Error;

/// The finest digit a quantity keeps: 10⁻⁹.
const NANO: i64 = -9;

/// Suffixes with their power of ten.
const DECIMAL: &[(&str, i64)] = &[
    ("", 0),
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];

/// Suffixes that stand for powers of 1024, in order from the first.
const BINARY: &[&str] = &["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// Why a text is no quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum QuantityError {
    /// Neither a digit before nor behind the point.
    #[error("failed to read a quantity: it has no digits")]
    Digits,
    /// What follows the number is no suffix.
    #[error(
        "failed to read a quantity: the number may only be followed by n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent like e3"
    )]
    Suffix,
    /// The exponent has a fraction or is beyond any use.
    #[error("failed to read a quantity: the exponent must be a whole number of at most 9 digits")]
    Exponent,
}

/// An amount of a resource. The default is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quantity {
    negative: bool,
    /// The power of ten of the first digit; 0 for nothing.
    exponent: i64,
    /// Decimal digits, neither beginning nor ending with 0; none for nothing.
    digits: Vec<u8>,
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let negative = text.starts_with('-');
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (whole, rest) = leading_digits(unsigned);
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => leading_digits(rest),
            None => ("", rest),
        };
        let written = whole.bytes().chain(fraction.bytes());
        let mut digits: Vec<u8> = written.map(|digit| digit - b'0').collect();
        if digits.is_empty() {
            return Err(QuantityError::Digits);
        }
        let mut scale = 0;
        if let Some(power) = BINARY.iter().position(|known| *known == suffix) {
            (0..=power).for_each(|_| times_1024(&mut digits));
        } else {
            scale = decimal_scale(suffix)?;
        }
        // A length is far below what an i64 holds.
        let places = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
        let last = scale - places(fraction);
        Ok(Self::of(negative, digits, last))
    }
}

impl Quantity {
    /// Brings the number `digits` × 10^`last` to its one form.
    fn of(negative: bool, mut digits: Vec<u8>, last: i64) -> Self {
        let leading = digits.iter().take_while(|digit| **digit == 0).count();
        digits.drain(..leading);
        let count = i64::try_from(digits.len()).unwrap_or(i64::MAX);
        let mut exponent = last + count - 1;
        drop_trailing(&mut digits, 0);
        if digits.is_empty() {
            return Self::default();
        }
        let kept = usize::try_from(exponent - NANO + 1).unwrap_or(0);
        if kept < digits.len() {
            digits.truncate(kept);
            drop_trailing(&mut digits, 9);
            if let Some(digit) = digits.last_mut() {
                *digit += 1;
            } else {
                // Nothing is left of it, or nothing but the carry: a 1 one place further up.
                digits.push(1);
                exponent = exponent.max(NANO - 1) + 1;
            }
        }
        Self {
            negative,
            exponent,
            digits,
        }
    }

    fn size(&self) -> (i64, &[u8]) {
        (self.exponent, &self.digits)
    }

    /// How it compares with nothing.
    fn sign(&self) -> Ordering {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => Ordering::Equal,
            (false, true) => Ordering::Less,
            (false, false) => Ordering::Greater,
        }
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.sign(), other.sign()) {
            (Ordering::Greater, Ordering::Greater) => self.size().cmp(&other.size()),
            (Ordering::Less, Ordering::Less) => other.size().cmp(&self.size()),
            (ours, theirs) => ours.cmp(&theirs),
        }
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn drop_trailing(digits: &mut Vec<u8>, digit: u8) {
    while digits.last() == Some(&digit) {
        digits.pop();
    }
}

fn leading_digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

/// The power of ten that a suffix or an exponent stands for.
fn decimal_scale(suffix: &str) -> Result<i64, QuantityError> {
    if let Some((_, scale)) = DECIMAL.iter().find(|(known, _)| *known == suffix) {
        return Ok(*scale);
    }
    let exponent = suffix.strip_prefix(['e', 'E']);
    let exponent = exponent.ok_or(QuantityError::Suffix)?;
    let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Err(QuantityError::Suffix);
    }
    if digits.len() > 9 {
        return Err(QuantityError::Exponent);
    }
    exponent.parse().map_err(|_| QuantityError::Exponent)
}

fn times_1024(digits: &mut Vec<u8>) {
    let mut carry: u32 = 0;
    for digit in digits.iter_mut().rev() {
        carry += u32::from(*digit) * 1024;
        *digit = last_digit(carry);
        carry /= 10;
    }
    let mut front = Vec::new();
    while carry > 0 {
        front.push(last_digit(carry));
        carry /= 10;
    }
    digits.splice(0..0, front.into_iter().rev());
}

fn last_digit(number: u32) -> u8 {
    // Below 10.
    u8::try_from(number % 10).unwrap_or_default()
}
