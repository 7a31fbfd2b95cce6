//! The target of a CONNECT: one canonical host, computed once, and the port as it was written (E-018,
//! E-021). Pure.
//!
//! What is matched, resolved, logged and counted is this one form, so no two parts can disagree about
//! what a name means. Nothing is repaired: a name in other letters comes as its `xn--` form, a port is
//! compared as text, and what has no single reading is refused.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use sandgate_shared::net::label::{LONGEST, LONGEST_NAME};
use thiserror::Error;

/// A host name in lower case, without a trailing dot; maybe an address in letters that resolves to
/// nothing, never one in digits and dots.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name(Arc<str>);

impl Name {
    /// The canonical form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads a host in any case, with or without one trailing dot. Labels may hold what DNS has besides
    /// host names: `_`, and `-` at their ends.
    ///
    /// # Errors
    /// What cannot be asked DNS for.
    pub fn read(text: &str) -> Result<Self, TargetError> {
        let text = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let inner =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        let is_label =
            |label: &str| (1..=LONGEST).contains(&label.len()) && label.bytes().all(inner);
        if text.len() > LONGEST_NAME || !text.split('.').all(is_label) {
            return Err(TargetError::Host);
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whom a client asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// By name.
    Name(Name),
    /// By address, which no entry ever matches.
    Address(String),
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => name.fmt(f),
            Self::Address(address) => f.write_str(address),
        }
    }
}

/// `HOST:PORT` as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Whom.
    pub host: Host,
    /// What stood behind the colon; none without one.
    pub port: Option<String>,
}

/// Why a text is no target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TargetError {
    /// What no host name holds, or too much of it.
    #[error(
        "the target must be HOST:443, the host in letters, digits, '-', '_' and dots (other alphabets as xn--...)"
    )]
    Host,
    /// Brackets without an IPv6 address in them, or such an address without brackets.
    #[error("an IPv6 address stands in brackets, and no Connection can name one")]
    Brackets,
    /// More than a host and a port.
    #[error("the target must be HOST:443 and nothing else: no scheme, user, path or query")]
    More,
}

/// Longest port that is told in an answer or a log.
const LONGEST_PORT: usize = 16;

impl Target {
    /// Reads the target of a request line.
    ///
    /// # Errors
    /// What has not exactly one reading as a host and a port.
    pub fn read(text: &str) -> Result<Self, TargetError> {
        if text.bytes().any(|byte| b"/?#@\\".contains(&byte)) {
            return Err(TargetError::More);
        }
        if let Some(rest) = text.strip_prefix('[') {
            let (inside, behind) = rest.split_once(']').ok_or(TargetError::Brackets)?;
            let port = match behind.strip_prefix(':') {
                Some(port) => Some(read_port(port)?),
                None if behind.is_empty() => None,
                None => return Err(TargetError::Brackets),
            };
            let (address, zone) = inside.split_once('%').unwrap_or((inside, ""));
            let address: Ipv6Addr = address.parse().map_err(|_| TargetError::Brackets)?;
            if !zone.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                return Err(TargetError::Brackets);
            }
            let host = Host::Address(format!("[{address}]"));
            return Ok(Self { host, port });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(read_port(port)?)),
            None => (text, None),
        };
        if host.contains(':') {
            return Err(TargetError::Brackets);
        }
        let name = Name::read(host)?;
        let host = match name.as_str().parse::<Ipv4Addr>() {
            Ok(address) => Host::Address(address.to_string()),
            Err(_) => Host::Name(name),
        };
        Ok(Self { host, port })
    }
}

