//! What a stranger said, made fit for a line of a log. Pure.

/// Longer ones are cut off.
const LONGEST: usize = 200;

/// The first line of what was said: at most 200 characters, those that cannot be seen replaced.
pub fn first_line(bytes: &[u8]) -> String {
    let line = bytes
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    // A character has at most four bytes: more cannot matter.
    let line = line.get(..LONGEST * 4).unwrap_or(line);
    String::from_utf8_lossy(line)
        .trim_end_matches('\r')
        .chars()
        .take(LONGEST)
        .map(|char| if char.is_control() { '\u{fffd}' } else { char })
        .collect()
}

/// Whether more bytes could still change [`first_line`].
pub fn is_whole(bytes: &[u8]) -> bool {
    bytes.contains(&b'\n') || bytes.len() >= LONGEST * 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[rstest::rstest]
    #[case(b"alice>dns\n", "alice>dns")]
    #[case(b"alice>dns\nmore\n", "alice>dns")]
    #[case(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1")]
    #[case(b"", "")]
    #[case(b"\x1b[2J\x00\xff", "\u{fffd}[2J\u{fffd}\u{fffd}")]
    fn the_first_line_is_told(#[case] bytes: &[u8], #[case] line: &str) {
        assert_eq!(first_line(bytes), line);
    }

    proptest! {
        #[test]
        fn whatever_is_said_fits_into_one_line(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            let line = first_line(&bytes);
            prop_assert!(line.chars().count() <= LONGEST);
            prop_assert!(!line.chars().any(char::is_control));
        }

        #[test]
        fn what_is_whole_does_not_change(
            bytes in prop::collection::vec(any::<u8>(), 0..2000),
            more in prop::collection::vec(any::<u8>(), 0..50),
        ) {
            prop_assume!(is_whole(&bytes));
            let longer = [bytes.as_slice(), more.as_slice()].concat();
            prop_assert_eq!(first_line(&bytes), first_line(&longer));
        }
    }
}
