//! The server name in the first message of TLS (RFC 8446, 4.1.2; RFC 6066, 3). Looked at, never altered.
//! Pure.
//!
//! A hello may come in pieces: over several records, and over several segments. It is read from its
//! beginning each time more has come; what is kept is the bytes alone.

use crate::target::Name;

/// As much as a hello may take, its records' headers included; post-quantum ones need two thousand.
pub const LONGEST: usize = 16 * 1024;

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;

/// What the first bytes of a tunnel are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hello {
    /// The beginning of a hello, as far as it goes.
    Partial,
    /// A hello that names a server.
    Names(Name),
    /// A hello that names none.
    Nameless,
    /// No hello, or none that can be read in one way.
    Other,
}

/// Why the reading stopped.
enum Stop {
    /// The bytes end here, and more may come.
    More,
    /// This is no hello.
    Other,
}

/// Looks at the bytes that a client sent so far.
pub fn look(bytes: &[u8]) -> Hello {
    match message(bytes).map(|hello| server_name(&hello)) {
        Ok(Some(hello)) => hello,
        Err(Stop::More) if bytes.len() < LONGEST => Hello::Partial,
        Ok(None) | Err(_) => Hello::Other,
    }
}

/// The body of the hello, gathered from its records.
fn message(bytes: &[u8]) -> Result<Vec<u8>, Stop> {
    let mut records = Reader(bytes);
    let mut gathered = Vec::new();
    loop {
        if let Some(body) = whole(&gathered)? {
            return Ok(body);
        }
        let Some(kind) = records.u8() else {
            return Err(Stop::More);
        };
        if kind != HANDSHAKE {
            return Err(Stop::Other);
        }
        let Some(major) = records.u8() else {
            return Err(Stop::More);
        };
        if major != 3 {
            return Err(Stop::Other);
        }
        let (Some(_minor), Some(length)) = (records.u8(), records.u16()) else {
            return Err(Stop::More);
        };
        // An empty record is no part of a handshake (RFC 8446, 5.1), and would be a way to go on forever.
        if length == 0 || usize::from(length) > LONGEST {
            return Err(Stop::Other);
        }
        let rest = records.0.len().min(usize::from(length));
        gathered.extend_from_slice(records.take(rest).unwrap_or_default());
        if rest < usize::from(length) {
            return whole(&gathered)?.ok_or(Stop::More);
        }
    }
}

/// The hello in `gathered`, once all of it is there.
fn whole(gathered: &[u8]) -> Result<Option<Vec<u8>>, Stop> {
    let mut message = Reader(gathered);
    let Some(kind) = message.u8() else {
        return Ok(None);
    };
    if kind != CLIENT_HELLO {
        return Err(Stop::Other);
    }
    let (Some(high), Some(low)) = (message.u8(), message.u16()) else {
        return Ok(None);
    };
    let length = usize::from(high) << 16 | usize::from(low);
    if length > LONGEST {
        return Err(Stop::Other);
    }
    Ok(message.take(length).map(<[u8]>::to_vec))
}

/// What a whole hello names; none where it is none.
fn server_name(hello: &[u8]) -> Option<Hello> {
    let mut hello = Reader(hello);
    let _version_and_random = hello.take(2 + 32)?;
    let _session = hello.short()?;
    let _ciphers = hello.long()?;
    let _compressions = hello.short()?;
    if hello.0.is_empty() {
        return Some(Hello::Nameless);
    }
    let mut extensions = Reader(hello.long()?);
    if !hello.0.is_empty() {
        return None;
    }
    let mut found = Hello::Nameless;
    while !extensions.0.is_empty() {
        let kind = extensions.u16()?;
        let content = extensions.long()?;
        if kind == SERVER_NAME {
            // Which of two would be the server's is not for us to guess.
            if found != Hello::Nameless {
                return None;
            }
            found = Hello::Names(only_name(content)?);
        }
    }
    Some(found)
}

/// The one name of the extension.
fn only_name(content: &[u8]) -> Option<Name> {
    let mut content = Reader(content);
    let mut list = Reader(content.long()?);
    let kind = list.u8()?;
    let name = list.long()?;
    let is_only = content.0.is_empty() && list.0.is_empty();
    if kind != HOST_NAME || !is_only {
        return None;
    }
    Name::read(str::from_utf8(name).ok()?).ok()
}

/// What is left to be read.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn u8(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn u16(&mut self) -> Option<u16> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u16::from_be_bytes(*first))
    }

    /// What stands behind its length of one byte.
    fn short(&mut self) -> Option<&'b [u8]> {
        let length = self.u8()?;
        self.take(length.into())
    }

    /// What stands behind its length of two bytes.
    fn long(&mut self) -> Option<&'b [u8]> {
        let length = self.u16()?;
        self.take(length.into())
    }
}

#[cfg(test)]
mod tests;
