//! Test hosts: names that in-cluster Services stand for, so that a sandbox reaches private addresses. For
//! test clusters only (E-029 to E-036, O-034). Pure.

use std::collections::{BTreeSet, HashSet};
use std::net::IpAddr;
use std::time::Duration;

use sandgate_shared::{
    net::{
        address::{Class, not_public},
        host::{Host, HostEntry},
    },
    reason,
};

use crate::claim::digest::hash;
use crate::claim::observed::{AllowedTarget, Lookup, Observed, ServiceKey, Target};
use crate::claim::plan::{Finding, Settings, TestHost, TestHosts};

/// How often the Service of a test host is looked at, as long as a claim has one.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// The port of a test host's Service that its name stands for.
const HTTPS: i32 = 443;

/// A test host that the proxy dials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::claim::plan) struct Pinned {
    /// The name.
    pub(super) host: Host,
    /// The Service's cluster IP.
    pub(super) address: IpAddr,
    /// The Service.
    pub(super) service: ServiceKey,
    /// What its pods carry.
    pub(super) selector: Vec<(String, String)>,
    /// Where they listen.
    pub(super) target: Target,
}

/// Whether the browser in the sandbox trusts the fixtures' key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::claim::plan) enum Trust {
    /// There is no such key.
    #[default]
    Nothing,
    /// It does: the key's hash.
    Key(String),
    /// It does not, since it would for these hosts, too (E-035).
    Withheld(Vec<String>),
}

/// What of a claim's hosts is a test host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::claim::plan) struct Fixtures {
    /// Those that the proxy dials.
    pub(super) pinned: Vec<Pinned>,
    /// Those that it does not get, each with what is missing (E-033).
    pub(in crate::claim::plan) missing: Vec<(String, String)>,
    /// Who is trusted.
    pub(in crate::claim::plan) trust: Trust,
    unresolved: Vec<Host>,
}

/// The Services that serve test hosts, for gather to look up.
pub fn fixture_services(settings: &Settings) -> impl Iterator<Item = &ServiceKey> {
    let all = settings.egress.test_hosts.iter();
    all.flat_map(|all| &all.hosts).map(|it| &it.service)
}

impl Fixtures {
    /// Those that entries of Connections name already: nothing is added to any allowlist (E-029).
    pub(super) fn of(
        entries: &BTreeSet<String>,
        observed: &Observed,
        all: Option<&TestHosts>,
    ) -> Self {
        let mut fixtures = Self::default();
        let Some(all) = all else { return fixtures };
        let named = |it: &&TestHost| entries.iter().any(|entry| covers(entry, &it.host));
        for host in all.hosts.iter().filter(named) {
            let found = observed.services.get(&host.service);
            match pin(host, found.and_then(Lookup::found)) {
                Ok(pinned) => fixtures.pinned.push(pinned),
                Err(lacks) => {
                    let name = host.host.as_str().to_owned();
                    fixtures.missing.push((name, lacks));
                    fixtures.unresolved.push(host.host.clone());
                }
            }
        }
        if fixtures.touch()
            && let Some(key) = &all.spki
        {
            let known: HashSet<&str> = all.hosts.iter().map(|it| it.host.as_str()).collect();
            let real = entries.iter().filter(|host| !known.contains(host.as_str()));
            let real: Vec<_> = real.cloned().collect();
            fixtures.trust = if real.is_empty() {
                Trust::Key(key.clone())
            } else {
                Trust::Withheld(real)
            };
        }
        fixtures
    }

    /// Whether the claim has any.
    pub(in crate::claim::plan) fn touch(&self) -> bool {
        !(self.pinned.is_empty() && self.missing.is_empty())
    }

    /// The names of all of them.
    pub(in crate::claim::plan) fn names(&self) -> Vec<&str> {
        let pinned = self.pinned.iter().map(|it| it.host.as_str());
        let missing = self.missing.iter().map(|(host, _)| host.as_str());
        let mut all: Vec<_> = pinned.chain(missing).collect();
        all.sort_unstable();
        all
    }

