//! A room in which addresses of the internet are at hand: they lead to its own loopback, and to nobody
//! else. Does I/O: runs `ip` in it.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::namespaces;
use super::tools;
use crate::room::Room;

/// What is at hand, IPv4 only. Connections to it come from 127.0.0.1.
pub const NETWORK: &str = "1.2.3.0/24";

/// From which ports connections are made: nearly all of them.
const PORTS: &str = "4000 65000";

/// Opens the room. Within it, each first path of `shown` is seen at the second, too, which must exist.
pub fn open(shown: Vec<(PathBuf, PathBuf)>) -> io::Result<Room> {
    let room = Room::open(move || {
        namespaces::own_network()?;
        namespaces::own_mounts()?;
        fs::write("/proc/sys/net/ipv4/ip_local_port_range", PORTS)?;
        shown
            .iter()
            .try_for_each(|(from, to)| namespaces::bind(from, to))
    })?;
    let setup = format!("link set lo up\nroute add local {NETWORK} dev lo src 127.0.0.1\n");
    tools::run(&room, "ip", &["-batch", "-"], &setup).map_err(io::Error::other)?;
    Ok(room)
}
