//! One try to reach a target: a socket of its own, so that each is a new flow to whoever polices
//! flows. Does I/O, and never waits.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::sync::Arc;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::io::Errno;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::dns::{self, Query};
use crate::echo;
use crate::outcome::Outcome;
use crate::target::{Host, Reach, Target, socket_address};

/// Where a target is, with names and interfaces looked up, and what it is told.
#[derive(Clone, Debug)]
pub struct Way {
    address: SocketAddr,
    speech: Speech,
    greeting: Arc<[u8]>,
}

#[derive(Clone, Debug)]
enum Speech {
    Tcp,
    Udp,
    Icmp,
    Dns(Query),
}

/// What is waited for.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    Connection,
    AnyDatagram,
    EchoReply(echo::Kinds, u16),
    DnsReply(u16),
}

/// What was sent, or will be once there is a connection; the socket waits.
#[derive(Debug)]
pub struct Attempt {
    socket: Socket,
    wanted: Wanted,
    greeting: Arc<[u8]>,
}

impl Way {
    /// Looks up what has to be.
    pub fn to(target: &Target, greeting: &str) -> io::Result<Self> {
        let port = target.reach.port();
        let address = match target.reach.host() {
            Host::Address { ip, zone } => {
                let zone = zone.as_deref().map_or(Ok(0), interface)?;
                socket_address(*ip, port, zone)
            }
            Host::Name(name) => (name.as_str(), port)
                .to_socket_addrs()?
                .next()
                .ok_or_else(|| io::Error::new(ErrorKind::NotFound, "the name has no address"))?,
        };
        let speech = match &target.reach {
            Reach::Tcp(..) => Speech::Tcp,
            Reach::Udp(..) => Speech::Udp,
            Reach::Icmp(..) => Speech::Icmp,
            Reach::Dns(_, _, query) => Speech::Dns(query.clone()),
        };
        Ok(Self {
            address,
            speech,
            greeting: greeting.as_bytes().into(),
        })
    }

    /// The address that was found.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Attempt {
    /// Begins. The reply to a datagram is recognised by `number` where it can carry one.
    pub fn begin(way: &Way, number: u16) -> Result<Self, Outcome> {
        let (socket, wanted, packet) = way.socket(number)?;
        match socket.connect(&SockAddr::from(way.address)) {
            Err(error) if Errno::from_io_error(&error) != Some(Errno::INPROGRESS) => {
                return Err(Outcome::at_once(&error));
            }
            _ => {}
        }
        if !packet.is_empty() {
            socket
                .send(&packet)
                .map_err(|error| Outcome::at_once(&error))?;
        }
        Ok(Self {
            socket,
            wanted,
            greeting: Arc::clone(&way.greeting),
        })
    }

    /// Asks to be told, under `token`, when it is worth looking at.
    pub fn watch(&self, registry: &Registry, token: Token) -> io::Result<()> {
        let interest = match self.wanted {
            Wanted::Connection => Interest::WRITABLE,
            _ => Interest::READABLE,
        };
        // Closing the socket ends this, too.
        registry.register(&mut SourceFd(&self.socket.as_raw_fd()), token, interest)
    }

    /// How it ended, if it did. A connection is greeted.
    pub fn look(&mut self) -> Option<Outcome> {
        match self.wanted {
            Wanted::Connection => self.look_at_connection(),
            _ => self.look_at_datagrams(),
        }
    }

    fn look_at_connection(&mut self) -> Option<Outcome> {
        match self.socket.take_error() {
            Ok(Some(error)) | Err(error) => return Some(Outcome::of(&error)),
            Ok(None) => {}
        }
        // Not connected yet, and no error either: woken for nothing.
        self.socket.peer_addr().ok()?;
        // It was reached, whatever becomes of the greeting.
        drop(self.socket.write(&self.greeting));
        Some(Outcome::Answered)
    }

    fn look_at_datagrams(&mut self) -> Option<Outcome> {
        let mut bytes = [0; 2048];
        loop {
            match self.socket.read(&mut bytes) {
                Ok(length) if self.is_wanted(bytes.get(..length).unwrap_or_default()) => {
                    return Some(Outcome::Answered);
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) => return Some(Outcome::of(&error)),
            }
        }
    }

    fn is_wanted(&self, datagram: &[u8]) -> bool {
        match self.wanted {
            Wanted::Connection => false,
            Wanted::AnyDatagram => true,
            Wanted::EchoReply(kinds, number) => echo::is_reply(kinds, number, datagram),
            Wanted::DnsReply(number) => dns::is_reply(datagram, number),
        }
    }
}

impl Way {
    /// A socket that never waits, what is to be waited for with it, and what is to be sent at once.
    fn socket(&self, number: u16) -> Result<(Socket, Wanted, Vec<u8>), Outcome> {
        let ip = self.address.ip();
        let (kind, protocol, wanted, packet) = match &self.speech {
            Speech::Tcp => (Type::STREAM, Protocol::TCP, Wanted::Connection, vec![]),
            Speech::Udp => (
                Type::DGRAM,
                Protocol::UDP,
                Wanted::AnyDatagram,
                self.greeting.to_vec(),
            ),
            Speech::Dns(query) => (
                Type::DGRAM,
                Protocol::UDP,
                Wanted::DnsReply(number),
                query.packet(number),
            ),
            Speech::Icmp => {
                let (kinds, protocol) = match ip {
                    IpAddr::V4(_) => (echo::kinds(ip), Protocol::ICMPV4),
                    IpAddr::V6(_) => (echo::kinds(ip), Protocol::ICMPV6),
                };
                (
                    Type::DGRAM,
                    protocol,
                    Wanted::EchoReply(kinds, number),
                    echo::request(kinds, number, &self.greeting),
                )
            }
        };
        let domain = Domain::for_address(self.address);
        let socket = Socket::new(domain, kind, Some(protocol))
            .and_then(|socket| socket.set_nonblocking(true).map(|()| socket))
            .map_err(|error| Outcome::without_socket(&error))?;
        Ok((socket, wanted, packet))
    }
}

/// The number of an interface given by name or number.
fn interface(zone: &str) -> io::Result<u32> {
    if let Ok(number) = zone.parse() {
        return Ok(number);
    }
    let text = fs::read_to_string(format!("/sys/class/net/{zone}/ifindex"))
        .map_err(|_| io::Error::new(ErrorKind::NotFound, format!("no interface {zone}")))?;
    text.trim().parse().map_err(io::Error::other)
}