    /// What is to be said of them: what is wrong, before that they are there at all (E-033, E-035, E-036).
    pub(in crate::claim::plan) fn told(&self) -> Option<Finding> {
        if !self.touch() {
            return None;
        }
        let names = self.names().join(", ");
        let finding = |reason: &'static str, message: String| Some(Finding { reason, message });
        if !self.missing.is_empty() {
            let missing = self.missing.iter();
            let missing: Vec<_> = missing
                .map(|(host, lacks)| format!("{host}: {lacks}"))
                .collect();
            return finding(
                reason::INSECURE_EGRESS_TEST_FIXTURE_UNRESOLVED,
                format!(
                    "the egress proxy does not get these test hosts: {}; looked for again every 10 seconds",
                    missing.join("; ")
                ),
            );
        }
        if let Trust::Withheld(real) = &self.trust {
            return finding(
                reason::INSECURE_EGRESS_TEST_SPKI_WITHHELD,
                format!(
                    "the egress proxy dials in-cluster test hosts ({names}); the sandbox's browser does not trust their key, which it would then trust for these hosts, too: {}",
                    real.join(", ")
                ),
            );
        }
        finding(
            reason::INSECURE_EGRESS_TEST_HOSTS_ENABLED,
            format!(
                "the egress proxy dials in-cluster test hosts ({names}); this is for test clusters only"
            ),
        )
    }

    /// How soon their Services are looked at again (E-033).
    pub(in crate::claim::plan) fn again(&self) -> Option<Duration> {
        self.touch().then_some(LOOK_AGAIN)
    }

    /// Whether an entry is kept from the proxy: it covers a test host that the proxy would ask DNS for, since
    /// there is no address, or a proxy runs that was not told it: not all are `pinned` (E-030, E-033).
    pub(super) fn holds_back(&self, entry: &str, pinned: bool) -> bool {
        let told = self.pinned.iter().map(|it| &it.host);
        let untold = told.filter(|_| !pinned);
        let mut hosts = self.unresolved.iter().chain(untold);
        hosts.any(|host| covers(entry, host))
    }

    /// The proxy's arguments, and the acknowledgement without which it does not start (E-028).
    pub(super) fn args(&self) -> Vec<String> {
        let pin = |it: &Pinned| format!("-insecure-test-hosts={}={}", it.host.as_str(), it.address);
        let mut args: Vec<_> = self.pinned.iter().map(pin).collect();
        if !args.is_empty() {
            args.push("-acknowledge-insecure-test-only".to_owned());
        }
        args
    }

    /// What tells the arguments apart from others; `None` without any.
    pub(super) fn digest(&self) -> Option<String> {
        let args = self.args();
        (!args.is_empty()).then(|| hash(&args.into()))
    }
}

fn covers(entry: &str, host: &Host) -> bool {
    let entry = entry.parse::<HostEntry>();
    entry.is_ok_and(|entry| entry.covers(host))
}

/// Where a test host is dialled, or what its Service lacks.
fn pin(host: &TestHost, service: Option<&AllowedTarget>) -> Result<Pinned, String> {
    let ServiceKey { namespace, name } = &host.service;
    let lacks = |what: &str| format!("Service {namespace}/{name} {what}");
    let service = service.ok_or_else(|| lacks("does not exist"))?;
    let address = service.addresses.first().copied();
    let address = address.ok_or_else(|| lacks("has no cluster IP"))?;
    if service.selector.is_empty() {
        return Err(lacks("has no selector"));
    }
    let mut ports = service.ports.iter();
    let port = ports.find(|port| port.port == HTTPS && port.protocol == "TCP");
    let port = port.ok_or_else(|| lacks("has no port 443"))?;
    if !may_be_dialled(address) {
        return Err(lacks("has a cluster IP that is never dialled"));
    }
    Ok(Pinned {
        host: host.host.clone(),
        address,
        service: host.service.clone(),
        selector: service.selector.clone(),
        target: port.target.clone(),
    })
}

/// What the proxy takes as a pin: the address of a Service is public or private, never the machine's or the
/// link's (E-031).
fn may_be_dialled(address: IpAddr) -> bool {
    matches!(
        not_public(address),
        None | Some(Class::Private | Class::Shared | Class::Benchmarking | Class::Documentation)
    )
}
