//! IPv4 addresses in IPv6 ones, where a gateway of the cluster translates between them (RFC 6052). Pure.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ipnet::Ipv6Net;
use thiserror::Error;

/// Why a text is no prefix to translate by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Nat64Error {
    /// Not an IPv6 network.
    #[error("must be an IPv6 network, such as 64:ff9b::/96")]
    Network,
    /// Not one of the six lengths of RFC 6052, 2.2.
    #[error("must be 32, 40, 48, 56, 64 or 96 bits long, as RFC 6052 has it")]
    Length,
    /// Bits beyond the length.
    #[error("has bits set beyond its length, or in bits 64 to 71, which RFC 6052 wants to be zero")]
    Bits,
}

/// A prefix whose addresses a gateway translates to IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nat64Prefix(Ipv6Net);

/// The octet that RFC 6052 keeps zero, bits 64 to 71.
const ZERO_OCTET: usize = 8;

impl Nat64Prefix {
    /// Whether `address` is of this prefix.
    pub fn contains(self, address: Ipv6Addr) -> bool {
        self.0.contains(&address)
    }

    /// The IPv4 address that `address` stands for; none where it is not of this prefix, or has bits set
    /// that must be zero.
    pub fn embedded(self, address: Ipv6Addr) -> Option<Ipv4Addr> {
        let octets = address.octets();
        let length = usize::from(self.0.prefix_len());
        let straddles = length < 96;
        if !self.contains(address) || (straddles && octets.get(ZERO_OCTET) != Some(&0)) {
            return None;
        }
        let held = octets.iter().enumerate().skip(length / 8);
        let mut held = held.filter(|&(index, _)| !straddles || index != ZERO_OCTET);
        let mut next = || held.next().map(|(_, octet)| *octet);
        Some(Ipv4Addr::new(next()?, next()?, next()?, next()?))
    }
}

impl FromStr for Nat64Prefix {
    type Err = Nat64Error;

    fn from_str(text: &str) -> Result<Self, Nat64Error> {
        let network: Ipv6Net = text.parse().map_err(|_| Nat64Error::Network)?;
        if !matches!(network.prefix_len(), 32 | 40 | 48 | 56 | 64 | 96) {
            return Err(Nat64Error::Length);
        }
        let zero = network.addr().octets().get(ZERO_OCTET) == Some(&0);
        if network.trunc() != network || !zero {
            return Err(Nat64Error::Bits);
        }
        Ok(Self(network))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    // The table of RFC 6052, 2.4.
    #[rstest]
    #[case("2001:db8::/32", "2001:db8:c000:221::")]
    #[case("2001:db8:100::/40", "2001:db8:1c0:2:21::")]
    #[case("2001:db8:122::/48", "2001:db8:122:c000:2:2100::")]
    #[case("2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::")]
    #[case("2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100::")]
    #[case("2001:db8:122:344::/96", "2001:db8:122:344::192.0.2.33")]
    #[case("64:ff9b::/96", "64:ff9b::192.0.2.33")]
    fn an_address_is_read_where_its_prefix_puts_it(#[case] prefix: &str, #[case] address: &str) {
        let prefix: Nat64Prefix = prefix.parse().unwrap();
        let address = address.parse().unwrap();
        assert_eq!(
            prefix.embedded(address),
            Some(Ipv4Addr::new(192, 0, 2, 33)),
            "{address}"
        );
    }

    #[rstest]
    #[case::of_another_prefix("64:ff9b::/96", "64:ff9b:1::192.0.2.33")]
    #[case::with_the_zero_octet_set("2001:db8:122::/48", "2001:db8:122:c000:102:2100::")]
    fn what_is_no_translated_address_stands_for_none(#[case] prefix: &str, #[case] address: &str) {
        let prefix: Nat64Prefix = prefix.parse().unwrap();
        assert_eq!(prefix.embedded(address.parse().unwrap()), None);
    }

    #[rstest]
    #[case("192.0.2.0/24", Nat64Error::Network)]
    #[case("64:ff9b::", Nat64Error::Network)]
    #[case("", Nat64Error::Network)]
    #[case("64:ff9b::/95", Nat64Error::Length)]
    #[case("::/0", Nat64Error::Length)]
    #[case("64:ff9b::1/96", Nat64Error::Bits)]
    #[case("2001:db8:0:0:100::/96", Nat64Error::Bits)]
    fn a_prefix_nothing_can_be_translated_by_is_refused(
        #[case] text: &str,
        #[case] wanted: Nat64Error,
    ) {
        assert_eq!(text.parse::<Nat64Prefix>(), Err(wanted));
    }
}
