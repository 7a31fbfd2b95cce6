//! Values as text: what Go's fmt writes for `print` and `printf`. Pure.

use super::{RunFault, run::Budget, style::Style, value::Value};

/// The largest width and precision.
const WIDEST: i64 = 1_000_000;

/// The values one after the other, with a space between two that are no texts.
pub(super) fn print(values: &[Value<'_>], budget: &mut Budget) -> Result<Vec<u8>, RunFault> {
    let mut out = Vec::new();
    let mut after_text = true;
    for value in values {
        let is_text = matches!(value, Value::Text(_));
        if !is_text && !after_text {
            budget.put(b" ", &mut out)?;
        }
        Style::default().write(value, 'v', &mut out, budget)?;
        after_text = is_text;
    }
    Ok(out)
}

/// The values by a format. Whatever Go would write a mark of the form `%!…` for is a fault.
pub(super) fn printf(
    format: &[u8],
    values: &[Value<'_>],
    budget: &mut Budget,
) -> Result<Vec<u8>, RunFault> {
    let mut out = Vec::new();
    let mut reader = Reader {
        rest: format,
        values,
        next: 0,
        reordered: false,
    };
    while !reader.rest.is_empty() {
        let percent = reader.rest.iter().position(|byte| *byte == b'%');
        let (text, rest) = reader.rest.split_at(percent.unwrap_or(reader.rest.len()));
        budget.put(text, &mut out)?;
        let Some(rest) = rest.get(1..) else { break };
        reader.rest = rest;
        let (style, verb) = reader.verb()?;
        if verb == '%' {
            budget.put(b"%", &mut out)?;
        } else {
            style.write(reader.value()?, verb, &mut out, budget)?;
        }
    }
    if !reader.reordered && reader.next < values.len() {
        return Err(RunFault::Format);
    }
    Ok(out)
}

/// Reads a format behind its `%`.
struct Reader<'f, 'v, 'd> {
    rest: &'f [u8],
    values: &'v [Value<'d>],
    /// The value of the next verb.
    next: usize,
    /// Whether a value was chosen by its number.
    reordered: bool,
}

impl<'v, 'd> Reader<'_, 'v, 'd> {
    fn starts_with(&mut self, byte: u8) -> bool {
        match self.rest.split_first() {
            Some((first, rest)) if *first == byte => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// The value of the next verb.
    fn value(&mut self) -> Result<&'v Value<'d>, RunFault> {
        let value = self.values.get(self.next).ok_or(RunFault::Format)?;
        self.next += 1;
        Ok(value)
    }

    fn verb(&mut self) -> Result<(Style, char), RunFault> {
        let mut style = self.flags();
        let mut chosen = self.chosen()?;
        if self.starts_with(b'*') {
            let width = self.measure()?;
            if width < 0 {
                style.minus = true;
                style.zero = false;
            }
            style.width = usize::try_from(width.unsigned_abs()).unwrap_or_default();
            chosen = false;
        } else if let Some(width) = self.number()? {
            style.width = width;
            refuse(chosen)?;
        }
        if self.rest.len() > 1 && self.starts_with(b'.') {
            refuse(chosen)?;
            chosen = self.chosen()?;
            style.precision = Some(if self.starts_with(b'*') {
                chosen = false;
                let precision = self.measure()?;
                usize::try_from(precision).map_err(|_| RunFault::Format)?
            } else {
                self.number()?.unwrap_or_default()
            });
        }
        if !chosen {
            self.chosen()?;
        }
        let length = self.rest.len().min(4);
        let head = self.rest.get(..length).unwrap_or_default();
        let chunk = head.utf8_chunks().next();
        let verb = chunk.and_then(|chunk| chunk.valid().chars().next());
        let verb = verb.ok_or(RunFault::Format)?;
        self.rest = self.rest.get(verb.len_utf8()..).unwrap_or_default();
        Ok((style, verb))
    }

    fn flags(&mut self) -> Style {
        let mut style = Style::default();
        while let Some((first, rest)) = self.rest.split_first() {
            match first {
                b'#' => style.sharp = true,
                b'0' => style.zero = true,
                b'+' => style.plus = true,
                b'-' => style.minus = true,
                b' ' => style.space = true,
                _ => break,
            }
            self.rest = rest;
        }
        style
    }

    /// Whether `[n]` stands here, which chooses the value of the verb.
    fn chosen(&mut self) -> Result<bool, RunFault> {
        if !self.starts_with(b'[') {
            return Ok(false);
        }
        self.reordered = true;
        let number = self.number()?.filter(|_| self.starts_with(b']'));
        let index = number.and_then(|number| number.checked_sub(1));
        let index = index.filter(|index| *index < self.values.len());
        self.next = index.ok_or(RunFault::Format)?;
        Ok(true)
    }

    fn number(&mut self) -> Result<Option<usize>, RunFault> {
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit());
        let (digits, rest) = self.rest.split_at(digits.count());
        if digits.is_empty() {
            return Ok(None);
        }
        self.rest = rest;
        let number = str::from_utf8(digits)
            .ok()
            .and_then(|text| text.parse().ok());
        let number = number.filter(|number| within(*number));
        let number = number.and_then(|number| usize::try_from(number).ok());
        number.map(Some).ok_or(RunFault::Format)
    }

    /// The width or precision that a value gives.
    fn measure(&mut self) -> Result<i64, RunFault> {
        let number = self.value()?.whole();
        number
            .filter(|number| within(*number))
            .ok_or(RunFault::Format)
    }
}

fn within(number: i64) -> bool {
    (-WIDEST..=WIDEST).contains(&number)
}

fn refuse(this: bool) -> Result<(), RunFault> {
    if this { Err(RunFault::Format) } else { Ok(()) }
}
