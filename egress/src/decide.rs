//! What is done about a request, before anything is asked of anybody (E-018, E-019, E-029 to E-031). Pure.
//!
//! This is the only decision, and it stands before DNS: a name that is on no list causes no query, or the
//! query itself would carry out what the sandbox may not say.

use std::net::IpAddr;

use crate::allowlist::Allowlist;
use crate::pins::Pins;
use crate::refusal::{Reason, Refusal};
use crate::target::{Host, Name, Target};

/// The one port that is dialled.
pub const PORT: u16 = 443;
/// The same, as it must be written: never as a number, which has many forms.
const PORT_TEXT: &str = "443";

/// Where a request that is let through goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// To what DNS says, as far as it is public.
    Resolve(Name),
    /// To this address of a test host.
    Pinned(Name, IpAddr),
}

impl Route {
    /// The host.
    pub fn name(&self) -> &Name {
        match self {
            Self::Resolve(name) | Self::Pinned(name, _) => name,
        }
    }
}

/// Where to go for `target`.
///
/// # Errors
/// Why nowhere.
pub fn decide(target: Target, allowlist: &Allowlist, pins: &Pins) -> Result<Route, Refusal> {
    if target.port.as_deref() != Some(PORT_TEXT) {
        let detail = match &target.port {
            Some(port) if !port.is_empty() => {
                format!("port {port:?} was asked for, and only 443 is open: use https")
            }
            _ => "the target must name its port: HOST:443".to_owned(),
        };
        return Err(Refusal::new(Reason::PortNotAllowed, detail));
    }
    let name = match target.host {
        Host::Name(name) => name,
        Host::Address(address) => {
            let detail = format!("{address} is an address; ask for a host by its name");
            return Err(Refusal::new(Reason::HostNotAllowed, detail));
        }
    };
    if !allowlist.covers(&name) {
        return Err(not_allowed(&name));
    }
    Ok(match pins.get(&name) {
        Some(address) => Route::Pinned(name, address),
        None => Route::Resolve(name),
    })
}

/// The refusal of a host that nothing names, or nothing any more.
pub fn not_allowed(name: &Name) -> Refusal {
    let detail = format!("no Connection bound to this sandbox names {name}");
    Refusal::new(Reason::HostNotAllowed, detail)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::pins::Pin;

    fn decided(target: &str) -> Result<Route, Refusal> {
        let list = br#"{"hosts": ["a.example", "*.b.example", "fixture.test"]}"#;
        let pin = Pin::read("fixture.test=10.96.0.20").unwrap();
        let unlisted = Pin::read("other.test=10.96.0.21").unwrap();
        let pins = Pins::new(&[pin, unlisted], true).unwrap();
        let target = Target::read(target).unwrap();
        decide(target, &Allowlist::read(list).unwrap(), &pins)
    }

    // Proves: E-019, E-020, E-021
    #[rstest]
    #[case("a.example:443", "a.example")]
    #[case("A.Example.:443", "a.example")]
    #[case("x.y.b.example:443", "x.y.b.example")]
    fn a_host_of_the_list_is_resolved(#[case] target: &str, #[case] name: &str) {
        let wanted = Route::Resolve(Name::read(name).unwrap());
        assert_eq!(decided(target), Ok(wanted));
    }

    // The proxy's half of E-029, E-030.
    #[test]
    fn a_test_host_is_not_resolved_and_not_let_through_without_an_entry() {
        let name = Name::read("fixture.test").unwrap();
        let wanted = Route::Pinned(name, "10.96.0.20".parse().unwrap());
        assert_eq!(decided("fixture.test:443"), Ok(wanted));
        let refused = decided("other.test:443").unwrap_err();
        assert_eq!(refused.reason, Reason::HostNotAllowed);
    }

    // Proves: E-018, E-031
    #[rstest]
    #[case("a.example")]
    #[case("a.example:")]
    #[case("a.example:80")]
    #[case("a.example:22")]
    #[case("a.example:8443")]
    #[case("a.example:0")]
    #[case("a.example:0443")]
    #[case("a.example:+443")]
    #[case("a.example:443x")]
    #[case("a.example:65979")]
    #[case("a.example:1bb")]
    #[case("fixture.test:80")]
    #[case("elsewhere.example:80")]
    fn another_port_is_refused_whatever_the_host(#[case] target: &str) {
        let refused = decided(target).unwrap_err();
        assert_eq!(refused.reason, Reason::PortNotAllowed);
    }

    // Proves: E-019, E-021
    #[rstest]
    #[case("b.example:443")]
    #[case("xb.example:443")]
    #[case("a.example.evil.test:443")]
    #[case("1.1.1.1:443")]
    #[case("[2606:4700::1111]:443")]
    #[case("[::ffff:127.0.0.1]:443")]
    #[case("0x7f.1:443")]
    #[case("2130706433:443")]
    #[case("localhost:443")]
    fn a_host_that_nothing_names_is_refused(#[case] target: &str) {
        let refused = decided(target).unwrap_err();
        assert_eq!(refused.reason, Reason::HostNotAllowed);
    }

    #[test]
    fn a_refusal_says_what_was_asked_for_and_what_to_do() {
        let port = decided("a.example:80").unwrap_err();
        assert_eq!(
            port.detail,
            "port \"80\" was asked for, and only 443 is open: use https"
        );
        let host = decided("b.example:443").unwrap_err();
        assert_eq!(
            host.detail,
            "no Connection bound to this sandbox names b.example"
        );
    }
}
