//! Laws of egress proxies. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use sandgate_shared::names::{
    self, ALLOWLIST_FILE, ANNOTATION_ALLOWLIST, ANNOTATION_INTENT, ANNOTATION_PROXY,
    COMPONENT_EGRESS, EGRESS_PORT,
};
use serde_json::{Value, json};

use super::bound::{self, each_of};
use super::seat::{self, annotation, claim_of, component_of};
use super::{of_kind, pods};
use crate::chaos::history::{Change, Kind, Standing, standing, text};

/// What is built of a proxy.
const OBJECTS: [Kind; 4] = [
    Kind::Policy,
    Kind::Allowlist,
    Kind::Service,
    Kind::Deployment,
];
/// By which a sandbox's programs find it.
const VARIABLES: [&str; 4] = ["HTTPS_PROXY", "HTTP_PROXY", "http_proxy", "https_proxy"];

/// Sandboxes that were made before the proxy that they are told of was ready.
pub fn late(history: &[Change]) -> Vec<(u64, String)> {
    let mut made: BTreeSet<&str> = BTreeSet::new();
    let mut found = Vec::new();
    let sandboxes = of_kind(history, Kind::Deployment)
        .filter(|it| !claim_of(it).is_empty() && component_of(it) != COMPONENT_EGRESS);
    for sandbox in sandboxes {
        let claim = claim_of(sandbox);
        let told = !annotation(sandbox, ANNOTATION_PROXY).is_empty();
        if made.insert(claim)
            && told
            && !pods::one_was_ready(history, sandbox, claim, COMPONENT_EGRESS)
        {
            found.push((sandbox.version, sandbox.place.2.clone()));
        }
    }
    found
}

/// Events that tell of another address of a proxy whose Services had no two.
pub fn told_without_a_move(history: &[Change]) -> Vec<(u64, String)> {
    let mut addresses: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut found = Vec::new();
    for change in history {
        if change.place.0 == Kind::Service && component_of(change) == COMPONENT_EGRESS {
            let of_claim = addresses.entry(claim_of(change)).or_default();
            of_claim.insert(change.text("/spec/clusterIP"));
        }
        if change.place.0 == Kind::Move {
            let had = addresses.get(regarding(change));
            if had.is_none_or(|had| had.len() < 2) {
                let name = &change.place.2;
                found.push((change.version, format!("{name}: its Services had {had:?}")));
            }
        }
    }
    found
}

/// The UID of the claim that an Event speaks of.
fn regarding(event: &Change) -> &str {
    event.text("/involvedObject/uid")
}

/// What of a proxy stands though its claim has no host to reach any more, or the other way round, and who
/// knows of it what does not hold: in the end.
pub fn misplaced(now: &Standing<'_>, claim: &Change, builds: bool) -> Vec<String> {
    let hosts = if builds {
        bound::hosts(now, claim)
    } else {
        BTreeSet::new()
    };
    let wanted = !hosts.is_empty();
    let name = names::egress(&claim.place.2);
    let stands = OBJECTS.map(|kind| seat::stands(now, claim, kind, &name));
    if stands != [wanted; 4] {
        return vec![format!(
            "its proxy is wanted: {wanted}, and policy, allowlist, Service and Deployment stand: {stands:?}"
        )];
    }
    let of = |kind: Kind, name: String| now.get(&(kind, claim.place.1.clone(), name)).copied();
    let mut told = Vec::new();
    if let Some(allowlist) = of(Kind::Allowlist, name.clone()).filter(|_| wanted) {
        told.extend(differs(allowlist, &hosts));
        told.extend(uninformed(now, claim, allowlist));
    }
    if let Some(sandbox) = of(Kind::Deployment, names::sandbox(&claim.place.2)).filter(|_| builds) {
        let service = of(Kind::Service, name).filter(|_| wanted);
        told.extend(misled(sandbox, service));
    }
    told
}

/// An allowlist that names other hosts.
fn differs(allowlist: &Change, hosts: &BTreeSet<&str>) -> Option<String> {
    let listed = allowlist.object.pointer("/data").and_then(|data| {
        let content = data.get(ALLOWLIST_FILE)?.as_str()?;
        serde_json::from_str::<Value>(content).ok()
    });
    let meant = json!({ "hosts": hosts });
    (listed.as_ref() != Some(&meant))
        .then(|| format!("its allowlist is {listed:?} instead of {meant}"))
}

