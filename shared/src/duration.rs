//! Durations as Go writes them: `90s`, `1h30m`, `-1.5h`, `0`. Pure.
//!
//! Reads what Go's `time.ParseDuration` reads and nothing else, and never panics; `kube::core::Duration`
//! does on a sign within the text, and takes an empty one for 0.

use std::{str::FromStr, time::Duration};

use thiserror::Error;

/// Units with their nanoseconds; both signs for micro are in use.
const UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Digits behind the point that can matter: more are finer than a nanosecond of an hour.
const FRACTION_DIGITS: usize = 18;

/// Why a text is no duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DurationError {
    /// There is no number where one has to be.
    #[error(
        "failed to read a duration: it must be numbers, each with a unit, such as 30m or 1h30m"
    )]
    Number,
    /// A number has no unit, or one that does not exist.
    #[error("failed to read a duration: each number needs one of the units ns, us, ms, s, m and h")]
    Unit,
    /// It does not fit into 64 bits of nanoseconds.
    #[error("failed to read a duration: it is longer than 292 years")]
    TooLong,
}

/// A signed number of nanoseconds, of at most 292 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct GoDuration {
    nanoseconds: i64,
}

impl GoDuration {
    /// Its nanoseconds.
    pub const fn nanoseconds(self) -> i64 {
        self.nanoseconds
    }

    /// The same, if it is longer than nothing.
    pub fn positive(self) -> Option<Duration> {
        let nanoseconds = u64::try_from(self.nanoseconds).ok()?;
        Some(Duration::from_nanos(nanoseconds)).filter(|duration| !duration.is_zero())
    }
}

impl FromStr for GoDuration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        let (sign, mut rest) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        if rest == "0" {
            return Ok(Self::default());
        }
        if rest.is_empty() {
            return Err(DurationError::Number);
        }
        let mut total = 0_u128;
        while !rest.is_empty() {
            let (part, after) = part(rest)?;
            total = total.saturating_add(part);
            rest = after;
        }
        let total = i128::try_from(total).unwrap_or(i128::MAX);
        match i64::try_from(total.saturating_mul(sign)) {
            Ok(nanoseconds) => Ok(Self { nanoseconds }),
            Err(_) => Err(DurationError::TooLong),
        }
    }
}

/// The nanoseconds of the first number and its unit, and what comes after them.
fn part(text: &str) -> Result<(u128, &str), DurationError> {
    let (whole, rest) = digits(text);
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), digits);
    if whole.is_empty() && fraction.is_empty() {
        return Err(DurationError::Number);
    }
    let end = rest.find(|c: char| c == '.' || c.is_ascii_digit());
    let (name, rest) = rest.split_at(end.unwrap_or(rest.len()));
    let unit = UNITS.iter().find(|(unit, _)| *unit == name);
    let unit = unit.map_or(Err(DurationError::Unit), |(_, unit)| Ok(u128::from(*unit)))?;
    let whole = if whole.is_empty() {
        0
    } else {
        whole.parse().map_err(|_| DurationError::TooLong)?
    };
    let fraction: String = fraction.chars().take(FRACTION_DIGITS).collect();
    let scale = fraction.chars().fold(1_u128, |scale, _| scale * 10);
    let finer = fraction.parse().unwrap_or(0_u128) * unit / scale;
    let nanoseconds = u128::checked_mul(whole, unit).and_then(|whole| whole.checked_add(finer));
    Ok((nanoseconds.ok_or(DurationError::TooLong)?, rest))
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}
