//! Two networks of their own, the node's and the outside world's, joined by one cable and by nothing
//! else. Does I/O: runs `ip` and `iptables-restore` in them.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;

use super::Options;
use super::namespaces;
use super::seclusion::{self, Leak, View};
use super::tools::{self, ToolError};
use crate::room::Room;

/// The node.
pub const NODE_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 245, 0, 1);

/// The other end of its cable: the way to everywhere.
pub const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 245, 0, 2);

/// Hosts of the outside world. By every rule on ranges these are public; in here they are ours.
pub const OUTSIDE: [Ipv4Addr; 3] = [
    Ipv4Addr::new(11, 22, 33, 44),
    Ipv4Addr::new(11, 22, 33, 45),
    Ipv4Addr::new(44, 55, 66, 77),
];

/// Where clouds keep the credentials of a machine; answered by the outside world, too.
pub const METADATA: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);

/// The ends of the cable.
pub(super) const CABLE: (&str, &str) = ("node0", "outside0");

/// Number of the queue the enforcer judges packets from.
pub(super) const QUEUE: u16 = 100;

/// Why the networks are not there.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// A namespace or a setting was refused.
    #[error("failed to make the networks of the node")]
    Make(#[source] io::Error),
    /// A program did not do what it was told.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// There is a way out.
    #[error("the node does not start, because its network is not shut in: {0}")]
    Leak(#[from] Leak),
    /// What `ip` said makes no sense.
    #[error("failed to understand what ip says of the networks")]
    Words(#[from] serde_json::Error),
}

/// The two networks. They last as long as a thread or a process is in them.
#[derive(Debug)]
pub(super) struct Network {
    /// The node's.
    pub node: Arc<Room>,
    /// The outside world's.
    pub outside: Room,
}

impl Network {
    /// Makes both and refuses them if they are not shut in.
    pub(super) fn make() -> Result<Self, NetworkError> {
        let open = || Room::open(empty).map_err(NetworkError::Make);
        let network = Self {
            node: Arc::new(open()?),
            outside: open()?,
        };
        network.connect()?;
        network.secluded()?;
        Ok(network)
    }

    fn connect(&self) -> Result<(), NetworkError> {
        let thread = self.node.run(|| fs::read_link("/proc/thread-self"));
        let thread = thread.and_then(|link| link).map_err(NetworkError::Make)?;
        let thread = thread.file_name().unwrap_or_default().to_string_lossy();
        let (node_end, outside_end) = CABLE;
        let hosts: Vec<String> = OUTSIDE
            .iter()
            .chain([&METADATA])
            .map(|host| format!("address add {host}/32 dev {outside_end}\n"))
            .collect();
        let outside = format!(
            "link set lo up\n\
             link add {outside_end} type veth peer name {node_end} netns {thread}\n\
             address add {GATEWAY}/24 dev {outside_end}\n\
             {}\
             link set {outside_end} up\n\
             route add default via {NODE_ADDRESS}\n",
            hosts.concat()
        );
        let node = format!(
            "link set lo up\n\
             address add {NODE_ADDRESS}/24 dev {node_end}\n\
             link set {node_end} up\n\
             route add default via {GATEWAY}\n"
        );
        tools::run(&self.outside, "ip", &["-batch", "-"], &outside)?;
        tools::run(&self.node, "ip", &["-batch", "-"], &node)?;
        let forward = || fs::write("/proc/sys/net/ipv4/ip_forward", "1");
        let forwards = self.node.run(forward).and_then(|outcome| outcome);
        forwards.map_err(NetworkError::Make)
    }

    /// An error if anything leads from here to the machine's own interfaces.
    pub(super) fn secluded(&self) -> Result<(), NetworkError> {
        let here = Room::here().map_err(NetworkError::Make)?;
        let [machine, node, outside] = [here.as_ref(), self.node.as_ref(), &self.outside].map(look);
        Ok(seclusion::judge(&machine?, &node?, &outside?)?)
    }

    /// Lets the enforcer judge every first packet to and from pods, on its way through the node and,
    /// if the node is guarded, to the node itself. Nobody on the queue means: dropped.
    ///
    /// Before translation a packet to a Service is judged as its pod sent it, and still again as it
    /// arrives, for the enforcer does not look at one direction alone.
    pub(super) fn judge(&self, options: &Options) -> Result<(), NetworkError> {
        let pods = &options.pods;
        let early = if options.judges_before_translation {
            format!("-A PREROUTING -s {pods} -j JUDGED\n")
        } else if options.guard_node {
            format!("-A INPUT -s {pods} -j JUDGED\n")
        } else {
            String::new()
        };
        // The kubelet's own probes are let through: they come from root on the node.
        let rules = format!(
            "*mangle\n\
             :JUDGED - [0:0]\n\
             -A JUDGED -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN\n\
             -A JUDGED -s {pods} -j NFQUEUE --queue-num {QUEUE}\n\
             -A JUDGED -d {pods} -j NFQUEUE --queue-num {QUEUE}\n\
             -A POSTROUTING -m owner --uid-owner 0 -j RETURN\n\
             -A POSTROUTING -j JUDGED\n\
             {early}\
             COMMIT\n"
        );
        tools::run(&self.node, "iptables-restore", &[], &rules)?;
        Ok(())
    }

    /// Forgets every rule of the node's network, as a reboot does.
    pub(super) fn forget_rules(&self) -> Result<(), NetworkError> {
        tools::run(&self.node, "nft", &["flush", "ruleset"], "")?;
        Ok(())
    }
}

/// An empty network without IPv6. A pod reaches the node at the link-local address of its cable's other
/// end, past every rule for IPv4; and a denied pod did.
fn empty() -> io::Result<()> {
    namespaces::own_network()?;
    for scope in ["all", "default"] {
        let setting = format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6");
        match fs::write(setting, "1") {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// What is in the network of `room`.
fn look(room: &Room) -> Result<View, NetworkError> {
    let read = |file: &'static str| {
        room.run(move || fs::read_to_string(file))
            .and_then(|text| text)
            .map_err(NetworkError::Make)
    };
    let identity = room
        .run(|| fs::read_link("/proc/thread-self/ns/net"))
        .and_then(|link| link)
        .map_err(NetworkError::Make)?;
    Ok(View {
        identity: identity.to_string_lossy().into_owned(),
        links: serde_json::from_str(&tools::run(room, "ip", &["-json", "address"], "")?)?,
        routes: serde_json::from_str(&tools::run(room, "ip", &["-json", "route"], "")?)?,
        forwards: read("/proc/sys/net/ipv4/ip_forward")?.trim() != "0",
    })
}

/// Whether somebody judges the packets of this thread's network.
pub(super) fn is_judged() -> io::Result<bool> {
    let queues = fs::read_to_string("/proc/thread-self/net/netfilter/nfnetlink_queue")?;
    let ours = QUEUE.to_string();
    Ok(queues
        .lines()
        .any(|queue| queue.split_whitespace().next() == Some(&ours)))
}
