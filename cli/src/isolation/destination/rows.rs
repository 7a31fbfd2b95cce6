//! All destinations, from what is known of the cluster. Pure.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::{Destination, Opening, Presence, Via, port};
use crate::isolation::facts::{Addresses, Facts, Family, Outside, Peer, Protocol};

const OWN_NODE: &str = "Kubernetes leaves traffic between a pod and its own node open";
const API_ON_NODE: &str = "the API server is on the pod's own node, which Kubernetes leaves open";

/// All destinations, in the order of the report's rows.
pub fn destinations(facts: &Facts) -> Vec<Destination> {
    let mut rows = Vec::new();
    for family in Family::ALL {
        if facts.has(family) {
            rows.extend(pods(facts, family));
            rows.extend(dns(facts, family));
            rows.extend(resolvers(facts, family));
            rows.extend(nodes(facts, family));
            rows.extend(api_server(facts, family));
            rows.push(metadata(family));
        } else {
            rows.extend(missing(family));
        }
    }
    let outside_rows = (1..).zip(&facts.outside);
    rows.extend(outside_rows.map(|(number, at)| outside(number, at, facts.outside_logs)));
    rows
}

/// A pod and its Service, by one protocol on these two ports.
fn peer(
    name: &str,
    to: &str,
    peer: &Peer,
    protocol: Protocol,
    (pod_port, service_port): (u16, u16),
    family: Family,
) -> impl Iterator<Item = Destination> {
    let parts = [
        ("pod", Via::PodIp, &peer.pod, pod_port),
        ("svc", Via::ClusterIp, &peer.service, service_port),
    ];
    parts
        .map(|(part, via, addresses, port)| {
            let target = addressed(protocol, addresses, port, family);
            Destination::new(&format!("{name}-{part}"), to, via, protocol, family, target)
        })
        .into_iter()
}

fn pods(facts: &Facts, family: Family) -> Vec<Destination> {
    const TCP: (u16, u16) = (port::RECEIVER, port::SERVICE);
    const UDP: (u16, u16) = (port::RECEIVER, port::SERVICE_UDP);
    let (tcp, udp) = (Protocol::Tcp, Protocol::Udp);
    let mut rows = Vec::new();

    let to = "Service with a numeric target port";
    let open = peer("numbered", to, &facts.numbered, tcp, TCP, family);
    rows.extend(open.map(|row| row.logged().opened_by(Opening::Numbered)));
    let unlisted = (port::OTHER, port::SERVICE);
    let other = peer(
        "other",
        "the same, a port not listed",
        &facts.numbered,
        tcp,
        unlisted,
        family,
    );
    rows.extend(
        other
            .filter(|row| row.via == Via::PodIp)
            .map(Destination::logged),
    );
    let udp_port = "the same, its UDP port, not listed";
    let shut = peer("numbered", udp_port, &facts.numbered, udp, UDP, family);
    rows.extend(shut.map(Destination::logged));

    let to = "Service with a named target port";
    let ports = (port::NAMED, port::SERVICE);
    let open = peer("named", to, &facts.named, tcp, ports, family);
    rows.extend(open.map(|row| row.logged().opened_by(Opening::Named)));

    let to = "Service in another namespace";
    let open = peer("elsewhere", to, &facts.elsewhere, tcp, TCP, family);
    rows.extend(open.map(|row| row.logged().opened_by(Opening::Elsewhere)));
    let shut = peer("elsewhere", udp_port, &facts.elsewhere, udp, UDP, family);
    rows.extend(shut.map(Destination::logged));

    let to = "pod that no class names";
    for (protocol, ports) in [(tcp, TCP), (udp, UDP)] {
        let shut = peer("forbidden", to, &facts.forbidden, protocol, ports, family);
        rows.extend(shut.map(|row| row.logged().tripwire()));
    }
    let ping = peer(
        "forbidden",
        to,
        &facts.forbidden,
        Protocol::Icmp,
        (0, 0),
        family,
    );
    rows.extend(ping.filter(|row| row.via == Via::PodIp));

    if let Some(far) = &facts.far {
        let far = peer("far", "pod on another node", far, tcp, TCP, family);
        rows.extend(far.map(Destination::logged));
    }
    let to = "another sandbox, its class port";
    let ports = (port::CLASS, port::CLASS);
    rows.extend(peer("sibling", to, &facts.sibling, tcp, ports, family));
    rows
}

fn dns(facts: &Facts, family: Family) -> Vec<Destination> {
    let to = "cluster DNS";
    let Some(dns) = &facts.dns else {
        let none = Err("no Service of the cluster's DNS was found".to_owned());
        let (via, protocol) = (Via::ClusterIp, Protocol::Dns);
        return vec![Destination::new("dns-svc", to, via, protocol, family, none)];
    };
    let question = question(facts);
    let mut rows = Vec::new();
    for protocol in [Protocol::Dns, Protocol::Tcp] {
        let asked = peer("dns", to, dns, protocol, (facts.dns_port, 53), family);
        rows.extend(asked.map(|mut row| {
            if protocol == Protocol::Dns {
                row.target = row.target.map(|target| target + &question);
            }
            row.opened_by(Opening::Dns)
        }));
    }
    rows
}

/// Where a cache on each node answers, unless it was told to be elsewhere.
pub(super) const NODE_CACHE: IpAddr = IpAddr::V4(Ipv4Addr::new(169, 254, 20, 10));

