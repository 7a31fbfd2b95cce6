//! Foreign text made fit for a terminal and a log. Pure.

use std::fmt::Write as _;

/// `text` with everything escaped that moves a cursor, ends a line or reverses the reading direction,
/// and cut so that it has at most `longest` characters.
pub(super) fn clean(text: &str, longest: usize) -> String {
    let mut cleaned = String::with_capacity(text.len().min(longest));
    let (mut count, mut cut) = (0, 0);
    for character in text.chars() {
        let before = cleaned.len();
        match character {
            '\n' => cleaned.push_str("\\n"),
            '\r' => cleaned.push_str("\\r"),
            '\t' => cleaned.push_str("\\t"),
            _ if character.is_control() || misleads(character) => {
                // Writing to a String cannot fail.
                let _ = write!(cleaned, "\\u{{{:x}}}", u32::from(character));
            }
            _ => cleaned.push(character),
        }
        // What is escaped is ASCII; anything else is one character.
        count += if character.len_utf8() == cleaned.len() - before {
            1
        } else {
            cleaned.len() - before
        };
        if count > longest {
            cleaned.truncate(cut);
            cleaned.push('…');
            break;
        }
        if count < longest {
            cut = cleaned.len();
        }
    }
    cleaned
}

/// Line separators, bidirectional controls and characters of no width.
fn misleads(character: char) -> bool {
    matches!(
        character,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use super::clean;

    // Proves: W-002
    #[test]
    fn nothing_that_steers_a_terminal_survives() {
        let cleaned = clean("a\nb\u{1b}[2Jc\u{202e}d\r\u{0}", 100);
        assert_eq!(cleaned, "a\\nb\\u{1b}[2Jc\\u{202e}d\\r\\u{0}");
    }

    #[test]
    fn plain_text_in_any_script_stays_and_long_text_is_cut_by_characters() {
        assert_eq!(clean("größe 大きさ", 100), "größe 大きさ");
        assert_eq!(clean("大大大", 2), "大…");
        assert_eq!(clean("大大", 2), "大大");
    }

    #[test]
    fn what_escapes_make_longer_is_cut_too_and_no_escape_in_half() {
        assert_eq!(clean("ab\u{1b}c", 7), "ab…");
        assert_eq!(clean("ab\u{1b}c", 9), "ab\\u{1b}c");
        assert_eq!(clean(&"\n".repeat(1000), 120).chars().count(), 119);
    }
}
