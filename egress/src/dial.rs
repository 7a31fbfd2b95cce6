//! Connecting to one of some addresses, each judged before (E-023, E-024; RFC 8305). Does network I/O.
//!
//! What is dialled is an address and never a name, so there is no second lookup that could say something
//! else; and what answers must be at just that address.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};

use crate::decide::PORT;
use crate::limits::Pace;

/// What connects.
pub trait Connect: Send + Sync + 'static {
    /// A connection.
    type Stream: Send;

    /// Connects to `address`; the connection, and the address it is really with.
    fn connect(
        &self,
        address: SocketAddr,
    ) -> impl Future<Output = io::Result<(Self::Stream, SocketAddr)>> + Send;
}

/// Connects by TCP.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tcp;

impl Connect for Tcp {
    type Stream = TcpStream;

    async fn connect(&self, address: SocketAddr) -> io::Result<(TcpStream, SocketAddr)> {
        let stream = TcpStream::connect(address).await?;
        let peer = stream.peer_addr()?;
        // Whoever is at both ends is this very pod.
        if stream.local_addr()?.ip() == peer.ip() {
            return Err(io::Error::other("the address is the proxy's own"));
        }
        stream.set_nodelay(true)?;
        Ok((stream, peer))
    }
}

/// Why there is no connection.
#[derive(Debug, Error)]
pub enum DialError {
    /// No address took it; the first error that tells most.
    #[error("failed to connect")]
    Failed(#[source] io::Error),
    /// No address took it in time.
    #[error("failed to connect in time")]
    TimedOut,
    /// There is no descriptor for another connection.
    #[error("failed to open a socket")]
    Exhausted(#[source] io::Error),
}

/// Connects to the first of `addresses` that takes it, on the one port there is.
///
/// # Errors
/// None of those that were tried did.
pub async fn dial<C: Connect>(
    connector: &C,
    addresses: &[IpAddr],
    pace: Pace,
) -> Result<(C::Stream, SocketAddr), DialError> {
    let mut waiting = interleaved(addresses);
    waiting.truncate(pace.most);
    let mut trying = FuturesUnordered::new();
    let end = Instant::now() + pace.all;
    let mut next = Instant::now();
    let mut failure: Option<DialError> = None;
    loop {
        if (trying.is_empty() || next <= Instant::now())
            && let Some(address) = waiting.pop_front()
        {
            trying.push(attempt(connector, SocketAddr::new(address, PORT), pace));
            next = Instant::now() + pace.between;
        }
        if trying.is_empty() {
            return Err(failure.unwrap_or(DialError::TimedOut));
        }
        tokio::select! {
            Some(tried) = trying.next() => match tried {
                Ok(connected) => return Ok(connected),
                Err(error) => {
                    if failure.as_ref().is_none_or(|known| telling(known) < telling(&error)) {
                        failure = Some(error);
                    }
                    next = Instant::now();
                }
            },
            () = sleep_until(next), if !waiting.is_empty() => {}
            () = sleep_until(end) => return Err(DialError::TimedOut),
        }
    }
}

async fn attempt<C: Connect>(
    connector: &C,
    address: SocketAddr,
    pace: Pace,
) -> Result<(C::Stream, SocketAddr), DialError> {
    let connected = timeout(pace.each, connector.connect(address)).await;
    let (stream, peer) = connected
        .map_err(|_| DialError::TimedOut)?
        .map_err(classified)?;
    if peer != address {
        let error = io::Error::other("another address answered than was dialled");
        return Err(DialError::Failed(error));
    }
    Ok((stream, peer))
}

fn classified(error: io::Error) -> DialError {
    use rustix::io::Errno;
    let code = error.raw_os_error();
    let is_of = |errno: Errno| code == Some(errno.raw_os_error());
    match error.kind() {
        io::ErrorKind::TimedOut => DialError::TimedOut,
        _ if is_of(Errno::MFILE) || is_of(Errno::NFILE) => DialError::Exhausted(error),
        _ => DialError::Failed(error),
    }
}

/// How much an error tells, in order: that this pod has no address or route of that family, which is so of
/// every IPv6 address where the cluster has IPv4 alone; that nobody answered; what somebody did.
fn telling(error: &DialError) -> u8 {
    use rustix::io::Errno;
    let unreachable = [Errno::NETUNREACH, Errno::AFNOSUPPORT, Errno::ADDRNOTAVAIL];
    match error {
        DialError::Failed(error)
            if unreachable
                .iter()
                .any(|errno| error.raw_os_error() == Some(errno.raw_os_error())) =>
        {
            0
        }
        DialError::TimedOut => 1,
        DialError::Failed(_) | DialError::Exhausted(_) => 2,
    }
}

/// One family after the other in turn, IPv6 first.
fn interleaved(addresses: &[IpAddr]) -> VecDeque<IpAddr> {
    let mut sixes = addresses.iter().filter(|address| address.is_ipv6());
    let mut fours = addresses.iter().filter(|address| address.is_ipv4());
    let mut order = VecDeque::with_capacity(addresses.len());
    while order.len() < addresses.len() {
        order.extend(sixes.next());
        order.extend(fours.next());
    }
    order
}

#[cfg(test)]
mod tests;