/// Pods of the proxy whose kubelets were not told of this allowlist.
fn uninformed(now: &Standing<'_>, claim: &Change, allowlist: &Change) -> Vec<String> {
    let hash = annotation(allowlist, ANNOTATION_INTENT);
    let pods = now.values().filter(|it| {
        it.place.0 == Kind::Pod
            && claim_of(it) == claim.uid()
            && component_of(it) == COMPONENT_EGRESS
            && pods::stays(it)
    });
    let told = pods.map(|pod| (pod, annotation(pod, ANNOTATION_ALLOWLIST)));
    told.filter(|(_, told)| *told != hash)
        .map(|(pod, told)| {
            let name = &pod.place.2;
            format!("{name} was told of allowlist {told:?} instead of {hash:?}")
        })
        .collect()
}

/// Where the proxy behind this Service answers; empty if it has no address.
fn address(service: &Change) -> String {
    let ip = service.text("/spec/clusterIP").parse::<IpAddr>();
    ip.map_or_else(
        |_| String::new(),
        |ip| SocketAddr::new(ip, EGRESS_PORT).to_string(),
    )
}

/// A sandbox that is told of another proxy than there is.
fn misled(sandbox: &Change, service: Option<&Change>) -> Option<String> {
    let address = service.map(address);
    let told = annotation(sandbox, ANNOTATION_PROXY);
    let mut variables: Vec<(&str, &str)> =
        each_of(&sandbox.object, "/spec/template/spec/containers")
            .flat_map(|container| each_of(container, "/env"))
            .map(|it| (text(it, "/name"), text(it, "/value")))
            .filter(|(name, _)| VARIABLES.contains(name))
            .collect();
    variables.sort_unstable();
    let value = address.as_ref().map(|address| format!("http://{address}"));
    let meant: Vec<(&str, &str)> = value
        .iter()
        .flat_map(|value| VARIABLES.map(|name| (name, value.as_str())))
        .collect();
    (told != address.as_deref().unwrap_or_default() || variables != meant).then(|| {
        format!("its sandbox is told of proxy {told:?}, by {variables:?}, and it is at {address:?}")
    })
}

/// How many claims had a proxy.
pub fn number(history: &[Change]) -> usize {
    let proxies = of_kind(history, Kind::Deployment)
        .filter(|it| !claim_of(it).is_empty() && component_of(it) == COMPONENT_EGRESS);
    proxies.map(claim_of).collect::<BTreeSet<&str>>().len()
}

/// The Service of a proxy, if one stands.
pub fn service<'h>(now: &Standing<'h>) -> Option<&'h Change> {
    let mut services = now.values().filter(|it| it.place.0 == Kind::Service);
    services
        .find(|it| component_of(it) == COMPONENT_EGRESS && !claim_of(it).is_empty())
        .copied()
}

/// How long it took from the end of a proxy's Service until the sandbox was told of another's address;
/// `None` as long as it is not, or as nobody is told why it is started anew.
pub fn back(history: &[Change], service: &Change) -> Option<Duration> {
    let claim = claim_of(service);
    let mut changes = history.iter();
    let went = changes.find(|it| it.uid() == service.uid() && it.gone)?;
    let now = standing(history);
    let other = now.get(&service.place).filter(|it| claim_of(it) == claim)?;
    let address = address(other);
    let later = || history.iter().filter(|it| it.version > went.version);
    let knows = |it: &&Change| {
        it.place.0 == Kind::Deployment
            && claim_of(it) == claim
            && annotation(it, ANNOTATION_PROXY) == address
    };
    if address == self::address(service) {
        // It found the same one again.
        return Some(other.at.saturating_sub(went.at));
    }
    let told = later().any(|it| it.place.0 == Kind::Move && regarding(it) == claim);
    let knows = later().find(knows).filter(|_| told)?;
    Some(knows.at.saturating_sub(went.at))
}

#[cfg(test)]
mod tests;
