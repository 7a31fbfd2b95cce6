//! The ports that processes listen on, bound alike by all of them. Does network I/O.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;

/// Connections the kernel holds while all places are taken.
const QUEUE: i32 = 1024;

/// Reads what a flag tells to listen on, such as `[::]:9443`.
///
/// # Errors
/// How it must be written.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        let port: u16 = text
            .strip_prefix(':')
            .unwrap_or(text)
            .parse()
            .unwrap_or(9443);
        format!("must be ADDRESS:PORT, such as [::]:{port} for every address")
    })
}

/// Why nothing is listened on.
#[derive(Debug, thiserror::Error)]
#[error("failed to listen on {address}; is the port taken?")]
pub struct BindError {
    address: SocketAddr,
    #[source]
    source: io::Error,
}

/// Listens on `address`. An unspecified IPv6 address serves both families, and IPv4 alone on a machine
/// without IPv6. Must be called in a tokio runtime.
///
/// # Errors
/// An address that cannot be listened on, most often because another process does.
pub fn bind(address: SocketAddr) -> Result<TcpListener, BindError> {
    first_of_both(address, listen).map_err(|source| BindError { address, source })
}

fn first_of_both<T>(
    address: SocketAddr,
    listen: impl Fn(SocketAddr) -> io::Result<T>,
) -> io::Result<T> {
    match listen(address) {
        Err(error) if address.is_ipv6() && address.ip().is_unspecified() && lacks_ipv6(&error) => {
            listen(SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port())))
        }
        listening => listening,
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    if address.is_ipv6() && address.ip().is_unspecified() {
        // The default is a sysctl of the node, so it is set here.
        socket.set_only_v6(false)?;
    }
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(QUEUE)?;
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket.into())
}

/// Whether the machine has no IPv6, rather than the port being taken.
fn lacks_ipv6(error: &io::Error) -> bool {
    const EAFNOSUPPORT: i32 = 97;
    error.raw_os_error() == Some(EAFNOSUPPORT) || error.kind() == io::ErrorKind::AddrNotAvailable
}

#[cfg(test)]
mod tests;
