//! Test hosts: names that are dialled at one given address, private or not, and never resolved (E-028,
//! E-030, E-031). For test clusters only. Pure.

use std::collections::HashMap;
use std::net::IpAddr;

use sandgate_shared::net::address::{Class, not_public};
use sandgate_shared::net::host::Host;
use thiserror::Error;

use crate::target::Name;

/// The flag that gives them.
pub const FLAG: &str = "insecure-test-hosts";
/// The flag without which they are refused.
pub const ACKNOWLEDGEMENT: &str = "acknowledge-insecure-test-only";

/// Why the proxy does not start with its test hosts.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PinsError {
    /// The flag is set alone.
    #[error(
        "failed to take up test hosts: --{FLAG} lets a sandbox reach private addresses; on a test cluster, say so with --{ACKNOWLEDGEMENT}"
    )]
    Unacknowledged,
    /// One name, two addresses.
    #[error("failed to take up test hosts: {0} has two addresses; give it one")]
    Twice(Name),
}

/// One test host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    name: Name,
    address: IpAddr,
}

impl Pin {
    /// Reads `HOST=ADDRESS`.
    ///
    /// # Errors
    /// How it must be written, or why nothing may be pinned there.
    pub fn read(text: &str) -> Result<Self, String> {
        let written = || "must be HOST=ADDRESS, such as login.fixture.test=10.96.0.20".to_owned();
        let (host, address) = text.split_once('=').ok_or_else(written)?;
        let canonical: Host = host.parse().map_err(|_| written())?;
        let name = Name::read(canonical.as_str()).map_err(|_| written())?;
        let address: IpAddr = address.parse().map_err(|_| written())?;
        let takes = match not_public(address) {
            None => true,
            // Where clusters put their Services.
            Some(class) => matches!(
                class,
                Class::Private | Class::Shared | Class::Benchmarking | Class::Documentation
            ),
        };
        if !takes {
            return Err(format!(
                "{address} is no address of a Service: loopback, link-local and the like are never dialled"
            ));
        }
        Ok(Self { name, address })
    }
}

/// All test hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pins(HashMap<Name, IpAddr>);

impl Pins {
    /// Takes up `pins`, if whoever started the proxy said that he knows what they are.
    ///
    /// # Errors
    /// He did not, or a name is pinned to two addresses.
    pub fn new(pins: &[Pin], acknowledged: bool) -> Result<Self, PinsError> {
        if !pins.is_empty() && !acknowledged {
            return Err(PinsError::Unacknowledged);
        }
        let mut all = HashMap::new();
        for Pin { name, address } in pins {
            if all
                .insert(name.clone(), *address)
                .is_some_and(|other| other != *address)
            {
                return Err(PinsError::Twice(name.clone()));
            }
        }
        Ok(Self(all))
    }

    /// Where `name` is pinned to.
    pub fn get(&self, name: &Name) -> Option<IpAddr> {
        self.0.get(name).copied()
    }

    /// Each with its address, in the order of names.
    pub fn told(&self) -> Vec<String> {
        let mut all: Vec<String> = self
            .0
            .iter()
            .map(|(name, address)| format!("{name}={address}"))
            .collect();
        all.sort();
        all
    }

    /// Whether there are none, as in every cluster but one for tests.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn pins(texts: &[&str], acknowledged: bool) -> Result<Pins, PinsError> {
        let pins: Vec<Pin> = texts.iter().map(|text| Pin::read(text).unwrap()).collect();
        Pins::new(&pins, acknowledged)
    }

    // The proxy's half of E-030.
    #[rstest]
    #[case("login.fixture.test=10.96.0.20", "10.96.0.20")]
    #[case("Login.Fixture.Test.=10.96.0.20", "10.96.0.20")]
    #[case("login.fixture.test=fd00:10::20", "fd00:10::20")]
    #[case("login.fixture.test=100.64.0.20", "100.64.0.20")]
    #[case("login.fixture.test=34.118.224.20", "34.118.224.20")]
    fn a_test_host_has_the_address_it_is_given(#[case] text: &str, #[case] wanted: &str) {
        let name = Name::read("login.fixture.test").unwrap();
        let wanted = wanted.parse().unwrap();
        assert_eq!(pins(&[text], true).unwrap().get(&name), Some(wanted));
    }

    // Proves: E-031
    #[rstest]
    #[case::loopback("127.0.0.1")]
    #[case::another_loopback("127.1.2.3")]
    #[case::loopback_by_ipv6("::1")]
    #[case::loopback_mapped("::ffff:127.0.0.1")]
    #[case::loopback_compatible("::127.0.0.1")]
    #[case::loopback_by_nat64("64:ff9b::127.0.0.1")]
    #[case::loopback_by_6to4("2002:7f00:1::")]
    #[case::link_local("169.254.169.254")]
    #[case::link_local_by_ipv6("fe80::1")]
    #[case::link_local_mapped("::ffff:169.254.169.254")]
    #[case::this_network("0.0.0.0")]
    #[case::unspecified("::")]
    #[case::multicast("224.0.0.1")]
    #[case::broadcast("255.255.255.255")]
    #[case::wireserver("168.63.129.16")]
    fn nothing_is_pinned_to_the_machine_or_the_link(#[case] address: &str) {
        let told = Pin::read(&format!("login.fixture.test={address}")).unwrap_err();
        assert!(told.contains("never dialled"), "{told}");
    }

    #[rstest]
    #[case("")]
    #[case("login.fixture.test")]
    #[case("login.fixture.test=")]
    #[case("=10.96.0.20")]
    #[case("login.fixture.test=login.other.test")]
    #[case("login.fixture.test=10.96.0.20:443")]
    #[case("*.fixture.test=10.96.0.20")]
    #[case("10.96.0.20=10.96.0.20")]
    #[case("login fixture.test=10.96.0.20")]
    fn another_form_is_told_how_to_be_written(#[case] text: &str) {
        let told = Pin::read(text).unwrap_err();
        assert!(told.starts_with("must be HOST=ADDRESS"), "{told}");
    }

    // The proxy's half of E-028.
    #[test]
    fn test_hosts_are_refused_without_their_acknowledgement() {
        let told = pins(&["login.fixture.test=10.96.0.20"], false);
        assert_eq!(told, Err(PinsError::Unacknowledged));
        assert!(pins(&[], false).unwrap().is_empty());
        assert!(pins(&[], true).unwrap().is_empty());
    }

    #[test]
    fn a_test_host_has_one_address() {
        let same = ["a.fixture.test=10.96.0.20", "A.fixture.test=10.96.0.20"];
        assert_eq!(
            pins(&same, true).unwrap().told(),
            ["a.fixture.test=10.96.0.20"]
        );
        let two = ["a.fixture.test=10.96.0.20", "a.fixture.test=10.96.0.21"];
        let told = pins(&two, true).unwrap_err().to_string();
        assert!(told.contains("a.fixture.test has two addresses"), "{told}");
    }
}
