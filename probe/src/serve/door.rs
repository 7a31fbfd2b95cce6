//! Ports that are open to both families, or to IPv4 alone where there is no other. Does I/O.

use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// All doors are looked at when one of them has something.
pub const DOOR: Token = Token(0);
/// Callers that may wait to be let in.
const BACKLOG: i32 = 1024;
/// The longest datagram there is.
const LONGEST: usize = 65_536;

/// A port that takes connections.
pub struct TcpDoor {
    pub port: u16,
    listener: TcpListener,
}

/// A port that takes datagrams. The address one came to is known, so that its answer comes from
/// there: on a machine with many addresses it would come from another, and be taken for none.
pub struct UdpDoor {
    pub port: u16,
    socket: UdpSocket,
    state: UdpSocketState,
    room: Vec<u8>,
}

/// A datagram that came.
pub struct Datagram {
    pub from: SocketAddr,
    pub to: Option<IpAddr>,
    pub bytes: Vec<u8>,
}

impl TcpDoor {
    /// Opens `port`, or with 0 a free one; `registry` hears of it when somebody comes.
    pub fn open(port: u16, registry: &Registry) -> io::Result<Self> {
        let socket = bound(Type::STREAM, Protocol::TCP, port)?;
        socket.listen(BACKLOG)?;
        let listener = TcpListener::from(socket);
        watch(registry, &listener)?;
        Ok(Self {
            port: listener.local_addr()?.port(),
            listener,
        })
    }

    /// Lets the next one in, if somebody waits.
    pub fn admit(&self) -> Option<(TcpStream, SocketAddr)> {
        self.listener.accept().ok()
    }
}

impl UdpDoor {
    /// Opens `port`, or with 0 a free one; `registry` hears of it when something comes.
    pub fn open(port: u16, registry: &Registry) -> io::Result<Self> {
        let socket = UdpSocket::from(bound(Type::DGRAM, Protocol::UDP, port)?);
        let state = UdpSocketState::new((&socket).into())?;
        watch(registry, &socket)?;
        Ok(Self {
            port: socket.local_addr()?.port(),
            socket,
            state,
            room: vec![0; LONGEST],
        })
    }

    /// Takes what waits next: usually one datagram, several if the kernel hands over those of one
    /// sender in one piece, none if none waits.
    pub fn take(&mut self) -> Vec<Datagram> {
        let mut about = [RecvMeta::default()];
        let mut room = [IoSliceMut::new(&mut self.room)];
        if self
            .state
            .recv((&self.socket).into(), &mut room, &mut about)
            .is_err()
        {
            return Vec::new();
        }
        let [about] = about;
        let taken = self.room.get(..about.len).unwrap_or_default();
        // An empty datagram is one, too.
        let first = taken.get(..about.stride).unwrap_or(taken);
        let others = taken.get(first.len()..).unwrap_or_default();
        std::iter::once(first)
            .chain(others.chunks(about.stride.max(1)))
            .map(|bytes| Datagram {
                from: about.addr,
                to: about.dst_ip,
                bytes: bytes.to_vec(),
            })
            .collect()
    }

    /// Sends a datagram back to where it came from, from where it came to.
    pub fn echo(&self, datagram: &Datagram) {
        let transmit = Transmit {
            destination: datagram.from,
            ecn: None,
            contents: &datagram.bytes,
            segment_size: None,
            src_ip: datagram.to,
        };
        // It is a datagram: it may get lost.
        drop(self.state.try_send((&self.socket).into(), &transmit));
    }
}

fn watch(registry: &Registry, socket: &impl AsRawFd) -> io::Result<()> {
    registry.register(&mut SourceFd(&socket.as_raw_fd()), DOOR, Interest::READABLE)
}

/// A socket that never waits, bound to `port` at every address of this machine.
fn bound(kind: Type, protocol: Protocol, port: u16) -> io::Result<Socket> {
    let both = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
    match bound_at(kind, protocol, both) {
        // A taken port is taken; anything else means that there is no IPv6 here.
        Err(error) if error.kind() != ErrorKind::AddrInUse => {
            let one = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
            bound_at(kind, protocol, one)
        }
        bound => bound,
    }
}

fn bound_at(kind: Type, protocol: Protocol, address: SocketAddr) -> io::Result<Socket> {
    let domain = Domain::for_address(address);
    let socket = Socket::new(domain, kind, Some(protocol))?;
    socket.set_nonblocking(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    if kind == Type::STREAM {
        // Connections of a server that ended must not keep the next one out.
        socket.set_reuse_address(true)?;
    }
    socket.bind(&SockAddr::from(address))?;
    Ok(socket)
}
