//! What can be dialled, read from `LABEL=tcp:ADDRESS:PORT` and its like. Pure.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use crate::dns::{self, Query};
use crate::name::{self, NoName};

/// Something to dial, and what it is called in the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// What lines about it carry.
    pub label: String,
    /// Where it is and how it is spoken to.
    pub reach: Reach,
}

/// Where a target is and how it is spoken to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// A TCP connection.
    Tcp(Host, u16),
    /// A datagram, which is to be answered.
    Udp(Host, u16),
    /// An echo request.
    Icmp(Host),
    /// A question to a DNS server.
    Dns(Host, u16, Query),
}

/// An address, or a name that stands for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// An address; link-local ones of IPv6 name their interface, too.
    Address {
        /// The address.
        ip: IpAddr,
        /// What stands after `%`: an interface by name or number.
        zone: Option<String>,
    },
    /// A name, to be looked up.
    Name(String),
}

/// Why a target could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// No protocol is named.
    #[error("{0:?} names no protocol: write [LABEL=]tcp:…, udp:…, icmp:… or dns:…")]
    Protocol(String),
    /// The label cannot be sent.
    #[error("the label {0:?} cannot be sent: {NoName}")]
    Label(String),
    /// The host is neither an address nor a name.
    #[error("{0:?} is neither an address nor a name (an IPv6 address with a port needs brackets)")]
    Host(String),
    /// The port is no number from 1 to 65535.
    #[error("{0:?} does not end with a port from 1 to 65535")]
    Port(String),
    /// The name to ask a DNS server for is missing or no name.
    #[error("{0:?} does not end with /NAME, the name to ask for")]
    Question(String),
}

impl Target {
    /// Whether dialling it needs no look-up before.
    pub fn is_address(&self) -> bool {
        matches!(self.reach.host(), Host::Address { .. })
    }
}

impl Reach {
    /// Where it is.
    pub fn host(&self) -> &Host {
        match self {
            Self::Tcp(host, _) | Self::Udp(host, _) | Self::Icmp(host) | Self::Dns(host, ..) => {
                host
            }
        }
    }

    /// The port it has, 0 if it has none.
    pub fn port(&self) -> u16 {
        match self {
            Self::Tcp(_, port) | Self::Udp(_, port) | Self::Dns(_, port, _) => *port,
            Self::Icmp(_) => 0,
        }
    }
}

impl FromStr for Target {
    type Err = TargetError;

    /// Without `LABEL=`, the whole text is the label.
    fn from_str(text: &str) -> Result<Self, TargetError> {
        // A name that is asked for could hold a `=`; a protocol never does.
        let (label, rest) = match text.split_once('=') {
            Some((label, rest)) if !has_protocol(label) => (label, rest),
            _ => (text, text),
        };
        let label = name::check(label).map_err(|NoName| TargetError::Label(label.to_owned()))?;
        let (protocol, place) = rest.split_once(':').unwrap_or((rest, ""));
        let reach = match protocol {
            "tcp" => {
                let (host, port) = host_and_port(place)?;
                Reach::Tcp(host, port)
            }
            "udp" => {
                let (host, port) = host_and_port(place)?;
                Reach::Udp(host, port)
            }
            "icmp" => Reach::Icmp(host(place)?),
            "dns" => {
                let no_question = || TargetError::Question(place.to_owned());
                let (server, name) = place.split_once('/').ok_or_else(no_question)?;
                let (host, port) = host_and_port(server)?;
                Reach::Dns(host, port, Query::new(name).ok_or_else(no_question)?)
            }
            _ => return Err(TargetError::Protocol(text.to_owned())),
        };
        Ok(Self { label, reach })
    }
}

impl fmt::Display for Host {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address { ip, zone: None } => ip.fmt(out),
            Self::Address {
                ip,
                zone: Some(zone),
            } => write!(out, "{ip}%{zone}"),
            Self::Name(name) => name.fmt(out),
        }
    }
}

fn has_protocol(text: &str) -> bool {
    ["tcp:", "udp:", "icmp:", "dns:"]
        .iter()
        .any(|protocol| text.starts_with(protocol))
}

fn host_and_port(place: &str) -> Result<(Host, u16), TargetError> {
    let no_port = || TargetError::Port(place.to_owned());
    let (before, port) = place.rsplit_once(':').ok_or_else(no_port)?;
    // `+80` would be a number, too.
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    let port: u16 = port.parse().map_err(|_| no_port())?;
    if port == 0 || !digits {
        return Err(no_port());
    }
    if before.contains(':') && !before.starts_with('[') {
        return Err(TargetError::Host(before.to_owned()));
    }
    Ok((host(before)?, port))
}

fn host(text: &str) -> Result<Host, TargetError> {
    let wrong = || TargetError::Host(text.to_owned());
    let bare = match text.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').ok_or_else(wrong)?,
        None => text,
    };
    let (address, zone) = match bare.split_once('%') {
        Some((address, zone)) => (address, Some(zone)),
        None => (bare, None),
    };
    if let Ok(ip) = address.parse::<IpAddr>() {
        let zone_fits = zone.is_none_or(|zone| ip.is_ipv6() && is_zone(zone));
        return if zone_fits {
            let zone = zone.map(str::to_owned);
            Ok(Host::Address { ip, zone })
        } else {
            Err(wrong())
        };
    }
    // `1.2.3` is a mistake, not a name: the last label of a name is never a number.
    let last = bare.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit());
    if text.starts_with('[') || is_number || !dns::is_name(bare) {
        return Err(wrong());
    }
    Ok(Host::Name(bare.to_owned()))
}

