//! Quoting as Go's strconv does it. Pure.

use std::{fmt::Write as _, sync::LazyLock};

use regex::Regex;

/// What Go calls printable: letters, marks, numbers, punctuation, symbols and the ASCII space.
static PRINTABLE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^[ \p{L}\p{M}\p{N}\p{P}\p{S}]$").ok());

/// Whether Go writes the character as it is.
pub(super) fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return (' '..='~').contains(&character);
    }
    let mut buffer = [0; 4];
    let text = character.encode_utf8(&mut buffer);
    PRINTABLE
        .as_ref()
        .is_some_and(|pattern| pattern.is_match(text))
}

/// The text between double quotes; with `ascii` all other characters are escaped.
pub(super) fn text(bytes: &[u8], ascii: bool) -> Vec<u8> {
    let mut out = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            escape(character, '"', ascii, &mut out);
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('"');
    out.into_bytes()
}

/// The character between single quotes; with `ascii` all other characters are escaped.
pub(super) fn character(character: char, ascii: bool) -> Vec<u8> {
    let mut out = String::from("'");
    escape(character, '\'', ascii, &mut out);
    out.push('\'');
    out.into_bytes()
}

/// Whether the text can stand between backquotes unchanged.
pub(super) fn fits_backquotes(bytes: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(bytes) else {
        return false;
    };
    let forbidden = |character: char| {
        matches!(character, '\u{feff}' | '`' | '\u{7f}') || character < ' ' && character != '\t'
    };
    !text.contains(forbidden)
}

fn escape(character: char, quote: char, ascii: bool, out: &mut String) {
    if character == quote || character == '\\' {
        out.push('\\');
        out.push(character);
        return;
    }
    if is_printable(character) && (character.is_ascii() || !ascii) {
        out.push(character);
        return;
    }
    let short = match character {
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\u{c}' => 'f',
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        '\u{b}' => 'v',
        _ => {
            let code = u32::from(character);
            let _ = match code {
                0..0x20 | 0x7f => write!(out, "\\x{code:02x}"),
                0x20..0x1_0000 => write!(out, "\\u{code:04x}"),
                _ => write!(out, "\\U{code:08x}"),
            };
            return;
        }
    };
    out.push('\\');
    out.push(short);
}
