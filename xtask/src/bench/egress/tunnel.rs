//! One connection to the origin, through a proxy or without one. Does network I/O, bounded in time.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, bail};
use memchr::memmem;

/// Names of the origin. Each has an address of its own, so that ports do not run out.
pub const HOSTS: u8 = 16;

/// The only port that all let through.
pub const PORT: u16 = 443;

/// How long anything may take that comes through a tunnel.
const PATIENCE: Duration = Duration::from_secs(10);

/// No proxy's answer to a CONNECT comes near it.
const LONGEST_HEAD: usize = 8192;

/// How the origin is reached.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    /// Without a proxy.
    Direct,
    /// By a CONNECT to the proxy that listens here.
    Through(SocketAddr),
}

/// The name that is asked for at this turn.
pub fn host(turn: u8) -> String {
    format!("origin-{}.example", turn % HOSTS)
}

/// Where it is.
pub fn address(turn: u8) -> Ipv4Addr {
    Ipv4Addr::new(1, 2, 3, 1 + turn % HOSTS)
}

/// An open tunnel. What came in one packet with the proxy's answer is read first.
#[derive(Debug)]
pub struct Tunnel {
    stream: TcpStream,
    rest: Vec<u8>,
}

impl Tunnel {
    /// Opens one. What is `early` leaves in the same packet as the CONNECT.
    pub fn open(way: Way, turn: u8, early: &[u8]) -> anyhow::Result<Self> {
        let (to, head) = match way {
            Way::Direct => (SocketAddr::from((address(turn), PORT)), String::new()),
            Way::Through(proxy) => (proxy, request(&host(turn))),
        };
        let mut stream = TcpStream::connect_timeout(&to, PATIENCE)
            .with_context(|| format!("failed to connect to {to}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let first = [head.as_bytes(), early].concat();
        stream.write_all(&first).context("failed to send")?;
        let rest = match way {
            Way::Direct => Vec::new(),
            Way::Through(_) => established(&mut stream)?,
        };
        Ok(Self { stream, rest })
    }

    /// Sends these.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Says that nothing more will be sent.
    pub fn end(&self) -> io::Result<()> {
        self.stream.shutdown(std::net::Shutdown::Write)
    }
}

impl Read for Tunnel {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            return self.stream.read(buffer);
        }
        let count = self.rest.as_slice().read(buffer)?;
        self.rest.drain(..count);
        Ok(count)
    }
}

fn request(host: &str) -> String {
    format!("CONNECT {host}:{PORT} HTTP/1.1\r\nHost: {host}:{PORT}\r\n\r\n")
}

/// Reads the proxy's answer, which must be that the tunnel stands; what came after it.
fn established(stream: &mut impl Read) -> anyhow::Result<Vec<u8>> {
    let mut seen = Vec::new();
    let mut chunk = [0; 1024];
    loop {
        let count = stream.read(&mut chunk).context("no answer to a CONNECT")?;
        seen.extend_from_slice(chunk.get(..count).unwrap_or_default());
        if let Some(end) = memmem::find(&seen, b"\r\n\r\n") {
            let rest = seen.split_off(end + 4);
            let head = String::from_utf8_lossy(&seen);
            let line = head.lines().next().unwrap_or_default();
            if line.split(' ').nth(1) != Some("200") {
                bail!("a CONNECT was refused: {line}");
            }
            return Ok(rest);
        }
        if count == 0 || seen.len() > LONGEST_HEAD {
            bail!("the answer to a CONNECT does not end as it should");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_the_answer_is_kept() {
        let mut answer: &[u8] = b"HTTP/1.0 200 Connection established\r\nVia: x\r\n\r\nearly";
        assert_eq!(established(&mut answer).unwrap(), b"early");
        let mut bare: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";
        assert_eq!(established(&mut bare).unwrap(), b"");
    }

    #[test]
    fn a_refusal_is_an_error_that_shows_it() {
        let mut answer: &[u8] = b"HTTP/1.1 403 Egress refused: host-not-allowed\r\n\r\n200";
        let error = established(&mut answer).unwrap_err().to_string();
        assert!(error.contains("host-not-allowed"), "{error}");
        let mut half: &[u8] = b"HTTP/1.1 200 OK\r\n";
        established(&mut half).unwrap_err();
    }

    #[test]
    fn each_name_has_an_address_of_its_own_and_turns_begin_anew() {
        let mut addresses: Vec<Ipv4Addr> = (0..HOSTS).map(address).collect();
        addresses.dedup();
        assert_eq!(addresses.len(), usize::from(HOSTS));
        assert_eq!(
            (host(HOSTS), address(HOSTS)),
            (host(0), Ipv4Addr::new(1, 2, 3, 1))
        );
    }
}
