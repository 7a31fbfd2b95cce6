//! How a sandbox finds its egress proxy: by the Service's cluster IP (E-004). Pure.

use std::net::SocketAddr;

use sandgate_shared::names;

use super::{Proxy, fixtures::Trust};
use crate::claim::{
    observed::{LiveObject, ObjectKind, Observed},
    plan::gate::owns,
};

/// Behind the address, where the sandbox trusts the key of test hosts.
const TRUSTING: &str = " insecure-test-spki";

/// The way to a claim's proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::claim::plan) struct Way {
    /// Where the proxy's Service answers.
    pub(in crate::claim::plan) address: SocketAddr,
    /// The test hosts and the hash of their key, where the sandbox trusts it.
    pub(super) trusts: Option<(Vec<String>, String)>,
}

impl Way {
    /// The way to `proxy`; `None` while its Service has no address. While that is made anew, what the
    /// sandbox was told still stands.
    pub(in crate::claim::plan) fn to(proxy: &Proxy, observed: &Observed) -> Option<Self> {
        let kind = ObjectKind::EgressService;
        let service = observed.live(kind).filter(|_| owns(observed, kind));
        let address = service.and_then(|service| service.address);
        let standing = address.map(|ip| SocketAddr::new(ip, names::EGRESS_PORT));
        let known = observed.deployment.as_ref().and_then(told_address);
        let trusts = match &proxy.fixtures.trust {
            Trust::Key(key) => {
                let names = proxy.fixtures.names();
                let names = names.into_iter().map(str::to_owned);
                Some((names.collect(), key.clone()))
            }
            Trust::Nothing | Trust::Withheld(_) => None,
        };
        Some(Self {
            address: standing.or(known)?,
            trusts,
        })
    }

    /// Whether a sandbox's Deployment was told otherwise.
    pub(in crate::claim::plan) fn differs_from(&self, live: &LiveObject) -> bool {
        live.proxy.as_deref() != Some(self.annotation().as_str())
    }

    /// The address that the sandbox was told, if the proxy has another.
    pub(in crate::claim::plan) fn left(&self, live: &LiveObject) -> Option<SocketAddr> {
        told_address(live).filter(|told| *told != self.address)
    }

    /// The annotation of a Deployment whose sandbox is told of it.
    pub(super) fn annotation(&self) -> String {
        let trusting = self.trusts.as_ref().map_or("", |_| TRUSTING);
        format!("{}{trusting}", self.address)
    }
}

fn told_address(live: &LiveObject) -> Option<SocketAddr> {
    let told = live.proxy.as_deref()?;
    told.strip_suffix(TRUSTING).unwrap_or(told).parse().ok()
}
