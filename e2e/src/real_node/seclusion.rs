//! Whether the node's networks are shut in: judged from what `ip` says of them. Pure.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::network::{CABLE, GATEWAY, NODE_ADDRESS};

/// A way out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Leak {
    /// Two of the networks are one.
    #[error("the {0} network is not one of its own")]
    Shared(&'static str),
    /// A cable to somewhere.
    #[error("the {network} network has the interface {interface}, which may lead anywhere")]
    Interface {
        /// Which network.
        network: &'static str,
        /// The interface.
        interface: String,
    },
    /// The one cable does not join the two.
    #[error("the cable between the node and the outside world does not end in both")]
    Cable,
    /// An address of the machine.
    #[error("the {network} network has {address}, which is an address of this machine, too")]
    Address {
        /// Which network.
        network: &'static str,
        /// The address.
        address: String,
    },
    /// A route that does not end at the other end of the cable.
    #[error(
        "the {network} network sends what is for {destination} elsewhere than through the cable"
    )]
    Route {
        /// Which network.
        network: &'static str,
        /// What would take it.
        destination: String,
    },
    /// The outside world passes on what is not for it.
    #[error("the outside world forwards packets")]
    Forwards,
}

/// What is in a network.
#[derive(Clone, Debug)]
pub(super) struct View {
    /// What the kernel calls it.
    pub identity: String,
    /// `ip -json address`
    pub links: Vec<Link>,
    /// `ip -json route`
    pub routes: Vec<Route>,
    /// Whether it passes on packets that are for somebody else.
    pub forwards: bool,
}

/// An interface.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Link {
    ifindex: u32,
    ifname: String,
    /// The number of the other end of a cable, in the network that end is in.
    #[serde(rename = "link_index")]
    other_end: Option<u32>,
    /// Present if the other end is in another network.
    #[serde(rename = "link_netnsid")]
    other_network: Option<i64>,
    flags: BTreeSet<String>,
    addr_info: Vec<Address>,
}

#[derive(Clone, Debug, Deserialize)]
struct Address {
    /// Absent at the end of a tunnel.
    local: Option<String>,
}

/// A route.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Route {
    dst: String,
    gateway: Option<String>,
    dev: Option<String>,
}

impl Link {
    fn addresses(&self) -> impl Iterator<Item = &str> {
        self.addr_info.iter().filter_map(|it| it.local.as_deref())
    }

    fn is_loopback(&self) -> bool {
        self.flags.contains("LOOPBACK")
    }

    /// Some kernels give every network ends of tunnels: they lead nowhere before somebody says where.
    fn is_dead(&self) -> bool {
        !self.flags.contains("UP") && self.other_network.is_none() && self.addr_info.is_empty()
    }
}

/// An error if anything leads from the node or the outside world to the machine.
pub(super) fn judge(machine: &View, node: &View, outside: &View) -> Result<(), Leak> {
    for (name, view, others) in [
        ("node", node, [machine, outside]),
        ("outside", outside, [machine, node]),
    ] {
        if others.iter().any(|other| other.identity == view.identity) {
            return Err(Leak::Shared(name));
        }
    }
    let node_end = only_cable("node", node, CABLE.0)?;
    let outside_end = only_cable("outside", outside, CABLE.1)?;
    if node_end.other_end != Some(outside_end.ifindex)
        || outside_end.other_end != Some(node_end.ifindex)
    {
        return Err(Leak::Cable);
    }
    let of_the_machine: BTreeSet<&str> = machine
        .links
        .iter()
        .filter(|link| !link.is_loopback())
        .flat_map(Link::addresses)
        .collect();
    for (network, link) in [("node", node_end), ("outside", outside_end)] {
        if let Some(address) = link.addresses().find(|it| of_the_machine.contains(it)) {
            let address = address.to_owned();
            return Err(Leak::Address { network, address });
        }
    }
    routed("node", node, CABLE.0, &GATEWAY.to_string())?;
    routed("outside", outside, CABLE.1, &NODE_ADDRESS.to_string())?;
    if outside.forwards {
        return Err(Leak::Forwards);
    }
    Ok(())
}

/// The one interface that leads anywhere.
fn only_cable<'a>(network: &'static str, view: &'a View, cable: &str) -> Result<&'a Link, Leak> {
    let mut found = Err(Leak::Cable);
    for link in &view.links {
        if link.ifname == cable && link.other_network.is_some() {
            found = Ok(link);
        } else if !link.is_loopback() && !link.is_dead() {
            let interface = link.ifname.clone();
            return Err(Leak::Interface { network, interface });
        }
    }
    found
}