/// Resolvers that are no pods: those that the installation names, and the usual cache on each node.
fn resolvers(facts: &Facts, family: Family) -> Vec<Destination> {
    const PORT: u16 = 53;
    let known = |address: &IpAddr| {
        let dns = facts.dns.iter();
        let mut addresses = dns.flat_map(|dns| [&dns.pod, &dns.service]);
        addresses.any(|addresses| addresses.has(*address))
    };
    let named = facts.dns_addresses.iter().copied();
    let named: Vec<IpAddr> = named.filter(|address| !known(address)).collect();
    let cache = (!named.contains(&NODE_CACHE)).then_some(NODE_CACHE);
    let opens = facts.dns_ports.contains(&PORT);
    let all = named.iter().map(|address| (*address, true));
    let all = all.chain(cache.map(|address| (address, false)));
    let mut rows = Vec::new();
    for ((address, named), number) in all.zip(1..) {
        if Family::of(address) != family {
            continue;
        }
        let to = format!("DNS at {address}");
        for protocol in [Protocol::Dns, Protocol::Tcp] {
            let mut target = written(protocol, address, PORT);
            if protocol == Protocol::Dns {
                target.push_str(&question(facts));
            }
            let name = format!("resolver-{number}");
            let row = Destination::new(&name, &to, Via::Address, protocol, family, Ok(target));
            let row = row.undefined(link_local(address).then_some(OWN_NODE));
            rows.push(match (named, opens) {
                (true, true) => row.opened_by(Opening::Dns),
                (true, false) => row,
                (false, _) => row.perhaps(),
            });
        }
    }
    rows
}

/// What a DNS server is asked, after its socket.
fn question(facts: &Facts) -> String {
    format!("/kubernetes.default.svc.{}", facts.cluster_domain)
}

/// Whether nothing but the own node can answer there.
fn link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

fn nodes(facts: &Facts, family: Family) -> Vec<Destination> {
    let (near, far) = (&facts.node, facts.far_node.as_ref());
    let places = [
        Some(("node", "its own node", &near.addresses, Some(OWN_NODE))),
        Some(("gateway", "its gateway", &near.gateway, Some(OWN_NODE))),
        far.map(|far| ("far-node", "another node", &far.addresses, None)),
    ];
    let mut rows = Vec::new();
    for (name, to, addresses, undefined) in places.into_iter().flatten() {
        for (protocol, to) in [
            (Protocol::Tcp, format!("{to}, kubelet")),
            (Protocol::Icmp, to.to_owned()),
        ] {
            let target = addressed(protocol, addresses, port::KUBELET, family);
            let row = Destination::new(name, &to, Via::NodeIp, protocol, family, target);
            rows.push(row.undefined(undefined));
        }
    }
    // Not every plugin has a gateway there, and not every node an address of each family.
    for row in &mut rows {
        if row.label.starts_with("gateway") || row.target.is_err() {
            row.presence = Presence::Perhaps;
        }
    }
    rows
}

fn api_server(facts: &Facts, family: Family) -> impl Iterator<Item = Destination> {
    // One replica on the pod's own node is enough: the Service may lead to it.
    let near = facts.api.pod.any_of(&facts.node.addresses);
    let ports = (facts.api_port, 443);
    let rows = peer(
        "api",
        "API server",
        &facts.api,
        Protocol::Tcp,
        ports,
        family,
    );
    rows.map(move |mut row| {
        if row.via == Via::PodIp {
            row.via = Via::Address;
        }
        // An API server may have addresses of one family alone.
        if row.target.is_err() {
            row.presence = Presence::Perhaps;
        }
        row.undefined(near.then_some(API_ON_NODE)).tripwire()
    })
}

fn metadata(family: Family) -> Destination {
    let to = "metadata service of the cloud";
    let target = Ok(match family {
        Family::IPv4 => "tcp:169.254.169.254:80",
        Family::IPv6 => "tcp:[fd00:ec2::254]:80",
    }
    .to_owned());
    let row = Destination::new("metadata", to, Via::Address, Protocol::Tcp, family, target);
    row.perhaps().tripwire()
}

fn outside(number: usize, outside: &Outside, logs: bool) -> Destination {
    let protocol = outside.protocol;
    let family = Family::of(outside.address);
    let mut target = written(protocol, outside.address, outside.port);
    if let Some(question) = &outside.question {
        target.push('/');
        target.push_str(question);
    }
    let (name, to) = (
        format!("outside-{number}"),
        format!("outside: {}", outside.address),
    );
    let row = Destination::new(&name, &to, Via::Address, protocol, family, Ok(target)).tripwire();
    let logged = logs && matches!(protocol, Protocol::Tcp | Protocol::Udp);
    if logged { row.logged() } else { row }
}

/// What is said of a family that pods here do not have.
fn missing(family: Family) -> impl Iterator<Item = Destination> {
    [Protocol::Tcp, Protocol::Udp, Protocol::Icmp]
        .into_iter()
        .map(move |protocol| {
            let (name, to) = ("forbidden-pod", "pod that no class names");
            let none = Err(format!("no {family} here"));
            Destination::new(name, to, Via::PodIp, protocol, family, none).perhaps()
        })
}

fn addressed(
    protocol: Protocol,
    addresses: &Addresses,
    port: u16,
    family: Family,
) -> Result<String, String> {
    let address = addresses.of(family);
    let address = address.ok_or_else(|| format!("it has no {family} address"))?;
    Ok(written(protocol, address, port))
}

/// As the probe reads it.
fn written(protocol: Protocol, address: IpAddr, port: u16) -> String {
    let scheme = protocol.name().to_lowercase();
    match (protocol, address) {
        (Protocol::Icmp, IpAddr::V4(address)) => format!("{scheme}:{address}"),
        (Protocol::Icmp, IpAddr::V6(address)) => format!("{scheme}:[{address}]"),
        _ => format!("{scheme}:{}", SocketAddr::new(address, port)),
    }
}