/// What stands behind the colon, if it can be told.
fn read_port(text: &str) -> Result<String, TargetError> {
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) || text.contains(['[', ']']) {
        return Err(TargetError::More);
    }
    Ok(text.chars().take(LONGEST_PORT).collect())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn name(text: &str) -> Host {
        Host::Name(Name(text.into()))
    }

    // Proves: E-021
    #[rstest]
    #[case::as_it_is("api.github.com:443", "api.github.com")]
    #[case::in_upper_case("API.GitHub.com:443", "api.github.com")]
    #[case::with_a_trailing_dot("api.github.com.:443", "api.github.com")]
    #[case::with_an_underscore("_dmarc.example.com:443", "_dmarc.example.com")]
    #[case::with_dashes_at_the_ends("-a-.example.com:443", "-a-.example.com")]
    #[case::a_single_label("localhost:443", "localhost")]
    #[case::in_another_alphabet("xn--bcher-kva.example:443", "xn--bcher-kva.example")]
    #[case::an_address_in_hexadecimal("0x7f.1:443", "0x7f.1")]
    #[case::an_address_as_a_number("2130706433:443", "2130706433")]
    #[case::an_address_in_octal("0177.0.0.1:443", "0177.0.0.1")]
    #[case::an_address_cut_short("127.1:443", "127.1")]
    fn a_name_has_one_form(#[case] text: &str, #[case] wanted: &str) {
        let target = Target::read(text).unwrap();
        assert_eq!(target.host, name(wanted));
        assert_eq!(target.port.as_deref(), Some("443"));
    }

    // Proves: E-021
    #[rstest]
    #[case("127.0.0.1:443", "127.0.0.1")]
    #[case("127.0.0.1.:443", "127.0.0.1")]
    #[case("[::1]:443", "[::1]")]
    #[case("[0:0::1]:443", "[::1]")]
    #[case("[::ffff:127.0.0.1]:443", "[::ffff:127.0.0.1]")]
    #[case("[fe80::1%25eth0]:443", "[fe80::1]")]
    fn an_address_is_never_a_name(#[case] text: &str, #[case] wanted: &str) {
        let target = Target::read(text).unwrap();
        assert_eq!(target.host, Host::Address(wanted.to_owned()));
    }

    // Proves: E-018
    #[rstest]
    #[case("a.example", None)]
    #[case("a.example:", Some(""))]
    #[case("a.example:0443", Some("0443"))]
    #[case("a.example:+443", Some("+443"))]
    #[case("a.example:443x", Some("443x"))]
    #[case("a.example:65979", Some("65979"))]
    #[case("a.example:12345678901234567890", Some("1234567890123456"))]
    #[case("[::1]", None)]
    fn a_port_stays_as_it_was_written(#[case] text: &str, #[case] wanted: Option<&str>) {
        assert_eq!(Target::read(text).unwrap().port.as_deref(), wanted);
    }

    #[rstest]
    #[case::nothing("", TargetError::Host)]
    #[case::no_host(":443", TargetError::Host)]
    #[case::a_dot(".:443", TargetError::Host)]
    #[case::two_trailing_dots("a.example..:443", TargetError::Host)]
    #[case::an_empty_label("a..example:443", TargetError::Host)]
    #[case::a_zero_byte("evil\0.a.example:443", TargetError::Host)]
    #[case::a_space("a.example :443", TargetError::Host)]
    #[case::an_escape("a%2eexample:443", TargetError::Host)]
    #[case::a_full_width_letter("\u{ff41}.example:443", TargetError::Host)]
    #[case::an_ideographic_dot("a\u{3002}example:443", TargetError::Host)]
    #[case::a_soft_hyphen("a\u{ad}b.example:443", TargetError::Host)]
    #[case::a_kelvin_sign("\u{212a}.example:443", TargetError::Host)]
    #[case::a_star("*.example:443", TargetError::Host)]
    #[case::a_user("a.example@evil.example:443", TargetError::More)]
    #[case::a_path("a.example:443/x", TargetError::More)]
    #[case::a_query("a.example:443?x", TargetError::More)]
    #[case::a_fragment("a.example:443#x", TargetError::More)]
    #[case::a_scheme("https://a.example:443", TargetError::More)]
    #[case::a_backslash("a.example\\:443", TargetError::More)]
    #[case::no_brackets("::1:443", TargetError::Brackets)]
    #[case::two_ports("a.example:443:443", TargetError::Brackets)]
    #[case::two_brackets("[[::1]]:443", TargetError::Brackets)]
    #[case::a_name_in_brackets("[a.example]:443", TargetError::Brackets)]
    #[case::brackets_left_open("[::1:443", TargetError::Brackets)]
    #[case::more_behind_brackets("[::1]x:443", TargetError::Brackets)]
    #[case::a_zone_that_is_none("[fe80::1%25/]:443", TargetError::More)]
    fn what_has_no_single_reading_is_no_target(#[case] text: &str, #[case] wanted: TargetError) {
        assert_eq!(Target::read(text), Err(wanted));
    }

    #[test]
    fn a_label_and_a_name_end_where_dns_ends_them() {
        let label = "a".repeat(63);
        assert!(Name::read(&label).is_ok());
        assert!(Name::read(&format!("{label}a")).is_err());
        let name = format!("{}.{}", [label.as_str(); 3].join("."), "a".repeat(61));
        assert!(Name::read(&name).is_ok() && Name::read(&format!("{name}.")).is_ok());
        assert!(Name::read(&format!("{name}a")).is_err());
    }
}
