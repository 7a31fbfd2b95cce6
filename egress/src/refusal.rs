//! What a client is told when it does not get its tunnel (E-026, Q19). Pure.
//!
//! The reason stands in the header, in the reason phrase and in the body: curl prints only the number,
//! Python the phrase, Node the header; whoever looks finds it somewhere.

use std::borrow::Cow;

/// The header that names the reason of every refusal.
pub const HEADER: &str = "X-Omnia-Egress-Refused";

/// Why there is no tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Another method than CONNECT.
    MethodNotAllowed,
    /// Not a request that could be understood in one way only.
    BadRequest,
    /// More bytes or headers than a request may have.
    HeadTooLarge,
    /// The request did not come in time.
    HeadTimeout,
    /// Another port than 443.
    PortNotAllowed,
    /// No Connection names the host.
    HostNotAllowed,
    /// The host has no public address.
    AddressNotPublic,
    /// The host has no address, or nobody could say.
    ResolveFailed,
    /// Nobody said in time.
    ResolveTimeout,
    /// No address took the connection.
    DialFailed,
    /// No address took it in time.
    DialTimeout,
    /// As many connections as there may be.
    Busy,
    /// The proxy is about to end.
    Draining,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 13] = [
        Self::MethodNotAllowed,
        Self::BadRequest,
        Self::HeadTooLarge,
        Self::HeadTimeout,
        Self::PortNotAllowed,
        Self::HostNotAllowed,
        Self::AddressNotPublic,
        Self::ResolveFailed,
        Self::ResolveTimeout,
        Self::DialFailed,
        Self::DialTimeout,
        Self::Busy,
        Self::Draining,
    ];

    /// Its name in the header, in logs and in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MethodNotAllowed => "method-not-allowed",
            Self::BadRequest => "bad-request",
            Self::HeadTooLarge => "head-too-large",
            Self::HeadTimeout => "head-timeout",
            Self::PortNotAllowed => "port-not-allowed",
            Self::HostNotAllowed => "host-not-allowed",
            Self::AddressNotPublic => "address-not-public",
            Self::ResolveFailed => "resolve-failed",
            Self::ResolveTimeout => "resolve-timeout",
            Self::DialFailed => "dial-failed",
            Self::DialTimeout => "dial-timeout",
            Self::Busy => "busy",
            Self::Draining => "draining",
        }
    }

    /// The status. Never 407, after which clients ask their user for a password.
    pub const fn status(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::PortNotAllowed | Self::HostNotAllowed | Self::AddressNotPublic => 403,
            Self::MethodNotAllowed => 405,
            Self::HeadTimeout => 408,
            Self::HeadTooLarge => 431,
            Self::ResolveFailed | Self::DialFailed => 502,
            Self::Busy | Self::Draining => 503,
            Self::ResolveTimeout | Self::DialTimeout => 504,
        }
    }
}

/// A reason with what makes it plain in this case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// One sentence for the person behind the client; holds nothing of the request but a host or port
    /// that was read already.
    pub detail: Cow<'static, str>,
}

impl Refusal {
    /// Refuses for `reason`.
    pub fn new(reason: Reason, detail: impl Into<Cow<'static, str>>) -> Self {
        Self {
            reason,
            detail: detail.into(),
        }
    }

    /// A request that could be read in more ways than one, or in none.
    pub fn bad(detail: &'static str) -> Self {
        Self::new(Reason::BadRequest, detail)
    }

    /// The whole answer. The connection ends with it: what came behind a refused request is not read as
    /// another one.
    pub fn answer(&self) -> Vec<u8> {
        let (status, reason) = (self.reason.status(), self.reason.as_str());
        let allow = match self.reason {
            Reason::MethodNotAllowed => "Allow: CONNECT\r\n",
            _ => "",
        };
        let body = format!("Egress refused ({reason}): {}\n", self.detail);
        let length = body.len();
        format!(
            "HTTP/1.1 {status} Egress refused: {reason}\r\n\
             {HEADER}: {reason}\r\n\
             {allow}\
             Content-Type: text/plain; charset=utf-8\r\n\
             Content-Length: {length}\r\n\
             Connection: close\r\n\
             \r\n\
             {body}"
        )
        .into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Proves: E-026
    #[test]
    fn every_answer_names_its_reason_three_times_and_closes() {
        for reason in Reason::ALL {
            let answer = Refusal::new(reason, "because").answer();
            let text = String::from_utf8(answer).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            let name = reason.as_str();
            let first = format!("HTTP/1.1 {} Egress refused: {name}\r\n", reason.status());
            assert!(head.starts_with(&first), "{head}");
            assert!(
                head.contains(&format!("\r\n{HEADER}: {name}\r\n")),
                "{head}"
            );
            assert!(head.ends_with("\r\nConnection: close"), "{head}");
            assert_eq!(body, format!("Egress refused ({name}): because\n"));
            let length = format!("\r\nContent-Length: {}\r\n", body.len());
            assert!(head.contains(&length), "{head}");
            let allows = head.contains("\r\nAllow: CONNECT\r\n");
            assert_eq!(allows, reason == Reason::MethodNotAllowed, "{head}");
        }
    }
}
