//! How one value is written: Go's flags, width, precision and verb. Pure.

use std::{fmt::Write as _, iter};

use super::{RunFault, quote, run::Budget, value::Value};

/// The verbs that are taken, for one kind of value or another.
const VERBS: &str = "vsxXqdbcoOUt";

/// What stands between `%` and the verb.
#[allow(
    clippy::struct_excessive_bools,
    reason = "Go has five flags, and any of them may stand with any other"
)]
#[derive(Clone, Copy, Default)]
pub(super) struct Style {
    pub(super) sharp: bool,
    pub(super) zero: bool,
    pub(super) plus: bool,
    pub(super) minus: bool,
    pub(super) space: bool,
    pub(super) width: usize,
    pub(super) precision: Option<usize>,
}

impl Style {
    /// Appends `value` to `out`.
    pub(super) fn write(
        mut self,
        value: &Value<'_>,
        verb: char,
        out: &mut Vec<u8>,
        budget: &mut Budget,
    ) -> Result<(), RunFault> {
        if !VERBS.contains(verb) {
            return Err(RunFault::Format);
        }
        if verb == 'v' {
            if self.sharp {
                // The notation of Go programs, which no file of a tool is written in.
                return Err(RunFault::Format);
            }
            self.plus = false;
        }
        match value {
            Value::Map(data) => {
                budget.put(b"map[", out)?;
                for (index, (key, value)) in data.entries().enumerate() {
                    if index > 0 {
                        budget.put(b" ", out)?;
                    }
                    self.text(key.as_bytes(), verb, out, budget)?;
                    budget.put(b":", out)?;
                    self.text(value, verb, out, budget)?;
                }
                budget.put(b"]", out)
            }
            Value::Text(text) => self.text(text, verb, out, budget),
            Value::Flag(flag) if matches!(verb, 'v' | 't') => {
                let word: &[u8] = if *flag { b"true" } else { b"false" };
                self.pad(word, out, budget)
            }
            Value::Flag(_) => Err(RunFault::Format),
            Value::Number(number) => self.number(*number, verb, out, budget),
            Value::Byte(byte) => self.number(i64::from(*byte), verb, out, budget),
        }
    }

    /// Appends `text` in the width asked for, which is counted in characters.
    fn pad(self, text: &[u8], out: &mut Vec<u8>, budget: &mut Budget) -> Result<(), RunFault> {
        let padding = self.width.saturating_sub(characters(text).count());
        budget.grow(out, text.len().saturating_add(padding))?;
        let with = if self.zero && !self.minus { b'0' } else { b' ' };
        let padding = iter::repeat_n(with, padding);
        if self.minus {
            out.extend_from_slice(text);
            out.extend(padding);
        } else {
            out.extend(padding);
            out.extend_from_slice(text);
        }
        Ok(())
    }

    fn text(
        self,
        text: &[u8],
        verb: char,
        out: &mut Vec<u8>,
        budget: &mut Budget,
    ) -> Result<(), RunFault> {
        budget.bytes(text.len())?;
        match verb {
            'v' | 's' => self.pad(self.cut(text), out, budget),
            'x' | 'X' => {
                let length = self.precision.unwrap_or(text.len());
                let text = text.get(..length).unwrap_or(text);
                self.pad(&self.hexadecimal(text, verb), out, budget)
            }
            'q' => {
                let text = self.cut(text);
                if self.sharp && quote::fits_backquotes(text) {
                    return self.pad(&[b"`", text, b"`"].concat(), out, budget);
                }
                self.pad(&quote::text(text, self.plus), out, budget)
            }
            _ => Err(RunFault::Format),
        }
    }

    /// As many characters of the text as the precision lets through.
    fn cut(self, text: &[u8]) -> &[u8] {
        let Some(precision) = self.precision else {
            return text;
        };
        let length = characters(text).take(precision).sum();
        text.get(..length).unwrap_or(text)
    }

    fn hexadecimal(self, text: &[u8], verb: char) -> Vec<u8> {
        let upper = verb == 'X';
        let prefix = match (self.sharp, upper) {
            (false, _) => "",
            (true, false) => "0x",
            (true, true) => "0X",
        };
        let mut out = String::new();
        for (index, byte) in text.iter().enumerate() {
            if index > 0 && self.space {
                out.push(' ');
            }
            if index == 0 || self.space {
                out.push_str(prefix);
            }
            let _ = if upper {
                write!(out, "{byte:02X}")
            } else {
                write!(out, "{byte:02x}")
            };
        }
        out.into_bytes()
    }

    fn number(
        self,
        number: i64,
        verb: char,
        out: &mut Vec<u8>,
        budget: &mut Budget,
    ) -> Result<(), RunFault> {
        let size = number.unsigned_abs();
        let (digits, prefix) = match verb {
            'v' | 'd' => (size.to_string(), ""),
            'b' => (format!("{size:b}"), "0b"),
            'o' | 'O' => (format!("{size:o}"), "0"),
            'x' => (format!("{size:x}"), "0x"),
            'X' => (format!("{size:X}"), "0X"),
            'c' => {
                let mut buffer = [0; 4];
                let text = character(number).encode_utf8(&mut buffer);
                return self.pad(text.as_bytes(), out, budget);
            }
            'q' => {
                let quoted = quote::character(character(number), self.plus);
                return self.pad(&quoted, out, budget);
            }
            'U' => return self.code_point(number, out, budget),
            _ => return Err(RunFault::Format),
        };
        let sign = match (number < 0, self.plus, self.space) {
            (true, _, _) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            (false, false, false) => "",
        };
        let plain = Self {
            zero: false,
            ..self
        };
        let least = match self.precision {
            Some(0) if number == 0 => return plain.pad(b"", out, budget),
            Some(precision) => precision,
            None if self.zero && !self.minus => self.width.saturating_sub(sign.len()),
            None => 0,
        };
        budget.bytes(least)?;
        let digits = zeros_before(&digits, least);
        let prefix = match verb {
            'o' | 'O' if digits.starts_with('0') => "",
            _ => prefix,
        };
        let prefix = if self.sharp { prefix } else { "" };
        let other = if verb == 'O' { "0o" } else { "" };
        plain.pad(
            [sign, other, prefix, &digits].concat().as_bytes(),
            out,
            budget,
        )
    }

    fn code_point(
        self,
        number: i64,
        out: &mut Vec<u8>,
        budget: &mut Budget,
    ) -> Result<(), RunFault> {
        let least = self.precision.unwrap_or_default().max(4);
        budget.bytes(least)?;
        let digits = zeros_before(&format!("{:X}", number.cast_unsigned()), least);
        let shown = u32::try_from(number).ok().and_then(char::from_u32);
        let shown = shown.filter(|shown| self.sharp && quote::is_printable(*shown));
        let shown = shown.map(|shown| format!(" '{shown}'")).unwrap_or_default();
        let plain = Self {
            zero: false,
            ..self
        };
        plain.pad(format!("U+{digits}{shown}").as_bytes(), out, budget)
    }
}

/// The lengths in bytes of the characters of a text; a byte that belongs to none counts as one.
fn characters(text: &[u8]) -> impl Iterator<Item = usize> {
    text.utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid().chars().map(char::len_utf8);
        valid.chain(chunk.invalid().iter().map(|_| 1))
    })
}

/// The character of a number; for one that has none, Go's replacement.
fn character(number: i64) -> char {
    let code = u32::try_from(number).ok();
    code.and_then(char::from_u32)
        .unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn zeros_before(digits: &str, least: usize) -> String {
    let zeros = "0".repeat(least.saturating_sub(digits.len()));
    zeros + digits
}