/// Whether everything goes through the cable, and through nobody but `gateway`.
fn routed(network: &'static str, view: &View, cable: &str, gateway: &str) -> Result<(), Leak> {
    let stray = view.routes.iter().find(|route| {
        let elsewhere = route.gateway.as_deref().is_some_and(|it| it != gateway);
        route.dev.as_deref() != Some(cable) || elsewhere
    });
    stray.map_or(Ok(()), |route| {
        let destination = route.dst.clone();
        Err(Leak::Route {
            network,
            destination,
        })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn link(number: u32, name: &str, addresses: &[&str]) -> Value {
        let addresses: Vec<Value> = addresses
            .iter()
            .map(|address| json!({ "family": "inet", "local": address }))
            .collect();
        json!({ "ifindex": number, "ifname": name, "flags": ["UP"], "addr_info": addresses })
    }

    fn cable(number: u32, name: &str, other: u32, address: &str) -> Value {
        let mut end = link(number, name, &[address]);
        end["link_index"] = json!(other);
        end["link_netnsid"] = json!(0);
        end
    }

    fn loopback() -> Value {
        let mut loopback = link(1, "lo", &["127.0.0.1"]);
        loopback["flags"] = json!(["LOOPBACK", "UP"]);
        loopback
    }

    fn view(identity: &str, links: Vec<Value>, routes: Value) -> View {
        View {
            identity: identity.to_owned(),
            links: from_value(Value::Array(links)).unwrap(),
            routes: from_value(routes).unwrap(),
            forwards: false,
        }
    }

    fn machine() -> View {
        view(
            "net:[1]",
            vec![loopback(), link(4, "eth0", &["192.0.2.2"])],
            json!([{ "dst": "default", "gateway": "192.0.2.1", "dev": "eth0" }]),
        )
    }

    fn node() -> View {
        view(
            "net:[2]",
            vec![loopback(), cable(2, "node0", 3, "10.245.0.1")],
            json!([
                { "dst": "default", "gateway": "10.245.0.2", "dev": "node0" },
                { "dst": "10.245.0.0/24", "dev": "node0" },
            ]),
        )
    }

    fn outside() -> View {
        view(
            "net:[3]",
            vec![loopback(), cable(3, "outside0", 2, "10.245.0.2")],
            json!([{ "dst": "default", "gateway": "10.245.0.1", "dev": "outside0" }]),
        )
    }

    fn with_link(mut view: View, added: Value) -> View {
        view.links.push(from_value(added).unwrap());
        view
    }

    fn with_route(mut view: View, added: Value) -> View {
        view.routes.push(from_value(added).unwrap());
        view
    }

    #[test]
    fn two_networks_joined_by_one_cable_are_shut_in() {
        assert_eq!(judge(&machine(), &node(), &outside()), Ok(()));
    }

    #[test]
    fn the_end_of_a_tunnel_that_nobody_set_up_leads_nowhere() {
        let mut tunnel = link(9, "tunl0", &[]);
        tunnel["flags"] = json!(["NOARP"]);
        let node = with_link(node(), tunnel);
        assert_eq!(judge(&machine(), &node, &outside()), Ok(()));
    }

    #[rstest::rstest]
    #[case::the_machines_own_network(machine(), outside(), "not one of its own")]
    #[case::a_second_cable(
        with_link(node(), cable(7, "eth0", 9, "192.0.2.9")),
        outside(),
        "interface eth0"
    )]
    #[case::a_way_out_of_the_outside(
        node(),
        with_link(outside(), link(7, "wlan0", &[])),
        "interface wlan0"
    )]
    #[case::a_cable_that_ends_elsewhere(
        view("net:[2]", vec![cable(2, "node0", 8, "10.245.0.1")], json!([])),
        outside(),
        "does not end in both"
    )]
    #[case::no_cable(view("net:[2]", vec![loopback()], json!([])), outside(), "does not end in both")]
    #[case::an_address_of_the_machine(
        view("net:[2]", vec![cable(2, "node0", 3, "192.0.2.2")], json!([])),
        outside(),
        "192.0.2.2"
    )]
    #[case::a_route_by_somebody_else(
        with_route(node(), json!({ "dst": "192.0.2.0/24", "gateway": "10.245.0.9", "dev": "node0" })),
        outside(),
        "for 192.0.2.0/24"
    )]
    fn a_way_out_is_named(#[case] node: View, #[case] outside: View, #[case] named: &str) {
        let leak = judge(&machine(), &node, &outside).unwrap_err().to_string();
        assert!(leak.contains(named), "{leak}");
    }

    #[test]
    fn an_outside_world_that_forwards_is_a_way_out() {
        let outside = View {
            forwards: true,
            ..outside()
        };
        assert_eq!(judge(&machine(), &node(), &outside), Err(Leak::Forwards));
    }
}
