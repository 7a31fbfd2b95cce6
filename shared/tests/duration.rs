//! Durations are read as Go's `time.ParseDuration` reads them.

use std::time::Duration;

use proptest::prelude::*;
use rstest::rstest;
use sandgate_shared::duration::{DurationError, GoDuration};

const SECOND: i64 = 1_000_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

/// From Go's own table (`parseDurationTests` of package `time`).
#[rstest]
#[case("0", 0)]
#[case("5s", 5 * SECOND)]
#[case("30s", 30 * SECOND)]
#[case("1478s", 1478 * SECOND)]
#[case("-5s", -5 * SECOND)]
#[case("+5s", 5 * SECOND)]
#[case("-0", 0)]
#[case("+0", 0)]
#[case("5.0s", 5 * SECOND)]
#[case("5.6s", 5 * SECOND + 600_000_000)]
#[case("5.s", 5 * SECOND)]
#[case(".5s", SECOND / 2)]
#[case("1.0s", SECOND)]
#[case("1.00s", SECOND)]
#[case("1.004s", SECOND + 4_000_000)]
#[case("1.0040s", SECOND + 4_000_000)]
#[case("100.00100s", 100 * SECOND + 1_000_000)]
#[case("10ns", 10)]
#[case("11us", 11_000)]
#[case("12\u{b5}s", 12_000)]
#[case("12\u{3bc}s", 12_000)]
#[case("13ms", 13_000_000)]
#[case("14s", 14 * SECOND)]
#[case("15m", 15 * MINUTE)]
#[case("16h", 16 * HOUR)]
#[case("3h30m", 3 * HOUR + 30 * MINUTE)]
#[case("10.5s4m", 4 * MINUTE + 10 * SECOND + 500_000_000)]
#[case("-2m3.4s", -(2 * MINUTE + 3 * SECOND + 400_000_000))]
#[case("1h2m3s4ms5us6ns", HOUR + 2 * MINUTE + 3 * SECOND + 4_005_006)]
#[case("39h9m14.425s", 39 * HOUR + 9 * MINUTE + 14 * SECOND + 425_000_000)]
#[case("52763797000ns", 52_763_797_000)]
#[case("0.3333333333333333333h", 20 * MINUTE - 1)]
#[case("9007199254740993ns", (1 << 53) + 1)]
#[case("9223372036854775807ns", i64::MAX)]
#[case("9223372036854775.807us", i64::MAX)]
#[case("9223372036s854ms775us807ns", i64::MAX)]
#[case("-9223372036854775808ns", i64::MIN)]
#[case("0.9223372036854775807h", 3_320_413_933_267)]
fn a_duration_is_read_as_go_reads_it(#[case] text: &str, #[case] nanoseconds: i64) {
    let read = text.parse::<GoDuration>().map(GoDuration::nanoseconds);
    // Where Go rounds a float, it may be off by the last nanosecond.
    let close = read.is_ok_and(|read| read.abs_diff(nanoseconds) <= 1);
    assert!(close, "{text}: {read:?} is not {nanoseconds}");
}

#[rstest]
#[case("", DurationError::Number)]
#[case("3", DurationError::Unit)]
#[case("-", DurationError::Number)]
#[case("s", DurationError::Number)]
#[case(".", DurationError::Number)]
#[case("-.", DurationError::Number)]
#[case(".s", DurationError::Number)]
#[case("+.s", DurationError::Number)]
#[case("1d", DurationError::Unit)]
#[case("30 m", DurationError::Unit)]
#[case(" 30m", DurationError::Number)]
#[case("30m ", DurationError::Unit)]
#[case("1h-5m", DurationError::Unit)]
#[case("1e3s", DurationError::Unit)]
#[case("--5s", DurationError::Number)]
#[case("+-5s", DurationError::Number)]
#[case("30M", DurationError::Unit)]
#[case("PT30M", DurationError::Number)]
#[case("\u{660}s", DurationError::Number)]
#[case("NaNs", DurationError::Number)]
#[case("9223372036854775808ns", DurationError::TooLong)]
#[case("9223372036854775.808us", DurationError::TooLong)]
#[case("-9223372036854775809ns", DurationError::TooLong)]
#[case("3000000h", DurationError::TooLong)]
#[case("99999999999999999999999999999999999999999h", DurationError::TooLong)]
fn what_go_does_not_read_is_refused(#[case] text: &str, #[case] why: DurationError) {
    assert_eq!(text.parse::<GoDuration>(), Err(why), "{text:?}");
}

#[rstest]
#[case("30m", Some(Duration::from_mins(30)))]
#[case("0s", None)]
#[case("-30m", None)]
fn only_what_is_longer_than_nothing_is_a_wait(#[case] text: &str, #[case] wait: Option<Duration>) {
    assert_eq!(text.parse::<GoDuration>().unwrap().positive(), wait);
}

proptest! {
    #[test]
    fn no_text_panics(text in r"[-+.0-9nuµmshd e]{0,24}|\PC{0,12}") {
        let _ = text.parse::<GoDuration>();
    }

    #[test]
    fn parts_add_up(h in 0_i64..1000, m in 0_i64..1000, s in 0_i64..1000, ns in 0_i64..1000) {
        let text = format!("{h}h{m}m{s}s{ns}ns");
        let read = text.parse::<GoDuration>().map(GoDuration::nanoseconds);
        prop_assert_eq!(read, Ok(h * HOUR + m * MINUTE + s * SECOND + ns));
        let negative = format!("-{text}").parse::<GoDuration>().map(GoDuration::nanoseconds);
        prop_assert_eq!(negative, read.map(|read| -read));
    }
}
