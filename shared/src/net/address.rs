//! Which addresses are public: the one table behind the egress proxy, the NetworkPolicy around it and
//! their tests (E-009, E-022, E-025). Pure.
//!
//! From the special-purpose registries of IANA (RFC 6890). A block is refused whole, with the few
//! addresses in it that are globally reachable (PCP and TURN anycast, ORCHIDv2, DRIP and the like): no
//! https server has one. What the registries list as globally reachable outside of refused blocks
//! (AS112, AMT) is public and has no row. Of IPv6 only 2000::/3 has been given out, so all else is
//! refused, listed or not.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Why an address is not public.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// 0.0.0.0/8 and `::`, which mean the machine itself.
    ThisNetwork,
    /// Of the machine itself.
    Loopback,
    /// Of one link; metadata services of clouds answer here.
    LinkLocal,
    /// RFC 1918, RFC 4193 and the site-local addresses before it.
    Private,
    /// RFC 6598: shared between a provider and its customers.
    Shared,
    /// Assigned to protocols by the IETF.
    Protocol,
    /// For examples in texts.
    Documentation,
    /// For measuring networks.
    Benchmarking,
    /// For many at once.
    Multicast,
    /// An IPv4 address in other clothes: mapped, compatible, translated.
    Translated,
    /// An IPv4 address as the end of a tunnel: 6to4, Teredo, ISATAP.
    Tunnelled,
    /// A service of a cloud at an address of public space.
    Platform,
    /// Given to nobody, or to nobody any more.
    Reserved,
}

impl Class {
    /// Every class.
    pub const ALL: [Self; 13] = [
        Self::ThisNetwork,
        Self::Loopback,
        Self::LinkLocal,
        Self::Private,
        Self::Shared,
        Self::Protocol,
        Self::Documentation,
        Self::Benchmarking,
        Self::Multicast,
        Self::Translated,
        Self::Tunnelled,
        Self::Platform,
        Self::Reserved,
    ];

    /// Its name in logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ThisNetwork => "this-network",
            Self::Loopback => "loopback",
            Self::LinkLocal => "link-local",
            Self::Private => "private",
            Self::Shared => "shared",
            Self::Protocol => "protocol",
            Self::Documentation => "documentation",
            Self::Benchmarking => "benchmarking",
            Self::Multicast => "multicast",
            Self::Translated => "translated",
            Self::Tunnelled => "tunnelled",
            Self::Platform => "platform",
            Self::Reserved => "reserved",
        }
    }
}

/// All IPv4 that is not public.
const IPV4: [(Ipv4Net, Class); 16] = [
    (v4(0, 0, 0, 0, 8), Class::ThisNetwork),
    (v4(10, 0, 0, 0, 8), Class::Private),
    (v4(100, 64, 0, 0, 10), Class::Shared),
    (v4(127, 0, 0, 0, 8), Class::Loopback),
    // Azure's WireServer: metadata, DNS and health of its machines, at an ordinary address.
    (v4(168, 63, 129, 16, 32), Class::Platform),
    (v4(169, 254, 0, 0, 16), Class::LinkLocal),
    (v4(172, 16, 0, 0, 12), Class::Private),
    (v4(192, 0, 0, 0, 24), Class::Protocol),
    (v4(192, 0, 2, 0, 24), Class::Documentation),
    // The relays of 6to4, withdrawn by RFC 7526.
    (v4(192, 88, 99, 0, 24), Class::Tunnelled),
    (v4(192, 168, 0, 0, 16), Class::Private),
    (v4(198, 18, 0, 0, 15), Class::Benchmarking),
    (v4(198, 51, 100, 0, 24), Class::Documentation),
    (v4(203, 0, 113, 0, 24), Class::Documentation),
    (v4(224, 0, 0, 0, 4), Class::Multicast),
    (v4(240, 0, 0, 0, 4), Class::Reserved),
];

/// The IPv6 that has been given out.
const GIVEN_OUT: Ipv6Net = v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);

/// What is not public of [`GIVEN_OUT`]. A block within another stands before it.
const IPV6_WITHIN: [(Ipv6Net, Class); 6] = [
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32), Class::Tunnelled),
    (v6([0x2001, 2, 0, 0, 0, 0, 0, 0], 48), Class::Benchmarking),
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), Class::Protocol),
    (
        v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32),
        Class::Documentation,
    ),
    (v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), Class::Tunnelled),
    (v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), Class::Documentation),
];

/// Names for what lies outside of [`GIVEN_OUT`]; whatever has none here is [`Class::Reserved`].
const IPV6_OUTSIDE: [(Ipv6Net, Class); 12] = [
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 128), Class::ThisNetwork),
    (v6([0, 0, 0, 0, 0, 0, 0, 1], 128), Class::Loopback),
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 96), Class::Translated),
    (v6([0, 0, 0, 0, 0, 0xffff, 0, 0], 96), Class::Translated),
    (v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96), Class::Translated),
    (v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96), Class::Translated),
    (v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48), Class::Translated),
    (v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16), Class::Protocol),
    (v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7), Class::Private),
    (v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), Class::LinkLocal),
    (v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10), Class::Private),
    (v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), Class::Multicast),
];

const fn v4(a: u8, b: u8, c: u8, d: u8, length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)
}

const fn v6(segments: [u16; 8], length: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::from_segments(segments), length)
}

/// Why `address` is not public; none where it is.
pub fn not_public(address: IpAddr) -> Option<Class> {
    match address {
        IpAddr::V4(address) => ipv4(address),
        IpAddr::V6(address) => ipv6(address),
    }
}

fn ipv4(address: Ipv4Addr) -> Option<Class> {
    IPV4.iter()
        .find(|(network, _)| network.contains(&address))
        .map(|&(_, class)| class)
}

fn ipv6(address: Ipv6Addr) -> Option<Class> {
    let named = |rows: &[(Ipv6Net, Class)]| {
        rows.iter()
            .find(|(network, _)| network.contains(&address))
            .map(|&(_, class)| class)
    };
    if !GIVEN_OUT.contains(&address) {
        return Some(named(&IPV6_OUTSIDE).unwrap_or(Class::Reserved));
    }
    named(&IPV6_WITHIN).or_else(|| is_isatap(address).then_some(Class::Tunnelled))
}

/// Whether the interface's half holds an IPv4 address to tunnel to (RFC 5214, 6.1).
fn is_isatap(address: Ipv6Addr) -> bool {
    let [_, _, _, _, marked, isatap, ..] = address.segments();
    matches!(marked, 0 | 0x200) && isatap == 0x5efe
}

/// A network with what is not public left out, as a NetworkPolicy's `ipBlock` says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Public {
    /// The whole.
    pub network: IpNet,
    /// Parts of it that are not public.
    pub except: Vec<IpNet>,
}

/// All that is public, a network for each family. Says less than [`not_public`] only of ISATAP, which
/// no prefix can say.
pub fn public_networks() -> [Public; 2] {
    let all = Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 0);
    [
        Public {
            network: all.into(),
            except: IPV4.iter().map(|&(network, _)| network.into()).collect(),
        },
        Public {
            network: GIVEN_OUT.into(),
            except: IpNet::aggregate(
                &IPV6_WITHIN
                    .iter()
                    .map(|&(network, _)| network.into())
                    .collect(),
            ),
        },
    ]
}

#[cfg(test)]
mod tests;