/// Interfaces are looked up as files: nothing that could lead elsewhere.
fn is_zone(zone: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=15).contains(&zone.len()) && zone.bytes().all(fits)
}

/// The address with the port, given the number of the interface that its zone names.
pub fn socket_address(ip: IpAddr, port: u16, zone: u32) -> SocketAddr {
    match ip {
        IpAddr::V4(_) => SocketAddr::new(ip, port),
        IpAddr::V6(ip) => std::net::SocketAddrV6::new(ip, port, 0, zone).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn address(ip: &str) -> Host {
        Host::Address {
            ip: ip.parse().unwrap(),
            zone: None,
        }
    }

    fn link_local(zone: &str) -> Host {
        Host::Address {
            ip: "fe80::1".parse().unwrap(),
            zone: Some(zone.to_owned()),
        }
    }

    fn query(name: &str) -> Query {
        Query::new(name).unwrap()
    }

    #[rstest::rstest]
    #[case("peer=tcp:10.0.0.1:80", "peer", Reach::Tcp(address("10.0.0.1"), 80))]
    #[case("p=tcp:[fd00::1]:80", "p", Reach::Tcp(address("fd00::1"), 80))]
    #[case("p=udp:10.0.0.1:65535", "p", Reach::Udp(address("10.0.0.1"), 65535))]
    #[case("p=icmp:10.0.0.1", "p", Reach::Icmp(address("10.0.0.1")))]
    #[case("p=icmp:::1", "p", Reach::Icmp(address("::1")))]
    #[case("p=icmp:[::1]", "p", Reach::Icmp(address("::1")))]
    #[case("p=icmp:fe80::1%eth0", "p", Reach::Icmp(link_local("eth0")))]
    #[case("p=tcp:[fe80::1%3]:80", "p", Reach::Tcp(link_local("3"), 80))]
    #[case(
        "p=dns:10.96.0.10:53/a.b",
        "p",
        Reach::Dns(address("10.96.0.10"), 53, query("a.b"))
    )]
    #[case(
        "tcp:10.0.0.1:80",
        "tcp:10.0.0.1:80",
        Reach::Tcp(address("10.0.0.1"), 80)
    )]
    #[case("p=tcp:a.svc:80", "p", Reach::Tcp(Host::Name("a.svc".to_owned()), 80))]
    #[case("a/b:c=tcp:a:1", "a/b:c", Reach::Tcp(Host::Name("a".to_owned()), 1))]
    fn a_target_is_read(#[case] text: &str, #[case] label: &str, #[case] reach: Reach) {
        let target: Target = text.parse().unwrap();
        assert_eq!(target.label, label);
        assert_eq!(target.reach, reach);
    }

    #[rstest::rstest]
    #[case("", "1 to 80")]
    #[case("=tcp:10.0.0.1:80", "1 to 80")]
    #[case("a b=tcp:10.0.0.1:80", "1 to 80")]
    #[case("p=10.0.0.1:80", "names no protocol")]
    #[case("p=sctp:10.0.0.1:80", "names no protocol")]
    #[case("p=tcp:10.0.0.1", "port")]
    #[case("p=tcp:10.0.0.1:0", "port")]
    #[case("p=tcp:10.0.0.1:65536", "port")]
    #[case("p=tcp:10.0.0.1:+80", "port")]
    #[case("p=tcp:10.0.0.1:", "port")]
    #[case("p=tcp:fd00::1:80", "brackets")]
    #[case("p=tcp:[fd00::1:80", "neither")]
    #[case("p=tcp:[name]:80", "neither")]
    #[case("p=tcp:10.0.0:80", "neither")]
    #[case("p=tcp::80", "neither")]
    #[case("p=icmp:", "neither")]
    #[case("p=icmp:10.0.0.1%eth0", "neither")]
    #[case("p=icmp:fe80::1%", "neither")]
    #[case("p=icmp:fe80::1%../../x", "neither")]
    #[case("p=dns:10.0.0.1:53", "/NAME")]
    #[case("p=dns:10.0.0.1:53/", "/NAME")]
    #[case("p=dns:10.0.0.1:53/a..b", "/NAME")]
    fn what_is_no_target_is_refused_with_the_reason(#[case] text: &str, #[case] why: &str) {
        let error = text.parse::<Target>().unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn only_a_name_needs_a_look_up() {
        let is_address = |text: &str| text.parse::<Target>().unwrap().is_address();
        assert!(is_address("icmp:::1"));
        assert!(!is_address("dns:resolver:53/a.b"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(a=)?(tcp|udp|icmp|dns)?:?[\\[\\]:%./=0-9a-f]{0,40}|\\PC{0,40}") {
            if let Ok(target) = text.parse::<Target>() {
                prop_assert!(name::check(&target.label).is_ok());
            }
        }
    }
}
