//! Which of a host's addresses may be dialled: the table of `sandgate_shared`, and what the operator
//! shuts besides (E-022, E-023, E-025). Pure.

use std::net::IpAddr;

use ipnet::IpNet;
use sandgate_shared::net::address::{Class, not_public};
use sandgate_shared::net::nat64::Nat64Prefix;

/// What addresses are judged by: the table first of all.
#[derive(Clone, Debug, Default)]
pub struct Screen {
    /// Networks that are shut though they look public: pods, Services, nodes.
    pub denied: Vec<IpNet>,
    /// A prefix by which the cluster's gateway translates to IPv4, judged by what it translates to.
    pub nat64: Option<Nat64Prefix>,
}

/// Why an address is not dialled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shut {
    /// It is not public.
    NotPublic(Class),
    /// The operator shut it.
    Denied,
}

impl Shut {
    /// Every value, for metrics that begin at zero.
    pub fn all() -> impl Iterator<Item = Self> {
        Class::ALL
            .into_iter()
            .map(Self::NotPublic)
            .chain([Self::Denied])
    }

    /// Its name in logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotPublic(class) => class.as_str(),
            Self::Denied => "denied",
        }
    }
}

impl Screen {
    /// Why `address` is not dialled; none where it may be.
    pub fn shut(&self, address: IpAddr) -> Option<Shut> {
        if self.is_denied(address) {
            return Some(Shut::Denied);
        }
        let translated = match (self.nat64, address) {
            (Some(prefix), IpAddr::V6(address)) if prefix.contains(address) => {
                // Of the prefix, but no translated address: by none of RFC 6052's rules.
                let Some(embedded) = prefix.embedded(address) else {
                    return Some(Shut::NotPublic(Class::Translated));
                };
                IpAddr::V4(embedded)
            }
            _ => return not_public(address).map(Shut::NotPublic),
        };
        if self.is_denied(translated) {
            return Some(Shut::Denied);
        }
        not_public(translated).map(Shut::NotPublic)
    }

    fn is_denied(&self, address: IpAddr) -> bool {
        self.denied.iter().any(|network| network.contains(&address))
    }
}

/// Reads an address or a network to shut.
///
/// # Errors
/// How it must be written.
pub fn denied(text: &str) -> Result<IpNet, String> {
    let network: IpNet = match text.parse::<IpAddr>() {
        Ok(address) => address.into(),
        Err(_) => text
            .parse()
            .map_err(|_| "must be an IP address or a CIDR, such as 34.118.224.0/20".to_owned())?,
    };
    if network.trunc() != network {
        return Err(format!(
            "has bits set beyond its length; write {} for the network or {} for the one address",
            network.trunc(),
            network.addr(),
        ));
    }
    Ok(network)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn screen(denied: &[&str], nat64: Option<&str>) -> Screen {
        Screen {
            denied: denied
                .iter()
                .map(|text| super::denied(text).unwrap())
                .collect(),
            nat64: nat64.map(|text| text.parse().unwrap()),
        }
    }

    // Proves: E-022, E-025
    #[rstest]
    #[case::public("1.1.1.1", None)]
    #[case::private("10.0.0.1", Some("private"))]
    #[case::a_node_shut_by_the_operator("34.118.224.7", Some("denied"))]
    #[case::next_to_it("34.118.240.0", None)]
    #[case::shut_by_ipv6("2600:1900::7", Some("denied"))]
    #[case::nat64_that_nobody_configured("64:ff9b::1.1.1.1", Some("translated"))]
    fn the_table_and_the_operator_shut_addresses(
        #[case] address: &str,
        #[case] wanted: Option<&str>,
    ) {
        let screen = screen(&["34.118.224.0/20", "2600:1900::/28"], None);
        let shut = screen.shut(address.parse().unwrap());
        assert_eq!(shut.map(Shut::as_str), wanted);
    }

    // Proves: E-022, E-025
    #[rstest]
    #[case::public("64:ff9b::1.1.1.1", None)]
    #[case::private("64:ff9b::10.0.0.1", Some("private"))]
    #[case::metadata("64:ff9b::169.254.169.254", Some("link-local"))]
    #[case::shut_by_the_operator("64:ff9b::34.118.224.7", Some("denied"))]
    #[case::another_prefix("64:ff9b:1::1.1.1.1", Some("translated"))]
    #[case::no_prefix("2606:4700::1111", None)]
    fn a_translated_address_is_judged_by_what_it_translates_to(
        #[case] address: &str,
        #[case] wanted: Option<&str>,
    ) {
        let screen = screen(&["34.118.224.0/20"], Some("64:ff9b::/96"));
        let shut = screen.shut(address.parse().unwrap());
        assert_eq!(shut.map(Shut::as_str), wanted);
    }

    #[test]
    fn what_only_begins_like_a_translated_address_is_shut() {
        let screen = screen(&[], Some("2600:db8:122::/48"));
        let good = "2600:db8:122:101:1:100::".parse().unwrap();
        let bad = "2600:db8:122:101:101:100::".parse().unwrap();
        assert_eq!(screen.shut(good), None);
        assert_eq!(screen.shut(bad), Some(Shut::NotPublic(Class::Translated)));
    }

    #[rstest]
    #[case(
        "10.0.0.1/8",
        "write 10.0.0.0/8 for the network or 10.0.0.1 for the one address"
    )]
    #[case("here", "must be an IP address or a CIDR")]
    fn a_network_that_is_none_is_told_how_to_be_written(#[case] text: &str, #[case] told: &str) {
        let error = denied(text).unwrap_err();
        assert!(error.contains(told), "{error}");
    }

    proptest! {
        // Proves: E-025
        #[test]
        fn a_form_of_an_ipv4_address_is_judged_like_it_or_shut(bits in any::<u32>()) {
            let [a, b] = [(bits >> 16) as u16, (bits & 0xffff) as u16];
            let plain = Screen::default().shut(IpAddr::V4(bits.into()));
            let screen = screen(&[], Some("64:ff9b::/96"));
            let translated = IpAddr::from([0x64, 0xff9b, 0, 0, 0, 0, a, b]);
            prop_assert_eq!(screen.shut(translated), plain);
            let mapped = IpAddr::from([0, 0, 0, 0, 0, 0xffff, a, b]);
            prop_assert!(screen.shut(mapped).is_some());
        }
    }
}
