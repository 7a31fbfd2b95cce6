//! What is known of the cluster under test before a sandbox starts: addresses. Pure.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The two kinds of address.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
pub enum Family {
    /// IPv4.
    #[default]
    IPv4,
    /// IPv6.
    IPv6,
}

impl Family {
    /// Both.
    pub const ALL: [Self; 2] = [Self::IPv4, Self::IPv6];

    /// The family of an address.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::IPv4,
            IpAddr::V6(_) => Self::IPv6,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::IPv4 => "IPv4",
            Self::IPv6 => "IPv6",
        })
    }
}

/// Addresses of one thing, of either family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses(Vec<IpAddr>);

impl Addresses {
    /// Those that can be read; `None` and odd texts (a headless Service's) are left out.
    pub fn read<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        Self(
            texts
                .into_iter()
                .filter_map(|text| text.parse().ok())
                .collect(),
        )
    }

    /// The first address of each of these ranges.
    pub fn first_of<'a>(ranges: impl IntoIterator<Item = &'a str>) -> Self {
        Self(ranges.into_iter().filter_map(first_of).collect())
    }

    /// The first address of each IPv4 address's neighbours, as far as the last dot.
    #[must_use]
    pub fn firsts(&self) -> Self {
        let four = self.0.iter().filter_map(|address| match address {
            IpAddr::V4(address) => Some(u32::from(*address)),
            IpAddr::V6(_) => None,
        });
        Self(
            four.map(|bits| IpAddr::V4((bits & !255 | 1).into()))
                .collect(),
        )
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first of a family.
    pub fn of(&self, family: Family) -> Option<IpAddr> {
        self.0
            .iter()
            .copied()
            .find(|address| Family::of(*address) == family)
    }

    /// Whether this is among them.
    pub fn has(&self, address: IpAddr) -> bool {
        self.0.contains(&address)
    }

    /// Whether one of these is among the others.
    pub fn any_of(&self, others: &Self) -> bool {
        self.0.iter().any(|address| others.0.contains(address))
    }
}

/// The address after the first of a range such as `10.244.0.0/24`.
pub fn first_of(range: &str) -> Option<IpAddr> {
    let (start, _) = range.split_once('/')?;
    Some(match start.parse().ok()? {
        IpAddr::V4(start) => IpAddr::V4(u32::from(start).checked_add(1)?.into()),
        IpAddr::V6(start) => IpAddr::V6(u128::from(start).checked_add(1)?.into()),
    })
}

/// A pod and the Service in front of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peer {
    /// The pod's own addresses.
    pub pod: Addresses,
    /// The Service's cluster IPs.
    pub service: Addresses,
}

/// A node of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its internal addresses.
    pub addresses: Addresses,
    /// The first address of its pods' range, which most plugins make their gateway.
    pub gateway: Addresses,
}

/// Something outside the cluster, as given on the command line: `tcp:ADDR:PORT`, `udp:ADDR:PORT`,
/// `icmp:ADDR` or `dns:ADDR:PORT/NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside {
    /// How it is dialled.
    pub protocol: Protocol,
    /// Where.
    pub address: IpAddr,
    /// Port; 0 for ICMP.
    pub port: u16,
    /// The name asked for, of a DNS server.
    pub question: Option<String>,
}

/// How a destination is dialled.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
pub enum Protocol {
    /// A TCP connection.
    #[default]
    #[serde(rename = "TCP")]
    Tcp,
    /// A UDP datagram that is answered.
    #[serde(rename = "UDP")]
    Udp,
    /// An echo request.
    #[serde(rename = "ICMP")]
    Icmp,
    /// A DNS question over UDP.
    #[serde(rename = "DNS")]
    Dns,
}

impl Protocol {
    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Icmp => "ICMP",
            Self::Dns => "DNS",
        }
    }
}

impl FromStr for Outside {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || {
            format!(
                "{text:?} is no destination; write tcp:ADDR:PORT, udp:ADDR:PORT, icmp:ADDR or dns:ADDR:PORT/NAME, an IPv6 ADDR in brackets"
            )
        };
        let (protocol, rest) = text.split_once(':').ok_or_else(wrong)?;
        let protocol = match protocol {
            "tcp" => Protocol::Tcp,
            "udp" => Protocol::Udp,
            "icmp" => Protocol::Icmp,
            "dns" => Protocol::Dns,
            _ => return Err(wrong()),
        };
        if protocol == Protocol::Icmp {
            let bare = rest
                .strip_prefix('[')
                .and_then(|rest| rest.strip_suffix(']'))
                .unwrap_or(rest);
            return Ok(Self {
                protocol,
                address: bare.parse().map_err(|_| wrong())?,
                port: 0,
                question: None,
            });
        }
        let (socket, question) = match rest.split_once('/') {
            Some((socket, name)) if protocol == Protocol::Dns && !name.is_empty() => {
                (socket, Some(name.to_owned()))
            }
            None if protocol != Protocol::Dns => (rest, None),
            _ => return Err(wrong()),
        };
        let socket: std::net::SocketAddr = socket.parse().map_err(|_| wrong())?;
        Ok(Self {
            protocol,
            address: socket.ip(),
            port: socket.port(),
            question,
        })
    }
}

