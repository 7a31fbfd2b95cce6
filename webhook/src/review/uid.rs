//! `request.uid`: of a review that could be read, and in bytes that may be cut off, malformed or nested
//! without end. Pure.
//!
//! Of the latter no tree is made, and there is no recursion: the scan stops at the uid, which the API
//! server writes near the start.

use serde_json::Value;

/// Longest uid echoed; the API server's are 36 characters.
const LONGEST: usize = 256;

/// The first `request.uid` of the top-level object, if it is a non-empty string that can be read.
pub fn find(body: &[u8]) -> Option<String> {
    let mut scan = Scan { rest: body };
    scan.open_object()?;
    scan.value_of("request")?;
    scan.open_object()?;
    scan.value_of("uid")?;
    let quoted = scan.string()?;
    let uid: String = serde_json::from_slice(quoted).ok()?;
    is_one(&uid).then_some(uid)
}

/// The uid of a review that could be read.
pub(super) fn of(review: &Value) -> Option<&str> {
    let uid = review.get("request")?.get("uid")?.as_str()?;
    is_one(uid).then_some(uid)
}

fn is_one(uid: &str) -> bool {
    !uid.is_empty() && uid.len() <= LONGEST
}

struct Scan<'a> {
    rest: &'a [u8],
}

impl<'a> Scan<'a> {
    fn peek(&mut self) -> Option<u8> {
        self.rest = self.rest.trim_ascii_start();
        self.rest.first().copied()
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn expect(&mut self, wanted: u8) -> Option<()> {
        (self.peek()? == wanted).then_some(())?;
        self.take(1).map(|_| ())
    }

    fn open_object(&mut self) -> Option<()> {
        self.expect(b'{')
    }

    /// Steps over members of the current object until the value of `key` is next.
    fn value_of(&mut self, key: &str) -> Option<()> {
        loop {
            if self.peek()? == b',' {
                self.take(1)?;
            }
            let quoted = self.string()?;
            self.expect(b':')?;
            let name = quoted
                .strip_prefix(b"\"")
                .and_then(|name| name.strip_suffix(b"\""));
            if name == Some(key.as_bytes()) {
                return Some(());
            }
            self.skip_value()?;
        }
    }

    /// A string with its quotes.
    fn string(&mut self) -> Option<&'a [u8]> {
        (self.peek()? == b'"').then_some(())?;
        let mut escaped = false;
        let end = self.rest.iter().skip(1).position(|byte| {
            let closes = *byte == b'"' && !escaped;
            escaped = *byte == b'\\' && !escaped;
            closes
        })?;
        self.take(end + 2)
    }

    fn skip_value(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => {
                    self.string()?;
                }
                b'{' | b'[' => {
                    depth += 1;
                    self.take(1)?;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.take(1)?;
                }
                b',' | b':' if depth > 0 => {
                    self.take(1)?;
                }
                _ => self.skip_scalar()?,
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    fn skip_scalar(&mut self) -> Option<()> {
        let ends = |byte: &u8| matches!(byte, b',' | b':' | b'}' | b']' | b'{' | b'[' | b'"');
        let length = self
            .rest
            .iter()
            .position(|byte| ends(byte) || byte.is_ascii_whitespace())?;
        (length > 0).then_some(())?;
        self.take(length).map(|_| ())
    }
}

#[cfg(test)]
mod tests;
