//! The head of a request: its end found as the bytes come, then read once, strictly (E-015, E-017). Pure.
//!
//! What two parsers could read in two ways is refused: bare line feeds, a body, two hosts.

use httparse::{EMPTY_HEADER, Header, Status};

use crate::refusal::{Reason, Refusal};
use crate::target::Target;

/// The longest head, in bytes; no more than this is read before there is a tunnel.
pub const LONGEST: usize = 16 * 1024;
/// The most headers.
pub const MOST_HEADERS: usize = 100;
/// Empty lines that may stand before the request line (RFC 9112, 2.2).
const MOST_EMPTY_LINES: usize = 2;

/// A CONNECT that was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Where to.
    pub target: Target,
    /// Whether the Host header says something else; the target counts.
    pub other_host_header: bool,
}

/// Looks for the end of the head in `bytes`, of which the first `seen` were looked at before. Returns
/// where the head ends, or nothing while it does not.
///
/// # Errors
/// What can no longer become a request, as soon as that is certain.
pub fn end(bytes: &[u8], seen: usize) -> Result<Option<usize>, Refusal> {
    let start = start(bytes);
    match bytes.get(start) {
        None => return Ok(None),
        Some(b'\r') if start + 1 == bytes.len() && start < 2 * MOST_EMPTY_LINES => return Ok(None),
        Some(&first) if !is_token(first) => {
            return Err(Refusal::bad(
                "this is an HTTP proxy: a request begins with CONNECT",
            ));
        }
        Some(_) => {}
    }
    let head = bytes.get(..LONGEST).unwrap_or(bytes);
    let fresh = seen.max(start);
    for feed in memchr::memchr_iter(b'\n', head.get(fresh..).unwrap_or_default()) {
        let upto = head.get(start..=fresh + feed).unwrap_or_default();
        let Some(line) = upto.strip_suffix(b"\r\n") else {
            return Err(Refusal::bad("each line must end in CR LF"));
        };
        if line.ends_with(b"\r\n") {
            return Ok(Some(fresh + feed + 1));
        }
        let is_first = memchr::memchr(b'\n', line).is_none();
        if is_first && !(line.ends_with(b" HTTP/1.1") || line.ends_with(b" HTTP/1.0")) {
            return Err(Refusal::bad(
                "the first line must be CONNECT HOST:443 HTTP/1.1",
            ));
        }
    }
    if head.len() < LONGEST {
        return Ok(None);
    }
    Err(Refusal::new(
        Reason::HeadTooLarge,
        format!("a request has at most {LONGEST} bytes"),
    ))
}

/// Where the request line begins.
fn start(bytes: &[u8]) -> usize {
    let empty = bytes.chunks_exact(2).take_while(|line| *line == b"\r\n");
    2 * empty.take(MOST_EMPTY_LINES).count()
}

/// Reads a whole head, as far as [`end`] says.
///
/// # Errors
/// Every request but a CONNECT that has one reading.
pub fn read(head: &[u8]) -> Result<Request, Refusal> {
    let mut headers = [EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let line = head.get(start(head)..).unwrap_or_default();
    match request.parse(line) {
        Ok(Status::Complete(_)) => {}
        Ok(Status::Partial) => return Err(Refusal::bad("the request ends too early")),
        Err(httparse::Error::TooManyHeaders) => {
            return Err(Refusal::new(
                Reason::HeadTooLarge,
                format!("a request has at most {MOST_HEADERS} headers"),
            ));
        }
        Err(_) => return Err(Refusal::bad("the request is not HTTP as RFC 9112 has it")),
    }
    if request.method != Some("CONNECT") {
        return Err(Refusal::new(
            Reason::MethodNotAllowed,
            "only CONNECT is served, in capitals: use https, plain http goes nowhere",
        ));
    }
    let text = request.path.unwrap_or_default();
    let other_host_header = check(request.headers, text, request.version == Some(1))?;
    let target =
        Target::read(text).map_err(|error| Refusal::new(Reason::BadRequest, error.to_string()))?;
    Ok(Request {
        target,
        other_host_header,
    })
}

/// Checks what headers may not say; whether the Host header names another host than `target`.
fn check(headers: &[Header<'_>], target: &str, needs_host: bool) -> Result<bool, Refusal> {
    let mut host = None;
    for header in headers {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        if is("Host") && host.replace(header.value).is_some() {
            return Err(Refusal::bad("there must be one Host header"));
        }
        let has_body = is("Content-Length") && header.value != b"0";
        if has_body || is("Transfer-Encoding") {
            return Err(Refusal::bad("a CONNECT has no body"));
        }
    }
    let Some(host) = host else {
        if needs_host {
            return Err(Refusal::bad("HTTP/1.1 wants a Host header"));
        }
        return Ok(false);
    };
    let alone = target.rsplit_once(':').map_or(target, |(host, _)| host);
    Ok(![target, alone]
        .iter()
        .any(|same| host.eq_ignore_ascii_case(same.as_bytes())))
}

/// What a method may hold (RFC 9110, 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests;