/// The cluster as it was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The node that sandboxes and witness run on.
    pub node: Node,
    /// Another node, where there is one.
    pub far_node: Option<Node>,
    /// Receiver behind a Service with a numeric target port.
    pub numbered: Peer,
    /// Receiver behind a Service with a named target port.
    pub named: Peer,
    /// Receiver in another namespace.
    pub elsewhere: Peer,
    /// Receiver of the sandboxes' namespace that no class names. It bears the same labels as the one
    /// elsewhere.
    pub forbidden: Peer,
    /// A receiver on the other node.
    pub far: Option<Peer>,
    /// Another sandbox of the same namespace and runtime.
    pub sibling: Peer,
    /// The cluster's DNS; `None` where none was found.
    pub dns: Option<Peer>,
    /// Port that DNS pods listen on.
    pub dns_port: u16,
    /// Addresses of resolvers that `egress.dns` opens besides, such as of a cache on each node.
    pub dns_addresses: Vec<IpAddr>,
    /// At which ports it opens them.
    pub dns_ports: Vec<u16>,
    /// The Service `kubernetes`.
    pub api: Peer,
    /// Port of the API server's own endpoint.
    pub api_port: u16,
    /// The cluster's DNS domain.
    pub cluster_domain: String,
    /// Destinations of the command line.
    pub outside: Vec<Outside>,
    /// Whether what arrives at them is logged for us.
    pub outside_logs: bool,
}

impl Facts {
    /// Whether pods have addresses of this family.
    pub fn has(&self, family: Family) -> bool {
        self.forbidden.pod.of(family).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("tcp:1.1.1.1:443", Protocol::Tcp, "1.1.1.1", 443)]
    #[case("udp:[2606:4700::1]:53", Protocol::Udp, "2606:4700::1", 53)]
    #[case("icmp:9.9.9.9", Protocol::Icmp, "9.9.9.9", 0)]
    #[case("icmp:[2606:4700::1]", Protocol::Icmp, "2606:4700::1", 0)]
    #[case("dns:8.8.8.8:53/example.com", Protocol::Dns, "8.8.8.8", 53)]
    fn an_outside_destination_is_read(
        #[case] text: &str,
        #[case] protocol: Protocol,
        #[case] address: &str,
        #[case] port: u16,
    ) {
        let read: Outside = text.parse().unwrap();
        assert_eq!(
            (read.protocol, read.address.to_string().as_str(), read.port),
            (protocol, address, port)
        );
    }

    #[rstest]
    #[case("10.244.0.0/24", Some("10.244.0.1"))]
    #[case("fd00:10:244::/64", Some("fd00:10:244::1"))]
    #[case("10.244.0.0", None)]
    fn a_range_begins_with_its_gateway(#[case] range: &str, #[case] first: Option<&str>) {
        let found = first_of(range).map(|address| address.to_string());
        assert_eq!(found.as_deref(), first);
    }

    #[test]
    fn without_a_range_a_gateway_is_guessed_from_a_pods_address() {
        let pod = Addresses::read(["10.244.3.27", "fd00::27"]);
        assert_eq!(pod.firsts(), Addresses::read(["10.244.3.1"]));
    }

    #[rstest]
    #[case("1.1.1.1:443")]
    #[case("tcp:example.com:443")]
    #[case("tcp:1.1.1.1")]
    #[case("icmp:1.1.1.1:7")]
    #[case("dns:1.1.1.1:53")]
    #[case("dns:1.1.1.1:53/")]
    #[case("tcp:1.1.1.1:443/name")]
    #[case("sctp:1.1.1.1:9")]
    fn a_destination_that_is_none_is_told_how_to_be_written(#[case] text: &str) {
        let error = text.parse::<Outside>().unwrap_err();
        assert!(error.contains("write tcp:ADDR:PORT"), "{error}");
    }
}
